/** Percentiles of the metrics and the targets that apply to each. */
import type { Quantiles, Summary, Targets } from "./api/api-types";
import { METRIC_LABELS, METRICS, WAIT_METRICS, type Metric, type WaitMetric } from "./api/metrics";
import { isKnown } from "./format";

/** Metrics that the charts can show. */
export const DURATION_METRICS = METRICS.filter((metric) => METRIC_LABELS[metric].unit === "ms");

/** The title of a metric inside a sentence. */
export function metricPhrase(metric: Metric): string {
  const { title } = METRIC_LABELS[metric];
  return title.charAt(0).toLowerCase() + title.slice(1);
}

export const QUANTILES = [
  { name: "p50", key: "p50_ms", colour: "p50" },
  { name: "p95", key: "p95_ms", colour: "p95" },
  { name: "p99", key: "p99_ms", colour: "p99" },
] as const satisfies readonly { name: string; key: keyof Quantiles; colour: string }[];

export interface Target {
  /** The percentile of the target; `null` if it applies to every stream. */
  quantile: "p50" | "p95" | "p99" | null;
  value: number;
}

/** Metric of each target. Targets for the first token apply to the first visible token. */
const TARGETS = [
  { metric: "ttfv", quantile: "p50", key: "ttft_p50_ms" },
  { metric: "ttfv", quantile: "p95", key: "ttft_p95_ms" },
  { metric: "ttfv", quantile: "p99", key: "ttft_p99_ms" },
  { metric: "e2e", quantile: "p50", key: "e2e_p50_ms" },
  { metric: "e2e", quantile: "p95", key: "e2e_p95_ms" },
  { metric: "e2e", quantile: "p99", key: "e2e_p99_ms" },
  { metric: "inter_chunk_latency", quantile: null, key: "longest_gap_ms" },
  { metric: "tpot", quantile: null, key: "tpot_ms" },
] as const satisfies readonly { metric: Metric; quantile: Target["quantile"]; key: keyof Targets }[];

/** Targets of one metric. */
export function targetsOf(metric: Metric, targets: Targets): Target[] {
  return TARGETS.flatMap(({ metric: targetMetric, quantile, key }) => {
    const value = targets[key];
    return targetMetric === metric && isKnown(value) ? [{ quantile, value }] : [];
  });
}

/** Whether a use case can have a target for the metric. */
export function hasTargets(metric: Metric): boolean {
  return TARGETS.some(({ metric: targetMetric }) => targetMetric === metric);
}

/** Targets of the streams in view. Empty if several use cases with different targets are in view. */
export function targetsInView({ targets, use_cases }: Pick<Summary, "targets" | "use_cases">): Targets {
  return use_cases > 1 ? {} : targets;
}

/** The wait that the first screen leads with: end to end where every use case in view has targets for the end alone. */
export function leadMetric({ by_use_case: rows }: Pick<Summary, "by_use_case">): LeadMetric {
  return rows.length > 0 && rows.every(({ metric }) => metric === "e2e") ? "e2e" : "ttfv";
}

export type LeadMetric = "ttfv" | "e2e";

/** Whether the metric has censored waits. */
export function isWaitMetric(metric: Metric): metric is WaitMetric {
  return WAIT_METRICS.some((known) => known === metric);
}

/** A percentile of fewer samples is marked as uncertain. */
export const MIN_SAMPLES = 30;

/** Whether a step has samples, but too few. A step whose streams are not all kept has no number of samples. */
export const hasFewSamples = (n = 0): boolean => n > 0 && n < MIN_SAMPLES;
