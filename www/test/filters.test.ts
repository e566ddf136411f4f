import { expect, it } from "vitest";

import { filteredDimensions, filterText, filterValues, namedValues, relationOf, toggled } from "../src/filters";

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
  expect(filterText("attribute.tenant_size", ["!xl"])).toEqual({ subject: "tenant size", text: "not xl" });
  expect(filterText("attribute.plan", ["pro", "FR"])).toEqual({ subject: "plan", text: "pro or FR" });
});

it("outcomes and defects are told in words", () => {
  expect(filterText("outcome", ["http_error", "timeout"])).toEqual({ subject: "outcome", text: "http error or timeout" });
  expect(filterText("defect", ["!html_in_stream"]).text).toBe("not html in stream");
});

it("an attribute named like a dimension says what it is", () => {
  expect(filterText("attribute.release", ["v42"]).subject).toBe("release (attribute)");
});

it("chips are in the order of the menu", () => {
  const filters = { "attribute.tier": ["a"], route: ["/"], "attribute.plan": ["pro"], site: ["demo"] };
  expect(filteredDimensions(filters)).toEqual(["site", "route", "attribute.plan", "attribute.tier"]);
});
