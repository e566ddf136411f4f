import { expect, it } from "vitest";

import type { StreamPage } from "../src/api/api-types";
import {
  appendOlder,
  mergeLatest,
  mergeSamples,
  nextCursorOf,
  rowsOf,
  type StreamList,
} from "../src/api/stream-list";

/** The id of a stream is a letter; its time is the position in the alphabet. */
const page = (ids: string, next: string | null = ids.at(-1) ?? null): StreamPage => ({
  streams: [...ids].map((id) => ({ id, received_ms: id.charCodeAt(0) - 96 }) as StreamPage["streams"][number]),
  next,
});
const list = (first: StreamPage, ...older: StreamPage[]): StreamList =>
  older.reduce(appendOlder, mergeLatest(null, first, 0));
const idsAndCursor = (shown: StreamList) => [rowsOf(shown).map(({ id }) => id).join(""), nextCursorOf(shown)];

it("the first page is the whole list", () => {
  expect(idsAndCursor(list(page("cb")))).toEqual(["cb", "b"]);
  expect(idsAndCursor(mergeLatest(list(page("cb")), page("dc"), 0))).toEqual(["dc", "c"]);
});

it("older pages go below without duplicates", () => {
  expect(idsAndCursor(list(page("dc"), page("ba", null)))).toEqual(["dcba", null]);
  expect(idsAndCursor(list(page("dc"), page("cb")))).toEqual(["dcb", "b"]);
});

it("new streams go on top and the cursor stays", () => {
  expect(idsAndCursor(mergeLatest(list(page("dc"), page("ba")), page("ed"), 0))).toEqual(["edcba", "a"]);
});

it("a full list drops its oldest pages and moves its cursor", () => {
  const shown = list(page("dc"), page("ba"));
  const grown = mergeLatest(shown, page("fe"), 0);
  expect(idsAndCursor(grown), "no gap").toEqual(["fe", "e"]);
  const one = mergeLatest(shown, page("ed"), 0);
  const two = mergeLatest(one, page("fe"), 0);
  expect(idsAndCursor(two)).toEqual(["fedc", "c"]);
  let long = list(page("dc"), page("ba"));
  for (const ids of ["ed", "fe", "gf", "hg", "ih", "ji"]) long = mergeLatest(long, page(ids), 0);
  expect(idsAndCursor(long)).toEqual(["jihg", "g"]);
});

it("rows outside the range end the list", () => {
  const shown = list(page("dc"), page("ba"));
  expect(idsAndCursor(mergeLatest(shown, page("ed"), 3))).toEqual(["edc", null]);
  expect(idsAndCursor(mergeLatest(shown, page("ed"), 2))).toEqual(["edcb", null]);
  const ended = mergeLatest(list(page("dcb"), page("a")), page("ed"), 2);
  expect(idsAndCursor(mergeLatest(ended, page("fe"), 2))).toEqual(["fedcb", null]);
});

it("older pages are dropped if there would be a gap", () => {
  expect(idsAndCursor(mergeLatest(list(page("dc"), page("ba")), page("zy"), 0))).toEqual(["zy", "y"]);
});

it("a page with everything replaces the list", () => {
  expect(idsAndCursor(mergeLatest(list(page("c"), page("ba")), page("cb", null), 0))).toEqual(["cb", null]);
});

it("samples keep their loaded pages", () => {
  expect(idsAndCursor(mergeSamples(list(page("dc"), page("ba")), page("ed")))[0]).toBe("dcba");
  expect(idsAndCursor(mergeSamples(list(page("dc")), page("ed")))[0]).toBe("ed");
  expect(idsAndCursor(mergeSamples(null, page("e", null)))).toEqual(["e", null]);
});
