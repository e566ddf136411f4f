/**
 * Types of the responses of the `/v1` routes, as `docs/query-api.md` describes them. Times are Unix milliseconds; an
 * absent value is not known.
 */

import type { Dimension } from "./dimensions";
import type { Metric, WaitMetric } from "./metrics";
import type { Histogram as WireHistogram, StreamReport as Report } from "./report";

export type { Dimension, WireHistogram };

export type Range = "15m" | "1h" | "6h" | "24h" | "7d" | "30d";
export type VerdictLevel = "good" | "warn" | "bad" | "none";
export type Outcome = Report["outcome"];

export type Filters = Partial<Record<Dimension, string>>;

/** 95 % confidence interval of a percentile. A bound is absent where the samples are too few for it. */
export interface Interval {
  lower_ms?: number | null;
  upper_ms?: number | null;
}

/** `p*_ms` are absent when `n` is 0. `intervals` are absent from 500 samples on and for `inter_chunk_latency`. */
export interface Percentiles {
  n: number;
  p50_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
  intervals?: Record<"p50" | "p95" | "p99", Interval> | null;
  /** Only for `ttfv` and `ttft`. */
  km_adjusted?: KmAdjusted | null;
}

/** Kaplan–Meier-adjusted percentiles. A percentile is absent where too few waits lasted that long. */
export interface KmAdjusted {
  /** Streams that were abandoned before the token. */
  abandoned: number;
  /** Streams that failed before the token. */
  failed_before: number;
  p50_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
}

/** `relative_error` bounds the error of each percentile. */
export interface Quantiles extends Percentiles {
  relative_error?: number;
}

/** `ratio` is absent when `total` is 0. */
export interface Ratio {
  good: number;
  total: number;
  ratio?: number | null;
}

export interface ErrorShare {
  count: number;
  total: number;
  ratio?: number | null;
  /** Lower bound of the 95 % confidence interval of `ratio`. */
  ratio_ci_lower?: number | null;
}

/** A target is absent where the use case has none. */
export interface Targets {
  use_case?: string;
  ttft_p50_ms?: number | null;
  ttft_p95_ms?: number | null;
  ttft_p99_ms?: number | null;
  e2e_p50_ms?: number | null;
  e2e_p95_ms?: number | null;
  e2e_p99_ms?: number | null;
  longest_gap_ms?: number | null;
  tpot_ms?: number | null;
  availability?: number | null;
}

export interface Summary {
  from: number;
  to: number;
  streams: number;
  open: number;
  outcomes: Partial<Record<Outcome, number>>;
  defects: Record<string, number>;
  ttfv: Quantiles;
  ttft: Quantiles;
  e2e: Quantiles;
  tpot: Quantiles;
  inter_chunk_latency: Quantiles;
  integrity: Ratio;
  availability: Ratio;
  goodput: Ratio & { per_second?: number | null };
  errors: ErrorShare;
  input_tokens?: number | null;
  output_tokens?: number | null;
  targets: Targets;
  /** Above 1, `targets` do not apply to all streams of the summary. */
  use_cases: number;
  previous: {
    ttfv: Quantiles;
    integrity: Ratio;
    goodput: Ratio;
    streams: number;
    errors: ErrorShare;
  };
  overflow?: Partial<Record<Dimension, number>>;
  verdict: { level: VerdictLevel; text: string };
}

export interface SeriesPoint extends Percentiles {
  timestamp_ms: number;
  streams: number;
  errors: number;
}

export interface Timeseries {
  from: number;
  to: number;
  step_ms: number;
  metric: Metric;
  targets: Targets;
  points: SeriesPoint[];
}

/** Values above `lower_ms` and up to `upper_ms`. The bucket from 0 to 0 holds values below the clock's resolution. */
export interface Bucket {
  lower_ms: number;
  upper_ms: number;
  count: number;
}

export interface HistogramAnswer extends Quantiles {
  metric: Metric;
  targets: Targets;
  buckets: Bucket[];
}

/** `counts` has one value per bucket, in the order of `buckets`. */
export interface Heatmap {
  from: number;
  to: number;
  step_ms: number;
  metric: Metric;
  targets: Targets;
  buckets: Bucket[];
  points: { timestamp_ms: number; n: number; counts: number[] }[];
}

/** Streams with one value of a dimension. */
export interface Group extends Percentiles {
  value: string;
  streams: number;
  share: number;
  integrity: Ratio;
  /** `total` counts the eligible streams. */
  goodput: Ratio;
  /** Eligible streams that failed. */
  errors: number;
  /** The group's share of the streams outside the SLO, minus its share of the eligible streams. */
  excess_share?: number | null;
  /** Targets of the group itself. Present only by use case. */
  targets?: Targets | null;
}

export interface Breakdown {
  by: Dimension;
  metric: Metric;
  targets: Targets;
  groups: Group[];
  /** Values that `groups` leaves out. */
  omitted: number;
}

/** Metrics that measure a wait which the user can abandon. */

export interface AbandonmentPoint {
  wait_ms: number;
  /** Streams whose wait was longer. */
  at_risk: number;
  /** Estimated share of users who abandon within this wait if no token arrives. */
  share: number;
  lower?: number | null;
  upper?: number | null;
}

export interface Abandonment {
  metric: WaitMetric;
  /** Sum of `reached`, `abandoned` and `failed_before`. */
  at_risk: number;
  reached: number;
  abandoned: number;
  failed_before: number;
  points: AbandonmentPoint[];
}

export interface ComparePoint {
  timestamp_ms: number;
  n: number;
  client_p50_ms?: number | null;
  server_p50_ms?: number | null;
  overhead_p50_ms?: number | null;
  client_p95_ms?: number | null;
  server_p95_ms?: number | null;
  overhead_p95_ms?: number | null;
}

export interface Compare {
  streams: number;
  matched: number;
  sources: Record<string, number>;
  client: Quantiles;
  server: Quantiles;
  overhead: Quantiles;
  step_ms: number;
  points: ComparePoint[];
}

export type ServerTiming = NonNullable<Report["server"]>;
export type PageLifecycle = NonNullable<Report["page_lifecycle"]>;
export type ProbeOverhead = NonNullable<Report["probe_overhead"]>;

/** One stream as the collector stores it. */
export interface StreamReport extends Report {
  received_ms: number;
  /** Country that the stream counts under; `unknown` without a source. */
  country: string;
}

export interface StreamPage {
  streams: StreamReport[];
  next: string | null;
}

/** Update of the live feed. */
export interface Live {
  timestamp_ms: number;
  /** `collector` for the streams of one collector, `cluster` for those of all collectors. */
  scope: "collector" | "cluster";
  open: number;
  /** `seconds` is below 60 when the collector's memory holds less than a minute. */
  ended: { seconds: number; streams: number; outcomes: Partial<Record<Outcome, number>> };
  /** Absent in a cluster. */
  reports_per_second?: number;
  from: number;
  to: number;
  ttfv: Quantiles;
  ttft: Quantiles;
  /** The newest streams that ended. */
  streams: StreamReport[];
}

/** Samples that the collector keeps longer than the newest streams. */
export type SampleKind = "slowest" | "failed" | "uniform";

export type ObjectiveName = "availability" | "integrity" | "speed";
export type AlertSeverity = "page" | "incident" | "ticket";

/** Error budget of one objective. `remaining` is below 0 when the budget is overspent. */
export interface Budget {
  objective: ObjectiveName;
  /** Share of streams that must meet the objective. */
  objective_ratio: number;
  good: number;
  total: number;
  ratio?: number | null;
  /** Number of `total` that may miss the objective. */
  allowed: number;
  remaining?: number | null;
  /** At a rate of 1 the budget is used up exactly at the end of the period. */
  burn_rates: { minutes: number; total: number; rate?: number | null }[];
  by_day: { timestamp_ms: number; good: number; total: number }[];
  alert?: AlertSeverity | null;
}

export interface Slo {
  from: number;
  to: number;
  days: number;
  targets: Targets;
  budgets: Budget[];
}

/** Who the browser's requests come from. */
export interface Session {
  signed_in_by: "nothing" | "token" | "session" | "proxy";
  /** Name of the token or of the proxy's user. */
  name?: string;
  /** The sites that the token is limited to; absent for all. */
  sites?: string[];
}

/** Ingest accounting since the collector's first start. */
export interface Accounting {
  beacons: {
    received: number;
    accepted: number;
    preflights: number;
    sampled_out: number;
    refused: Record<string, number>;
    in_flight: number;
  };
  reports: { received: number; by_result: Record<string, number>; unaccounted: number; sampled_out: number };
  streams: { new: number; counted: number; open: number };
  probe_dropped: Record<string, number>;
  /** Times are absent while the clocks are too coarse for the number of chunks. */
  probe_overhead: {
    timed_chunks: number;
    us_per_chunk?: number | null;
    error_us?: number | null;
    memory_bytes?: number | null;
  };
  ignored_fields: Record<string, number>;
  refused_connections: number;
}

/** Error budgets of the use cases with the most streams; `omitted` counts the other use cases. */
export interface Budgets {
  slos: Slo[];
  omitted: number;
}
