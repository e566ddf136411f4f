/** Names of the metrics and the targets that apply to each. */
import type { Metric, Quantiles, Summary, Targets, WaitMetric } from "./api/api-types";
import { isKnown } from "./format";

interface MetricLabels {
  /** Label on the switch. */
  short: string;
  /** Heading. */
  title: string;
  /** Inside a sentence. */
  phrase: string;
  /** Tooltip. */
  meaning: string;
  /** Requirement of a metric that pages do not measure by default. */
  requirement?: string;
}

export const METRIC_LABELS: Record<Metric, MetricLabels> = {
  ttfv: {
    short: "TTFT",
    title: "Time to first visible token",
    phrase: "time to first visible token",
    meaning: "From the request to the first visible text",
  },
  ttft: {
    short: "TTFT (any)",
    title: "Time to first token (any kind)",
    phrase: "time to first token (any kind)",
    meaning: "From the request to the first generated text, reasoning included",
  },
  ttfp: {
    short: "First paint",
    title: "Time to first painted token",
    phrase: "time to first painted token",
    meaning: "From the request to the first frame that shows text",
    requirement: "Needs the probe extension paint().",
  },
  e2e: {
    short: "End to end",
    title: "End-to-end time",
    phrase: "end-to-end time",
    meaning: "From the request to the last generated text",
  },
  server_ttft: {
    short: "Server TTFT",
    title: "Server TTFT",
    phrase: "server TTFT",
    meaning: "Server-reported TTFT (only streams that include it)",
    requirement: "Needs server timing: see “Time to first token: browser vs. server”.",
  },
  overhead: {
    short: "Overhead",
    title: "Network overhead",
    phrase: "network overhead",
    meaning: "Browser TTFT minus server TTFT, per stream",
    requirement: "Needs server timing: see “Time to first token: browser vs. server”.",
  },
  tpot: {
    short: "TPOT",
    title: "Time per output token",
    phrase: "time per output token",
    meaning: "After the first token, by the provider's token count",
  },
  gap: {
    short: "Inter-chunk",
    title: "Inter-chunk latency",
    phrase: "inter-chunk latency",
    meaning: "Time between two reads that carried generated text",
  },
};

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
  { metric: "gap", quantile: null, key: "longest_gap_ms" },
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

/** Whether the metric has censored waits. */
export function isWaitMetric(metric: Metric): metric is WaitMetric {
  return metric === "ttfv" || metric === "ttft";
}

/** A percentile of fewer samples is marked as uncertain. */
export const MIN_SAMPLES = 30;
