import { expect, it } from "vitest";

import type { Quantiles, Summary } from "../src/api/api-types";
import { periodFigures } from "../src/panels/period-figures";

const NONE: Quantiles = { n: 0, relative_error: 0.0109 };
const NO_STREAMS = { good: 0, total: 0 };

/** A summary as far as the table reads it. */
function summary(known: Partial<Summary>): Summary {
  const waits = { ttfv: NONE, e2e: NONE, tpot: NONE, inter_chunk_latency: NONE };
  const shares = { availability: NO_STREAMS, integrity: NO_STREAMS, goodput: { ...NO_STREAMS, per_second: 0 } };
  return { streams: 0, ...waits, ...shares, previous: { differences: {} }, ...known } as Summary;
}

function row(label: string, now: Partial<Summary>, earlier: Partial<Summary>, length = 1) {
  const figure = periodFigures(summary(now), summary(earlier), length).find((one) => one.label === label);
  const texts = [figure?.now.text, figure?.earlier.text, figure?.change];
  return texts.map((text) => text?.replaceAll("\u00a0", " "));
}

const wait = (n: number, p95_ms: number, more: Partial<Quantiles> = {}) => ({ ttfv: { ...NONE, n, p95_ms, ...more } });

it("a percentile has both values and its change", () => {
  expect(row("TTFT p95", wait(100, 3000), wait(100, 2000))).toEqual(["3.00 s", "2.00 s", "50 % slower"]);
  expect(row("TTFT p95", wait(29, 3000), wait(100, 2000))).toEqual(["3.00 s", "2.00 s", undefined]);
});

it("a share changes in percentage points", () => {
  const integrity = (good: number) => ({ integrity: { good, total: 100, ratio: good / 100 } });
  expect(row("Streaming integrity", integrity(97), integrity(99))).toEqual(["97.0 %", "99.0 %", "−2 pp"]);
});

it("a figure has the interval of its change", () => {
  const difference = { lower: 100, upper: 900 };
  const previous = { differences: { ttfv_p95_ms: difference, goodput: { lower: -0.1, upper: 0.02 } } };
  const figures = periodFigures(summary({ previous } as Partial<Summary>), summary({}), 1);
  const of = (label: string) => figures.find((one) => one.label === label)?.difference;
  expect(of("TTFT p95")?.difference).toEqual(difference);
  expect([of("TTFT p50"), of("Goodput")?.higherIsBetter]).toEqual([undefined, true]);
});

it("a count is compared per time", () => {
  expect(row("Streams", { streams: 100 }, { streams: 100 }, 0.5)).toEqual(["100", "100", "+100 %"]);
  const left = (abandoned: number) => ({ ttfv: { ...NONE, km_adjusted: { abandoned, failed_before: 0 } } });
  expect(row("Abandoned streams", left(60), left(40))).toEqual(["60", "40", "+50 %"]);
});

it("an absent figure is absent and has no change", () => {
  for (const label of ["TTFT p50", "TPOT p95", "Inter-chunk p99", "Availability", "Abandoned streams"])
    expect(row(label, wait(100, 3000), {})).toEqual(["–", "–", undefined]);
  expect(row("TTFT p95", wait(100, 3000), {})).toEqual(["3.00 s", "–", undefined]);
});

it("percentiles of few samples have their interval", () => {
  const interval = { lower_ms: 1000, upper_ms: 4000 };
  const few = wait(40, 3000, { intervals: { p50: interval, p95: interval } });
  const [, p95] = periodFigures(summary(few), summary(wait(600, 3000)), 1);
  expect([p95?.now.interval, p95?.earlier.interval]).toEqual(["1\u00a0s – 4\u00a0s", null]);
});
