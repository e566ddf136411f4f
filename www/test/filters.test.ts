import { expect, it } from "vitest";

import { filterText, filterValues, namedValues, relationOf, toggled } from "../src/filters";

it("a value is added and removed, and keeps the relation", () => {
  expect(toggled([], "is", "a")).toEqual(["a"]);
  expect(toggled(["a"], "is", "b")).toEqual(["a", "b"]);
  expect(toggled(["a", "b"], "is", "a")).toEqual(["b"]);
  expect(toggled(["!a"], "is not", "b")).toEqual(["!a", "!b"]);
  expect(toggled(["!a"], "is not", "a")).toEqual([]);
});

it("the relation changes for all values at once", () => {
  expect(relationOf(["!a", "!b"])).toBe("is not");
  expect(filterValues("is", namedValues(["!a", "!b"]))).toEqual(["a", "b"]);
  expect(filterValues("is not", ["a"])).toEqual(["!a"]);
});

it("a filter is told in words", () => {
  expect(filterText("country", ["FR", "DE"])).toEqual({ subject: "country", text: "France or Germany" });
  expect(filterText("response_model", ["!a", "!b"])).toEqual({ subject: "response model", text: "not a, not b" });
});
