import { expect, it } from "vitest";

import type { StreamReport } from "../src/answers";
import { mergeLatest, mergeSamples } from "../src/latest";

const rows = (...ids: string[]) => ids.map((id) => ({ id }) as StreamReport);
const ids = (list: StreamReport[]) => list.map(({ id }) => id).join("");

it("the first page stands alone", () => {
  const latest = mergeLatest(null, { streams: rows("c", "b"), next: "b" });
  expect([ids(latest.rows), latest.next]).toEqual(["cb", "b"]);
});

it("new streams go on top of the older pages, and the place to go on stays", () => {
  const shown = { rows: rows("d", "c", "b", "a"), next: "a" };
  const latest = mergeLatest(shown, { streams: rows("e", "d"), next: "d" });
  expect([ids(latest.rows), latest.next]).toEqual(["edcba", "a"]);
});

it("older pages are dropped when a hole would lie above them", () => {
  const shown = { rows: rows("d", "c", "b", "a"), next: "a" };
  const latest = mergeLatest(shown, { streams: rows("z", "y"), next: "y" });
  expect([ids(latest.rows), latest.next]).toEqual(["zy", "y"]);
});

it("a page that is everything replaces what has left the range", () => {
  const shown = { rows: rows("c", "b", "a"), next: null };
  const latest = mergeLatest(shown, { streams: rows("c", "b"), next: null });
  expect(ids(latest.rows)).toBe("cb");
});

it("samples are not in the order of their arrival: pages that were loaded stay as they are", () => {
  const shown = { rows: rows("d", "c", "b", "a"), next: "a" };
  expect(ids(mergeSamples(shown, { streams: rows("e", "d"), next: "d" }).rows)).toBe("dcba");
  expect(ids(mergeSamples({ rows: rows("d", "c"), next: "c" }, { streams: rows("e", "d"), next: "d" }).rows)).toBe("ed");
  expect(mergeSamples(null, { streams: rows("e"), next: null }).next).toBeNull();
});
