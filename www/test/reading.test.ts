import { describe, expect, it } from "vitest";

import type { Breakdown, Compare, Group, HistogramAnswer, SeriesPoint, Timeseries } from "../src/answers";
import {
  readBreakdown,
  readCompare,
  readHistogram,
  readSides,
  readThinSteps,
  readTimeseries,
  shareOver,
  stepWords,
} from "../src/reading";

const plain = (text: string) => text.replaceAll("\u00a0", " ");
const TARGETS = { use_case: "chat", ttft_p50_ms: 1000, ttft_p95_ms: 2000, ttft_p99_ms: 5000 };

function series(...points: Partial<SeriesPoint>[]): Timeseries {
  const filled = points.map((point, index) => ({
    t: index * 60_000,
    n: 100,
    streams: 100,
    errors: 0,
    ...point,
  }));
  return {
    from: 0,
    to: points.length * 60_000,
    step_ms: 60_000,
    metric: "ttfv",
    targets: TARGETS,
    points: filled,
  };
}

describe("the sentence under the time series", () => {
  it("gives the range of the p95 and how often it was over target", () => {
    const text = readTimeseries(series({ p95_ms: 900 }, { p95_ms: 3100 }, { n: 0 }), "1h");
    expect(plain(text)).toBe(
      "The p95 time to first visible token ran from 900 ms to 3.1 s in the last hour. It was over the 2 s target of chat in 1 of 2 steps of 1 minute.",
    );
  });

  it("says when it was always under it", () => {
    expect(plain(readTimeseries(series({ p95_ms: 900 }), "15m"))).toContain(
      "It stayed under the 2 s target of chat throughout.",
    );
  });

  it("does not let thin points set the range, and counts them", () => {
    const thin = series({ p95_ms: 900 }, { p95_ms: 9000, n: 3 });
    expect(plain(readTimeseries(thin, "1h"))).toContain("was 900 ms");
    expect(readThinSteps(thin)).toBe("1 step has fewer than 30 samples and is dashed.");
    expect(readThinSteps(series({ n: 100 }))).toBe("");
  });

  it("names no target where the metric has none", () => {
    const text = readTimeseries({ ...series({ p95_ms: 900 }), metric: "e2e" }, "1h");
    expect(text).not.toContain("target");
  });

  it("is honest about nothing", () => {
    expect(readTimeseries(series({ n: 0 }, { n: 0 }), "7d")).toBe("Nothing to show for the last 7 days.");
  });
});

describe("the sentence under the histogram", () => {
  const answer: HistogramAnswer = {
    metric: "ttfv",
    n: 100,
    targets: TARGETS,
    buckets: [
      { lower_ms: 500, upper_ms: 1000, count: 80 },
      { lower_ms: 1000, upper_ms: 4000, count: 20 },
    ],
  };

  it("gives the fullest bucket and the share over target", () => {
    expect(plain(readHistogram(answer))).toBe(
      "100 samples; the fullest bucket is 500 ms to 1 s. About 10.0 % took longer than the 2 s target of chat.",
    );
  });

  it("divides the bucket that the target cuts on the log scale", () => {
    expect(shareOver(answer, 2000)).toBeCloseTo(0.1);
    expect(shareOver(answer, 5000)).toBe(0);
    expect(shareOver(answer, 400)).toBe(1);
  });
});

it("the comparison says both figures and the way between", () => {
  const some = (p50_ms: number) => ({ n: 10, p50_ms, p95_ms: p50_ms * 2 });
  const answer: Compare = {
    streams: 12,
    joined: 10,
    sources: {},
    client: some(600),
    server: some(550),
    overhead: some(28),
    step_ms: 60_000,
    points: [],
  };
  expect(plain(readCompare(answer, "p50"))).toBe(
    "p50 to first token: 600 ms for the user, 550 ms by the server's own clock. For half of the streams the way between them took at most 28 ms.",
  );
  expect(plain(readSides(answer) ?? "")).toBe(
    "First token of any kind: 600 ms for the user, 550 ms by the server (p50 of 10 streams)",
  );
  expect(readSides({ ...answer, joined: 0, server: { ...answer.server, p50_ms: null } })).toBeNull();
});

it("steps are told in the largest unit that fits", () => {
  expect([60_000, 900_000, 7_200_000, 86_400_000].map((step) => stepWords(step))).toEqual([
    "1 minute",
    "15 minutes",
    "2 hours",
    "1 day",
  ]);
});

describe("the sentence under the breakdown", () => {
  const group = (value: string, p95_ms: number, more: Partial<Group> = {}): Group => ({
    value,
    streams: 100,
    share: 0.5,
    n: 100,
    p95_ms,
    integrity: { good: 100, total: 100 },
    goodput: { good: 90, total: 100 },
    errors: 0,
    ...more,
  });
  const answer = (...groups: Group[]): Breakdown => ({
    by: "model",
    metric: "ttfv",
    targets: TARGETS,
    groups,
    more: 0,
  });

  it("names the slowest, and whoever costs more than its part", () => {
    const text = readBreakdown(answer(group("fast", 800, { excess: -0.2 }), group("slow", 2400, { excess: 0.2 })));
    expect(plain(text)).toBe(
      "slow has the longest p95 time to first visible token, 2.4 s. slow costs the most beyond its part: 10 streams of its 100 missed a target or broke.",
    );
  });

  it("lets no handful of samples stand out", () => {
    const text = readBreakdown(answer(group("a", 800), group("b", 900), group("rare", 9000, { n: 4 })));
    expect(plain(text)).toBe("b has the longest p95 time to first visible token, 900 ms.");
  });

  it("says how countries become known, and names those that are", () => {
    const country = (...groups: Group[]) => plain(readBreakdown({ ...answer(...groups), by: "country" }));
    expect(country(group("unknown", 800))).toContain("Nothing says where streams come from");
    expect(country(group("unknown", 800), group("FR", 2400))).toBe(
      "France has the longest p95 time to first visible token, 2.4 s.",
    );
  });

  it("compares nothing with itself", () => {
    expect(readBreakdown(answer(group("only", 800)))).toBe("");
    expect(readBreakdown(answer())).toBe("No value has 30 samples: too few to compare.");
  });
});
