import { expect, it } from "vitest";

import type { StreamReport } from "../src/api/api-types";
import { fieldsOf } from "../src/stream/fields";
import { missingGapsReason, streamSummary } from "../src/stream/stream-summary";

const plain = (text: string) => text.replaceAll("\u00a0", " ");
const NOTHING = { chunks: 0, events: 0, deltas: 0, bytes: 0, received_ms: 0, country: "unknown" };
const EMPTY: StreamReport = { v: 1, id: "0", outcome: "empty", ...NOTHING };
const WHOLE: StreamReport = {
  ...EMPTY,
  outcome: "complete",
  ttft_ms: 400,
  ttfv_ms: 450,
  e2e_ms: 900,
  longest_gap_ms: 30,
  deltas: 20,
  server: { source: "comment", ttft_ms: 420 },
};

const field = (report: StreamReport, name: string) =>
  fieldsOf(report).flatMap(({ entries }) => entries).find((entry) => entry.name === name)?.text;

it("a summary has the wait, the server's part and the rate", () => {
  expect(plain(streamSummary(WHOLE))).toBe(
    "The user waited 450 ms for the first visible token. The server had its first token after 420 ms: 20 ms more. 20 deltas in 500 ms, the longest silence 30 ms.",
  );
});

it("a stream without a token says so", () => {
  expect(streamSummary(EMPTY)).toBe("No token arrived. Its end: a good status and not one event.");
  expect(streamSummary({ ...EMPTY, open: true })).toBe("No token has arrived yet.");
  expect([field(EMPTY, "events"), field(EMPTY, "stalls")]).toEqual(["0", "0"]);
});

it("hidden content is never reported as missing", () => {
  const opaque: StreamReport = { ...EMPTY, observed: "chunks", outcome: "unobserved", chunks: 41, bytes: 9000 };
  expect(streamSummary(opaque)).toBe(
    "Only chunks could be seen: tokens and gaps are not visible. Its end: read where the probe could not see it.",
  );
  expect(missingGapsReason(opaque)).toBe("Which chunks carried text could not be seen.");
  expect(["chunks", "events", "deltas", "stalls"].map((name) => field(opaque, name))).toEqual(["41", null, null, null]);
});
