/** Captions of the charts, from the same data. */
import type {
  Breakdown,
  Compare,
  HistogramAnswer,
  Percentiles,
  Targets,
  Timeseries,
} from "../api/api-types";
import type { Metric } from "../api/metrics";
import { isFixed, type Range, type RangePreset } from "../api/range";
import { filteredDimensions, filterText } from "../filters";
import {
  count,
  dateTime,
  duration,
  humanize,
  isKnown,
  percent,
  plural,
  timeRange,
  type MaybeNumber,
} from "../format";
import { hasTargets, hasFewSamples, metricPhrase, MIN_SAMPLES, QUANTILES, targetsOf } from "../metric";
import type { CompareTo, View } from "../url";
import { longest, stretchesAbove, type Stretch } from "./stretches";

const RANGE_LENGTHS: Record<RangePreset, string> = {
  "15m": "15 minutes",
  "1h": "hour",
  "6h": "6 hours",
  "24h": "24 hours",
  "7d": "7 days",
  "30d": "30 days",
};

export function rangeLabel(range: Range): string {
  return isFixed(range) ? `the range ${timeRange(range, Date.now())}` : `the last ${RANGE_LENGTHS[range]}`;
}

/** Describes a view in one line. */
export function describeView({ range, metric, filters }: Pick<View, "range" | "filters"> & { metric: Metric }): string {
  const only = filteredDimensions(filters).map((dimension) => {
    const { subject, text } = filterText(dimension, filters[dimension] ?? []);
    return `${subject} ${text}`;
  });
  const which = only.length > 0 ? `only ${only.join(", ")}` : "all streams";
  return `${rangeLabel(range)}: ${metricPhrase(metric)}, ${which}`;
}

export const COMPARISON_LABELS: Record<CompareTo, string> = {
  previous: "the period before",
  day: "a day earlier",
  week: "a week earlier",
};

/** Names the period that changes compare with, or says why there is none. `n` counts the samples of that period. */
export function comparisonCaption(n: number, range: Range, compareTo: CompareTo | null): string {
  const previous = isFixed(range) ? "the period before of the same length" : `the previous ${RANGE_LENGTHS[range]}`;
  const isPrevious = compareTo === null || compareTo === "previous";
  const before = isPrevious ? previous : `the same time ${COMPARISON_LABELS[compareTo]}`;
  if (n === 0) return `no data in ${before}`;
  return n < MIN_SAMPLES ? `too few samples in ${before} for a comparison` : `changes vs. ${before}`;
}

export function timeseriesCaption(series: Timeseries, range: Range): string {
  const steps = trustedSteps(series);
  const p95 = steps.p95_ms;
  if (p95.length === 0) return `No samples in ${rangeLabel(range)}.`;
  const low = duration(Math.min(...p95));
  const high = duration(Math.max(...p95));
  const was = low === high ? `was ${low}` : `ranged from ${low} to ${high}`;
  // The value of a single step is not the value of the range.
  const isOne = p95.length === 1 && series.points.length > 1;
  const only = `the only interval of ${stepLabel(series.step_ms)}${steps.qualifier || " with samples"}`;
  const limits = `p95 ${was} in ${isOne ? only : rangeLabel(range)}.`;
  return [limits, targetCaption(series, steps)].filter(Boolean).join(" ");
}

/** Steps that the caption is based on. */
interface TrustedSteps {
  p95_ms: number[];
  /** Names these steps where others are left out. */
  qualifier: string;
}

/** Steps with enough samples, or all steps with samples if none has enough. */
function trustedSteps({ points }: Timeseries): TrustedSteps {
  const seen = points.filter((point) => isKnown(point.p95_ms));
  const enough = seen.filter((point) => !hasFewSamples(point.n));
  const trusted = enough.length > 0 ? enough : seen;
  return {
    p95_ms: trusted.map((point) => point.p95_ms).filter(isKnown),
    qualifier: trusted.length < seen.length ? ` with at least ${MIN_SAMPLES} samples` : "",
  };
}

function targetCaption(series: Timeseries, { p95_ms: p95, qualifier }: TrustedSteps): string {
  const target = targetsOf(series.metric, series.targets).find(({ quantile }) => quantile === "p95");
  if (!target) return "";
  const over = p95.filter((value) => value > target.value).length;
  const label = targetLabel(target.value, series.targets);
  if (p95.length === 1 && series.points.length > 1) return `It was ${over === 0 ? "within" : "above"} ${label}.`;
  if (over === 0) return `It stayed within ${label}${qualifier && ` in every interval${qualifier}`}.`;
  const intervals = `${plural(p95.length, "interval")} of ${stepLabel(series.step_ms)}${qualifier}`;
  return `It was above ${label} in ${over} of ${intervals}.${longestCaption(series)}`;
}

/** The times at which the p95 was above its target. */
export function stretchesOf(series: Timeseries): Stretch[] {
  const target = targetsOf(series.metric, series.targets).find(({ quantile }) => quantile === "p95");
  return target ? stretchesAbove(series.points, series.step_ms, target.value) : [];
}

function longestCaption(series: Timeseries): string {
  const stretch = longest(stretchesOf(series));
  // One interval is told already.
  if (stretch === null || stretch.to - stretch.from <= series.step_ms) return "";
  return ` The longest time above it: ${stepLabel(stretch.to - stretch.from)} from ${dateTime(stretch.from, series.to)}.`;
}

/** Says why no target is drawn over several use cases. */
export function useCaseTargetsCaption(metric: Metric, useCases: number): string {
  if (useCases < 2 || !hasTargets(metric)) return "";
  return `${count(useCases)} use cases in view: select one to see its targets.`;
}

/** Says why a heatmap has no comparison period: its cells would cover each other. */
export function heatmapCaption(compareTo: CompareTo | null): string {
  return compareTo ? `The heatmap has this range alone: choose lines to see ${COMPARISON_LABELS[compareTo]}.` : "";
}

/** Explains the dashed parts of a line. */
export function lowSampleCaption(series: Timeseries): string {
  const lowSample = series.points.filter((point) => hasFewSamples(point.n)).length;
  return lowSample === 0 ? "" : `Dashed: fewer than ${MIN_SAMPLES} samples (${plural(lowSample, "interval")}).`;
}

/** `1 minute`, `2 hours`. */
export function stepLabel(stepMs: number): string {
  const minutes = Math.round(stepMs / 60_000);
  if (minutes % 1440 === 0) return plural(minutes / 1440, "day");
  if (minutes % 60 === 0) return plural(minutes / 60, "hour");
  return plural(minutes, "minute");
}

export function histogramCaption(answer: HistogramAnswer): string {
  if (answer.n === 0) return "No samples.";
  const peak = answer.buckets.reduce((best, bucket) => (bucket.count > best.count ? bucket : best));
  const common = `${duration(peak.lower_ms)} to ${duration(peak.upper_ms)}`;
  const samples = `${plural(answer.n, "sample")}, most common: ${common}.`;
  const target = slowTarget(answer);
  if (!target) return samples;
  const share = shareOver(answer, target);
  const slowSamples = plural(Math.round(Math.max(1, share * answer.n)), "sample");
  const part = answer.n < MIN_SAMPLES ? slowSamples : percent(share);
  return `${samples} ${share === 0 ? "None" : `About ${part}`} exceeded ${targetLabel(target, answer.targets)}.`;
}

/** Names the use case, because streams of other use cases can be in view. */
function targetLabel(value: number, { use_case: useCase }: Targets): string {
  return `the ${duration(value)} target${useCase ? ` of ${humanize(useCase)}` : ""}`;
}

/** The target above which a sample is slow: that of the p95, or that of every sample. */
export function slowTarget({
  metric,
  targets,
}: {
  metric: Metric;
  targets: HistogramAnswer["targets"];
}): number | null {
  const all = targetsOf(metric, targets);
  return (
    (all.find(({ quantile }) => quantile === "p95") ?? all.find(({ quantile }) => quantile === null))
      ?.value ?? null
  );
}

/** Share of samples above the target. The bucket that contains it is divided on the log scale. */
export function shareOver({ buckets, n: total }: HistogramAnswer, target: number): number {
  const over = buckets.reduce((sum, { lower_ms: low, upper_ms: high, count: n }) => {
    if (high <= target) return sum;
    if (low >= target) return sum + n;
    const above = low > 0 ? Math.log(high / target) / Math.log(high / low) : (high - target) / high;
    return sum + n * above;
  }, 0);
  return total > 0 ? over / total : 0;
}

/** Kaplan–Meier-adjusted percentiles in one line; `null` if none differs by more than the error bound. */
export function kmAdjustedCaption({ km_adjusted: adjusted, ...plain }: Percentiles): string | null {
  if (!adjusted) return null;
  const { abandoned, failed_before: failed } = adjusted;
  const moved = QUANTILES.filter(({ key }) => exceedsError(plain[key], adjusted[key]));
  if (abandoned + failed === 0 || moved.length === 0) return null;
  const ofUsers = abandoned > 0 && plural(abandoned, "abandoned stream");
  const censored = [ofUsers, failed > 0 && plural(failed, "failed stream")].filter(Boolean).join(" and ");
  const percentiles = moved.map(({ name, key }) => {
    const value = adjusted[key];
    return `${name} ${isKnown(value) ? duration(value) : "unknown (too few waited that long)"}`;
  });
  return `Including ${censored}: ${percentiles.join(", ")}`;
}

/** Whether the difference exceeds the error of both values. */
export function exceedsError(plain: MaybeNumber, adjusted: MaybeNumber): boolean {
  return isKnown(plain) && (!isKnown(adjusted) || adjusted > plain * 1.022);
}

/**
 * What the table lacks. It names no value, because among many values one is always the slowest. Those that differ beyond
 * chance are in the panel on what the slow streams have in common.
 */
export function breakdownCaption({ by, groups }: Breakdown): string {
  if (by === "country" && groups.every(({ value }) => value === "unknown"))
    return "No country data. Configure `[country]` in the collector to enable it.";
  const hasSamples = groups.some((group) => group.n >= MIN_SAMPLES && isKnown(group.p95_ms));
  return hasSamples ? "" : `Too few samples to compare (needs ${MIN_SAMPLES} per value).`;
}

export function compareCaption(answer: Compare, percentile: "p50" | "p95"): string {
  const client = answer.client[`${percentile}_ms`];
  const server = answer.server[`${percentile}_ms`];
  if (!isKnown(client) || !isKnown(server)) return "No stream has both values.";
  const sides = `First token ${percentile}: browser ${duration(client)}, server ${duration(server)}`;
  if (answer.matched < MIN_SAMPLES) return `${sides} (only ${plural(answer.matched, "stream")}).`;
  const overhead = answer.overhead[`${percentile}_ms`];
  return isKnown(overhead) ? `${sides}. Network overhead ${percentile}: ${duration(overhead)}.` : `${sides}.`;
}

/** Median TTFT of browser and server over the same streams; `null` if no stream has both. */
export function ttftComparison({ client, server, matched }: Compare): string | null {
  if (!isKnown(client.p50_ms) || !isKnown(server.p50_ms)) return null;
  const sides = `browser ${duration(client.p50_ms)}, server ${duration(server.p50_ms)}`;
  return `TTFT (any) p50: ${sides} (${plural(matched, "stream")})`;
}
