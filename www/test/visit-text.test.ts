import { expect, test } from "vitest";

import type { Visits } from "../src/api/schemas";
import { badVisitsText } from "../src/panels/overview/visit-text";

const VISITS: Visits = { from: 0, to: 1, streams: 3, visits: 1203, with_bad_stream: 49, share: 49 / 1203 };

test("the share of visits has its number beside it", () => {
  expect(badVisitsText(VISITS)).toBe("Visits with a bad stream: 4.1\u00a0% of 1,203");
});

test("without visits there is no text", () => {
  expect(badVisitsText({ from: 0, to: 1, streams: 0, visits: 0, with_bad_stream: 0 })).toBeNull();
});

test("a part of the range is named", () => {
  expect(badVisitsText({ ...VISITS, kept_since_ms: 0 })).toContain("of 1,203, since ");
});
