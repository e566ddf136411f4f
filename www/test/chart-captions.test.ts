import { describe, expect, it } from "vitest";

import type {
  Breakdown,
  Compare,
  Group,
  HistogramAnswer,
  SeriesPoint,
  Timeseries,
} from "../src/api/api-types";
import {
  breakdownCaption,
  compareCaption,
  comparisonCaption,
  describeView,
  heatmapCaption,
  histogramCaption,
  kmAdjustedCaption,
  lowSampleCaption,
  shareOver,
  stepLabel,
  timeseriesCaption,
  ttftComparison,
  useCaseTargetsCaption,
} from "../src/charts/chart-captions";

const plain = (text: string) => text.replaceAll("\u00a0", " ");
const ERROR = 0.0109;
const TARGETS = { use_case: "chat", ttft_p50_ms: 1000, ttft_p95_ms: 2000, ttft_p99_ms: 5000 };

function series(...points: Partial<SeriesPoint>[]): Timeseries {
  const filled = points.map((point, index) => ({
    timestamp_ms: index * 60_000,
    n: 100,
    streams: 100,
    errors: 0,
    requests_per_second: 100 / 60,
    with_usage: 0,
    in_flight: 0,
    ...point,
  }));
  return {
    from: 0,
    to: points.length * 60_000,
    step_ms: 60_000,
    relative_error: ERROR,
    metric: "ttfv",
    targets: TARGETS,
    points: filled,
  };
}

describe("the caption of the time series", () => {
  it("gives the limits of the p95 and the steps over target", () => {
    const text = timeseriesCaption(series({ p95_ms: 900 }, { p95_ms: 3100 }, { n: 0 }), "1h");
    expect(plain(text)).toBe(
      "p95 ranged from 900 ms to 3.1 s in the last hour. " +
        "It was above the 2 s target of chat in 1 of 2 intervals of 1 minute.",
    );
  });

  it("names the longest time above the target", () => {
    const text = timeseriesCaption(series({ p95_ms: 3100 }, { p95_ms: 900 }, { p95_ms: 3100 }, { p95_ms: 3200 }), "1h");
    expect(plain(text)).toMatch(/in 3 of 4 intervals of 1 minute\. The longest time above it: 2 minutes from \S+\.$/);
  });

  it("says when the p95 stayed under the target", () => {
    expect(plain(timeseriesCaption(series({ p95_ms: 900 }), "15m"))).toContain(
      "It stayed within the 2 s target of chat.",
    );
  });

  it("leaves low-sample steps out and counts them", () => {
    const known = series({ p95_ms: 900 }, { p95_ms: 9000, n: 3 });
    // The streams of its first step are not all kept.
    const thin = { ...known, points: [{ timestamp_ms: -60_000 }, ...known.points] };
    expect(plain(timeseriesCaption(thin, "1h"))).toContain("was 900 ms");
    expect(lowSampleCaption(thin)).toBe("Dashed: fewer than 30 samples (1 interval).");
    expect(lowSampleCaption(series({ n: 100 }))).toBe("");
  });

  it("says that a heatmap has no comparison period", () => {
    expect(heatmapCaption("week")).toBe("The heatmap has this range alone: choose lines to see a week earlier.");
    expect(heatmapCaption(null)).toBe("");
  });

  it("compares the same steps with the target", () => {
    const mixed = series({ p95_ms: 900 }, { p95_ms: 1100 }, { p95_ms: 9000, n: 3 });
    expect(plain(timeseriesCaption(mixed, "1h"))).toBe(
      "p95 ranged from 900 ms to 1.1 s in the last hour. " +
        "It stayed within the 2 s target of chat in every interval with at least 30 samples.",
    );
    const over = series({ p95_ms: 900 }, { p95_ms: 2100 }, { p95_ms: 9000, n: 3 });
    expect(plain(timeseriesCaption(over, "1h"))).toContain(
      "above the 2 s target of chat in 1 of 2 intervals of 1 minute with at least 30 samples.",
    );
  });

  it("names a single step", () => {
    expect(plain(timeseriesCaption(series({ p95_ms: 900 }, { p95_ms: 9000, n: 3 }), "1h"))).toBe(
      "p95 was 900 ms in the only interval of 1 minute with at least 30 samples. " +
        "It was within the 2 s target of chat.",
    );
    expect(plain(timeseriesCaption(series({ p95_ms: 9000, n: 3 }, { n: 0 }), "1h"))).toBe(
      "p95 was 9 s in the only interval of 1 minute with samples. It was above the 2 s target of chat.",
    );
  });

  it("names no target for a metric without one", () => {
    const text = timeseriesCaption({ ...series({ p95_ms: 900 }), metric: "e2e" }, "1h");
    expect(text).not.toContain("target");
  });

  it("uses the end-to-end target for end-to-end time", () => {
    const ends = { ...series({ p95_ms: 900 }, { p95_ms: 31_000 }), metric: "e2e" as const };
    const text = timeseriesCaption({ ...ends, targets: { use_case: "batch_rag", e2e_p95_ms: 30_000 } }, "1h");
    expect(plain(text)).toContain("It was above the 30 s target of batch rag in 1 of 2 intervals of 1 minute.");
  });

  it("explains missing targets over several use cases", () => {
    expect(useCaseTargetsCaption("ttfv", 3)).toBe("3 use cases in view: select one to see its targets.");
    expect([useCaseTargetsCaption("ttfv", 1), useCaseTargetsCaption("overhead", 3)]).toEqual(["", ""]);
  });

  it("says when there is no data", () => {
    expect(timeseriesCaption(series({ n: 0 }, { n: 0 }), "7d")).toBe("No samples in the last 7 days.");
  });
});

describe("the caption of the histogram", () => {
  const answer: HistogramAnswer = {
    metric: "ttfv",
    from: 0,
    to: 60_000,
    relative_error: ERROR,
    n: 100,
    targets: TARGETS,
    buckets: [
      { lower_ms: 500, upper_ms: 1000, count: 80 },
      { lower_ms: 1000, upper_ms: 4000, count: 20 },
    ],
  };

  it("gives the largest bucket and the share over target", () => {
    expect(plain(histogramCaption(answer))).toBe(
      "100 samples, most common: 500 ms to 1 s. About 10.0 % exceeded the 2 s target of chat.",
    );
  });

  it("gives a count instead of a share of few samples", () => {
    const few = { ...answer, n: 2, buckets: answer.buckets.map((bucket) => ({ ...bucket, count: 1 })) };
    expect(plain(histogramCaption(few))).toBe(
      "2 samples, most common: 500 ms to 1 s. About 1 sample exceeded the 2 s target of chat.",
    );
  });

  it("divides the bucket of the target on the log scale", () => {
    expect(shareOver(answer, 2000)).toBeCloseTo(0.1);
    expect(shareOver(answer, 5000)).toBe(0);
    expect(shareOver(answer, 400)).toBe(1);
  });
});

describe("the caption of censored waits", () => {
  const percentiles = { n: 200, p50_ms: 700, p95_ms: 2100, p99_ms: 4000 };
  const moved = { abandoned: 41, failed_before: 12, p50_ms: 702, p95_ms: 2600 };

  it("names the changed percentiles and the unknown ones", () => {
    expect(plain(kmAdjustedCaption({ ...percentiles, km_adjusted: moved }) ?? "")).toBe(
      "Including 41 abandoned streams and 12 failed streams: p95 2.6 s, p99 unknown (too few waited that long)",
    );
    const onlyFailed = { ...moved, p99_ms: 4000, abandoned: 0 };
    expect(plain(kmAdjustedCaption({ ...percentiles, km_adjusted: onlyFailed }) ?? "")).toBe(
      "Including 12 failed streams: p95 2.6 s",
    );
  });

  it("is absent without a visible difference", () => {
    expect(kmAdjustedCaption(percentiles)).toBeNull();
    const same = { ...percentiles, abandoned: 0, failed_before: 0 };
    expect(kmAdjustedCaption({ ...percentiles, km_adjusted: same })).toBeNull();
    const similar = { ...percentiles, p95_ms: 2140, abandoned: 3, failed_before: 0 };
    expect(kmAdjustedCaption({ ...percentiles, km_adjusted: similar })).toBeNull();
    const nothing = { n: 0, km_adjusted: { abandoned: 2, failed_before: 0 } };
    expect(kmAdjustedCaption(nothing)).toBeNull();
  });
});

it("the comparison gives both sides and the overhead", () => {
  const some = (p50_ms: number) => ({ n: 40, p50_ms, p95_ms: p50_ms * 2, relative_error: ERROR });
  const answer: Compare = {
    from: 0,
    to: 60_000,
    layer: "in_band",
    streams: 42,
    matched: 40,
    sources: {},
    client: some(600),
    server: some(550),
    overhead: some(28),
    step_ms: 60_000,
    points: [],
  };
  expect(plain(compareCaption(answer, "p50"))).toBe(
    "First token p50: browser 600 ms, server 550 ms. Network overhead p50: 28 ms.",
  );
  expect(plain(ttftComparison(answer) ?? "")).toBe(
    "TTFT (any) p50: browser 600 ms, server 550 ms (40 streams)",
  );
  expect(plain(compareCaption({ ...answer, matched: 2 }, "p95"))).toBe(
    "First token p95: browser 1.2 s, server 1.1 s (only 2 streams).",
  );
  expect(ttftComparison({ ...answer, matched: 0, server: { ...answer.server, p50_ms: null } })).toBeNull();
});

it("a view is described by range, metric and filters", () => {
  expect(describeView({ range: "1h", metric: "ttfv", filters: {} })).toBe(
    "the last hour: time to first visible token, all streams",
  );
  expect(describeView({ range: "7d", metric: "e2e", filters: { site: ["shop", "blog"], country: ["!FR"] } })).toBe(
    "the last 7 days: end-to-end time, only site shop or blog, country not France",
  );
});

it("changes need enough earlier samples", () => {
  expect([0, 1, 29, 30].map((n) => comparisonCaption(n, "1h", null))).toEqual([
    "no data in the previous hour",
    "too few samples in the previous hour for a comparison",
    "too few samples in the previous hour for a comparison",
    "changes vs. the previous hour",
  ]);
  expect([0, 30].map((n) => comparisonCaption(n, "1h", "week"))).toEqual([
    "no data in the same time a week earlier",
    "changes vs. the same time a week earlier",
  ]);
});

it("steps are named in the largest fitting unit", () => {
  expect([60_000, 900_000, 7_200_000, 86_400_000].map((step) => stepLabel(step))).toEqual([
    "1 minute",
    "15 minutes",
    "2 hours",
    "1 day",
  ]);
});

describe("the caption of the breakdown", () => {
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
    from: 0,
    to: 60_000,
    relative_error: ERROR,
    by: "model",
    metric: "ttfv",
    targets: TARGETS,
    groups,
    omitted: 0,
  });

  it("accuses no value", () => {
    const impact = { excess_share: 0.2, excess_share_ci_lower: 0.1 };
    expect(breakdownCaption(answer(group("fast", 800), group("slow", 2400, impact)))).toBe("");
  });

  it("explains missing countries", () => {
    const country = (...groups: Group[]) => breakdownCaption({ ...answer(...groups), by: "country" });
    expect(country(group("unknown", 800))).toContain("No country data.");
    expect(country(group("unknown", 800), group("FR", 2400))).toBe("");
  });

  it("says that all groups have few samples", () => {
    const few = "Too few samples to compare (needs 30 per value).";
    expect(breakdownCaption(answer())).toBe(few);
    expect(breakdownCaption(answer(group("rare", 9000, { n: 4 })))).toBe(few);
    expect(breakdownCaption(answer(group("only", 800), group("rare", 9000, { n: 4 })))).toBe("");
  });
});
