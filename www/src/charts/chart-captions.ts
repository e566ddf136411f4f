/** Captions of the charts, from the same data. */
import type {
  Breakdown,
  Compare,
  HistogramAnswer,
  Metric,
  Percentiles,
  Range,
  Targets,
  Timeseries,
} from "../api/api-types";
import {
  count,
  duration,
  humanize,
  isKnown,
  percent,
  plural,
  valueLabel,
  type MaybeNumber,
} from "../format";
import { hasTargets, METRIC_LABELS, MIN_SAMPLES, QUANTILES, targetsOf } from "../metric";
import { DIMENSIONS, type View } from "../url";

const RANGE_LABELS: Record<Range, { length: string; last: string; before: string }> = {
  "15m": { length: "15 minutes", last: "the last 15 minutes", before: "the 15 minutes before" },
  "1h": { length: "hour", last: "the last hour", before: "the hour before" },
  "6h": { length: "6 hours", last: "the last 6 hours", before: "the 6 hours before" },
  "24h": { length: "24 hours", last: "the last 24 hours", before: "the 24 hours before" },
  "7d": { length: "7 days", last: "the last 7 days", before: "the 7 days before" },
  "30d": { length: "30 days", last: "the last 30 days", before: "the 30 days before" },
};

export const rangeLabel = (range: Range) => RANGE_LABELS[range].last;

/** Describes a view in one line. */
export function describeView({ range, metric, filters }: Pick<View, "range" | "metric" | "filters">): string {
  const only = DIMENSIONS.flatMap((dimension) => {
    const value = filters[dimension];
    return value === undefined ? [] : `${humanize(dimension)} ${valueLabel(dimension, value)}`;
  });
  const which = only.length > 0 ? `only ${only.join(", ")}` : "all streams";
  return `${rangeLabel(range)}: ${METRIC_LABELS[metric].phrase}, ${which}`;
}

/** Names the period that changes compare with, or says why there is none. `n` counts the samples of that period. */
export function comparisonCaption(n: number, range: Range): string {
  const { before } = RANGE_LABELS[range];
  if (n === 0) return "no earlier data to compare with";
  return n < MIN_SAMPLES ? `${before} had too few to compare with` : `changes are against ${before}`;
}

export function timeseriesCaption(series: Timeseries, range: Range): string {
  const steps = trustedSteps(series);
  const p95 = steps.p95_ms;
  if (p95.length === 0) return `Nothing to show for ${rangeLabel(range)}.`;
  const low = duration(Math.min(...p95));
  const high = duration(Math.max(...p95));
  const was = low === high ? `was ${low}` : `ran from ${low} to ${high}`;
  // The value of a single step is not the value of the range.
  const isOne = p95.length === 1 && series.points.length > 1;
  const when = isOne ? `the only step of ${stepLabel(series.step_ms)}${steps.qualifier || " with samples"}` : rangeLabel(range);
  const moved = `The p95 ${METRIC_LABELS[series.metric].phrase} ${was} in ${when}.`;
  return [moved, targetCaption(series, steps)].filter(Boolean).join(" ");
}

/** Steps that the caption is based on. */
interface TrustedSteps {
  p95_ms: number[];
  /** Names these steps where others are left out. */
  qualifier: string;
}

/** Steps with enough samples, or all steps with samples if none has enough. */
function trustedSteps({ points }: Timeseries): TrustedSteps {
  const seen = points.filter((point) => point.n > 0 && isKnown(point.p95_ms));
  const enough = seen.filter((point) => point.n >= MIN_SAMPLES);
  const trusted = enough.length > 0 ? enough : seen;
  return {
    p95_ms: trusted.map((point) => point.p95_ms).filter(isKnown),
    qualifier: trusted.length < seen.length ? ` with ${MIN_SAMPLES} samples or more` : "",
  };
}

function targetCaption(series: Timeseries, { p95_ms: p95, qualifier }: TrustedSteps): string {
  const target = targetsOf(series.metric, series.targets).find(({ quantile }) => quantile === "p95");
  if (!target) return "";
  const over = p95.filter((value) => value > target.value).length;
  const named = targetLabel(target.value, series.targets);
  if (p95.length === 1 && series.points.length > 1) return `There it was ${over === 0 ? "within" : "over"} ${named}.`;
  if (over === 0) return `It stayed under ${named} ${qualifier ? `in every step${qualifier}` : "throughout"}.`;
  return `It was over ${named} in ${over} of ${plural(p95.length, "step")} of ${stepLabel(series.step_ms)}${qualifier}.`;
}

/** Says why no target is drawn over several use cases. */
export function useCaseTargetsCaption(metric: Metric, useCases: number): string {
  if (useCases < 2 || !hasTargets(metric)) return "";
  return `The streams are of ${count(useCases)} use cases, each with its own targets: choose one to see them.`;
}

/** Explains the dashed parts of a line. */
export function lowSampleCaption(series: Timeseries): string {
  const thin = series.points.filter((point) => point.n > 0 && point.n < MIN_SAMPLES).length;
  if (thin === 0) return "";
  const what = thin === 1 ? "1 step has" : `${count(thin)} steps have`;
  return `${what} fewer than ${MIN_SAMPLES} samples and ${thin === 1 ? "is" : "are"} dashed.`;
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
  const most = `${plural(answer.n, "sample")}; the fullest bucket is ${duration(peak.lower_ms)} to ${duration(peak.upper_ms)}.`;
  const target = slowTarget(answer);
  if (!target) return most;
  const share = shareOver(answer, target);
  const part = answer.n < MIN_SAMPLES ? `${count(Math.max(1, share * answer.n))} of them` : percent(share);
  return `${most} ${share === 0 ? "None" : `About ${part}`} took longer than ${targetLabel(target, answer.targets)}.`;
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
export function kmAdjustedCaption({ adjusted, ...plain }: Percentiles): string | null {
  if (!adjusted) return null;
  const { left, failed } = adjusted;
  const moved = QUANTILES.filter(({ key }) => exceedsError(plain[key], adjusted[key]));
  if (left + failed === 0 || moved.length === 0) return null;
  const who = [left > 0 && `the ${count(left)} who left`, failed > 0 && `the ${count(failed)} that failed`];
  const said = moved.map(({ name, key }) => {
    const value = adjusted[key];
    return `${name} ${isKnown(value) ? duration(value) : "unknown, too many are gone"}`;
  });
  return `With ${who.filter(Boolean).join(" and ")} before it: ${said.join(", ")}`;
}

/** Whether the difference exceeds the error of both values. */
export function exceedsError(plain: MaybeNumber, adjusted: MaybeNumber): boolean {
  return isKnown(plain) && (!isKnown(adjusted) || adjusted > plain * 1.022);
}

/** Names the slowest group with enough samples, and the group with the largest impact. */
export function breakdownCaption({ by, groups, metric }: Breakdown): string {
  if (by === "country" && groups.every(({ value }) => value === "unknown"))
    return "Nothing says where streams come from: the collector's configuration can, by `[country]`.";
  const trusted = groups.filter((group) => group.n >= MIN_SAMPLES && isKnown(group.p95_ms));
  if (trusted.length === 0) return `No value has ${MIN_SAMPLES} samples: too few to compare.`;
  if (trusted.length === 1) return "";
  const slowest = trusted.reduce((a, b) => ((b.p95_ms ?? 0) > (a.p95_ms ?? 0) ? b : a));
  const slow = `${valueLabel(by, slowest.value)} has the longest p95 ${METRIC_LABELS[metric].phrase}, ${duration(slowest.p95_ms)}.`;
  const worst = trusted.reduce((a, b) => ((b.excess ?? 0) > (a.excess ?? 0) ? b : a));
  if (!isKnown(worst.excess) || worst.excess < 0.02) return slow;
  const bad = worst.goodput.total - worst.goodput.good;
  return `${slow} ${valueLabel(by, worst.value)} costs the most beyond its part: ${plural(bad, "stream")} of its ${count(worst.goodput.total)} missed a target or broke.`;
}

export function compareCaption(answer: Compare, percentile: "p50" | "p95"): string {
  const client = answer.client[`${percentile}_ms`];
  const server = answer.server[`${percentile}_ms`];
  if (!isKnown(client) || !isKnown(server)) return "No stream carries both figures.";
  if (answer.joined < MIN_SAMPLES)
    return `${percentile} to first token: ${duration(client)} for the user, ${duration(server)} by the server's own clock, of only ${plural(answer.joined, "stream")}.`;
  const half = percentile === "p50" ? "Half of the streams" : "95 % of the streams";
  const overhead = answer.overhead[`${percentile}_ms`];
  const between = isKnown(overhead)
    ? ` For ${half.toLowerCase()} the way between them took at most ${duration(overhead)}.`
    : "";
  return `${percentile} to first token: ${duration(client)} for the user, ${duration(server)} by the server's own clock.${between}`;
}

/** Median TTFT of browser and server over the same streams; `null` if no stream has both. */
export function ttftComparison({ client, server, joined }: Compare): string | null {
  if (!isKnown(client.p50_ms) || !isKnown(server.p50_ms)) return null;
  const of = `p50 of ${plural(joined, "stream")}`;
  return `First token of any kind: ${duration(client.p50_ms)} for the user, ${duration(server.p50_ms)} by the server (${of})`;
}
