import { expect, it } from "vitest";

import type { StreamPage } from "../src/api/api-types";
import {
  appendOlder,
  mergeLatest,
  mergeSamples,
  nextCursorOf,
  rowsOf,
  type StreamList,
} from "../src/polling/stream-list";

/** A stream's id is its letter, and it arrived at the letter's place in the alphabet. */
const page = (ids: string, next: string | null = ids.at(-1) ?? null): StreamPage => ({
  streams: [...ids].map((id) => ({ id, received_ms: id.charCodeAt(0) - 96 }) as StreamPage["streams"][number]),
  next,
});
const list = (first: StreamPage, ...older: StreamPage[]): StreamList =>
  older.reduce(appendOlder, mergeLatest(null, first, 0));
const told = (shown: StreamList) => [rowsOf(shown).map(({ id }) => id).join(""), nextCursorOf(shown)];

it("the first page stands alone", () => {
  expect(told(list(page("cb")))).toEqual(["cb", "b"]);
  expect(told(mergeLatest(list(page("cb")), page("dc"), 0))).toEqual(["dc", "c"]);
});

it("older pages go below, and what has moved in between stands once", () => {
  expect(told(list(page("dc"), page("ba", null)))).toEqual(["dcba", null]);
  expect(told(list(page("dc"), page("cb")))).toEqual(["dcb", "b"]);
});

it("new streams go on top of the older pages, and the place to go on stays", () => {
  expect(told(mergeLatest(list(page("dc"), page("ba")), page("ed"), 0))).toEqual(["edcba", "a"]);
});

it("what newer ones have pushed out is dropped page by page, and the list goes on from the cut", () => {
  const shown = list(page("dc"), page("ba"));
  const grown = mergeLatest(shown, page("fe"), 0);
  expect(told(grown), "no hole").toEqual(["fe", "e"]);
  const one = mergeLatest(shown, page("ed"), 0);
  const two = mergeLatest(one, page("fe"), 0);
  expect(told(two)).toEqual(["fedc", "c"]);
  let long = list(page("dc"), page("ba"));
  for (const ids of ["ed", "fe", "gf", "hg", "ih", "ji"]) long = mergeLatest(long, page(ids), 0);
  expect(told(long)).toEqual(["jihg", "g"]);
});

it("what has left the range leaves the list, and nothing comes after it", () => {
  const shown = list(page("dc"), page("ba"));
  expect(told(mergeLatest(shown, page("ed"), 3))).toEqual(["edc", null]);
  expect(told(mergeLatest(shown, page("ed"), 2))).toEqual(["edcb", null]);
  const ended = mergeLatest(list(page("dcb"), page("a")), page("ed"), 2);
  expect(told(mergeLatest(ended, page("fe"), 2))).toEqual(["fedcb", null]);
});

it("older pages are dropped when a hole would lie above them", () => {
  expect(told(mergeLatest(list(page("dc"), page("ba")), page("zy"), 0))).toEqual(["zy", "y"]);
});

it("a page that is everything replaces what has left the range", () => {
  expect(told(mergeLatest(list(page("c"), page("ba")), page("cb", null), 0))).toEqual(["cb", null]);
});

it("samples are not in the order of their arrival: pages that were loaded stay as they are", () => {
  expect(told(mergeSamples(list(page("dc"), page("ba")), page("ed")))[0]).toBe("dcba");
  expect(told(mergeSamples(list(page("dc")), page("ed")))[0]).toBe("ed");
  expect(told(mergeSamples(null, page("e", null)))).toEqual(["e", null]);
});
