import { expect, it } from "vitest";

import type { StreamReport } from "../src/api/api-types";
import { fieldsOf } from "../src/stream/fields";
import { missingGapsReason, streamSummary } from "../src/stream/stream-summary";

const plain = (text: string) => text.replaceAll("\u00a0", " ");
const NOTHING = { site: "demo", chunks: 0, events: 0, deltas: 0, bytes: 0, received_ms: 0, country: "unknown" };
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
    "The user waited 450 ms for the first visible token. Server TTFT: 420 ms, network overhead: −20 ms. " +
      "20 deltas in 500 ms, longest inter-chunk latency 30 ms.",
  );
});

it("a stream without a token says so", () => {
  expect(streamSummary(EMPTY)).toBe("No token arrived. Outcome: empty (HTTP 200 but no data).");
  expect(streamSummary({ ...EMPTY, open: true })).toBe("No token has arrived yet.");
  expect([field(EMPTY, "events"), field(EMPTY, "stalls")]).toEqual(["0", "0"]);
});

it("missing gaps have the reason that the report allows", () => {
  expect(missingGapsReason(WHOLE)).toBe("This report has no histogram of the inter-chunk latency.");
  const inOneRead = { ...WHOLE, e2e_ms: 400, longest_gap_ms: undefined };
  expect(missingGapsReason(inOneRead)).toBe("Fewer than two chunks carried text.");
  expect(missingGapsReason({ ...inOneRead, e2e_ms: 401 })).toContain("no histogram");
  expect(missingGapsReason(EMPTY)).toBe("Fewer than two chunks carried text.");
  expect(missingGapsReason({ ...inOneRead, open: true })).toBe("Fewer than two chunks have carried text so far.");
});

it("hidden content is never reported as missing", () => {
  const opaque: StreamReport = { ...EMPTY, observed: "chunks", outcome: "unobserved", chunks: 41, bytes: 9000 };
  expect(streamSummary(opaque)).toBe(
    "The probe could read chunks only, no tokens. Outcome: unobserved (stream could not be inspected).",
  );
  expect(missingGapsReason(opaque)).toBe("The probe could not see which chunks carried text.");
  expect(["chunks", "events", "deltas", "stalls"].map((name) => field(opaque, name))).toEqual(["41", null, null, null]);
});
