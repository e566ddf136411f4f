// Generated from collector/src/aggregate/metric.rs by `cargo xtask generate`.

/** All metrics, in the order of the selector. */
export const METRICS = [
  "ttfv",
  "ttft",
  "ttfp",
  "server_ttft",
  "server_queue",
  "overhead",
  "e2e",
  "generation",
  "engine_generation",
  "tpot",
  "output_rate",
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
  /** End of the names of its fields, such as `p50_ms`. */
  unit: "ms" | "output_tokens_per_second";
  /** Label in the selector. */
  short: string;
  /** Heading. */
  title: string;
  /** Tooltip. */
  meaning: string;
  /** Where it is measured. */
  source: string;
  /** Requirement of a metric that pages do not measure by default. */
  requirement?: string;
}

export const METRIC_LABELS: Record<Metric, MetricLabels> = {
  ttfv: {
    unit: "ms",
    short: "TTFT",
    title: "Time to first visible token",
    meaning: "From the request to the first visible text",
    source: "browser",
  },
  ttft: {
    unit: "ms",
    short: "TTFT (any)",
    title: "Time to first token (any kind)",
    meaning: "From the request to the first generated text, reasoning included",
    source: "browser",
  },
  ttfp: {
    unit: "ms",
    short: "First paint",
    title: "Time to first painted token",
    meaning: "From the request to the first frame that shows text",
    source: "browser",
    requirement: "Needs the probe extension paint().",
  },
  server_ttft: {
    unit: "ms",
    short: "Server TTFT",
    title: "Server TTFT",
    meaning: "Server-reported TTFT (only streams that include it)",
    source: "server",
    requirement: "Needs server timing: see “Time to first token: browser vs. server”.",
  },
  server_queue: {
    unit: "ms",
    short: "Server queue",
    title: "Server queue time",
    meaning: "Wait in the server's queue (only streams that include it)",
    source: "server",
    requirement: "Needs server timing: see “Time to first token: browser vs. server”.",
  },
  overhead: {
    unit: "ms",
    short: "Overhead",
    title: "Network overhead",
    meaning: "Browser TTFT minus server TTFT, per stream",
    source: "browser and server",
    requirement: "Needs server timing: see “Time to first token: browser vs. server”.",
  },
  e2e: {
    unit: "ms",
    short: "End to end",
    title: "End-to-end time",
    meaning: "From the request to the last generated text",
    source: "browser",
  },
  generation: {
    unit: "ms",
    short: "Generation",
    title: "Token generation time",
    meaning: "From the first to the last generated text",
    source: "browser",
  },
  engine_generation: {
    unit: "ms",
    short: "Engine",
    title: "Generation duration on the server",
    meaning: "From the start of prefill to the last token, without the queue",
    source: "server",
    requirement: "Needs server timing: see “Time to first token: browser vs. server”.",
  },
  tpot: {
    unit: "ms",
    short: "TPOT",
    title: "Time per output token",
    meaning: "After the first token, by the provider's token count",
    source: "browser, with the provider's token count",
  },
  output_rate: {
    unit: "output_tokens_per_second",
    short: "Output rate",
    title: "Output tokens per second",
    meaning: "Output tokens of a stream per second after the first, by the provider's token count",
    source: "browser, with the provider's token count",
  },
  inter_chunk_latency: {
    unit: "ms",
    short: "Inter-chunk",
    title: "Inter-chunk latency",
    meaning: "Time between two reads that carried generated text",
    source: "browser",
  },
};
