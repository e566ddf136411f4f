// Generated from collector/src/aggregate/metric.rs by `cargo xtask generate`.

/** All metrics, in the order of the selector. */
export const METRICS = [
  "ttfv",
  "ttft",
  "ttfp",
  "server_ttft",
  "overhead",
  "e2e",
  "generation",
  "tpot",
  "inter_chunk_latency",
] as const;

export type Metric = (typeof METRICS)[number];

/** Metrics with censored waits. */
export const WAIT_METRICS = [
  "ttfv",
  "ttft",
] as const;

export type WaitMetric = (typeof WAIT_METRICS)[number];

export interface MetricLabels {
  /** Label in the selector. */
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
  e2e: {
    short: "End to end",
    title: "End-to-end time",
    phrase: "end-to-end time",
    meaning: "From the request to the last generated text",
  },
  generation: {
    short: "Generation",
    title: "Token generation time",
    phrase: "token generation time",
    meaning: "From the first to the last generated text",
  },
  tpot: {
    short: "TPOT",
    title: "Time per output token",
    phrase: "time per output token",
    meaning: "After the first token, by the provider's token count",
  },
  inter_chunk_latency: {
    short: "Inter-chunk",
    title: "Inter-chunk latency",
    phrase: "inter-chunk latency",
    meaning: "Time between two reads that carried generated text",
  },
};
