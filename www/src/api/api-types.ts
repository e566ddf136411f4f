/** What the collector's `/v1` routes answer, as `docs/api.md` says. Times are milliseconds since 1970; what is absent is not known. */

export type Range = "15m" | "1h" | "6h" | "24h" | "7d" | "30d";
export type Metric = "ttfv" | "ttft" | "ttfp" | "server_ttft" | "overhead" | "e2e" | "tpot" | "gap";
export type VerdictLevel = "good" | "warn" | "bad" | "none";
export type Outcome =
  | "complete"
  | "truncated"
  | "provider_error"
  | "http_error"
  | "network_error"
  | "timeout"
  | "empty"
  | "aborted"
  | "abandoned"
  | "unobserved";

/** The dimensions that every question can be narrowed by. */
export type Dimension = "site" | "use_case" | "provider" | "model" | "country";
export type Filters = Partial<Record<Dimension, string>>;

/** Where a percentile lies with 95 % confidence; an end is absent where the values are too few to bound it. */
export interface Interval {
  lower_ms?: number | null;
  upper_ms?: number | null;
}

/** `p*_ms` are absent when `n` is 0; `intervals` where the values are many, as they say little then, and of gaps. */
export interface Percentiles {
  n: number;
  p50_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
  intervals?: Record<"p50" | "p95" | "p99", Interval> | null;
  /** Of the waits for a first token alone. */
  adjusted?: KmAdjusted | null;
}

/** Percentiles over all who waited; one is absent where too few of them had waited for so long. */
export interface KmAdjusted {
  /** Streams that their users ended before. */
  left: number;
  /** Streams that failed before. */
  failed: number;
  p50_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
}

/** `relative_error` is the bound of each percentile's. */
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
  /** What so many streams prove of the ratio. */
  at_least?: number | null;
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
  gap: Quantiles;
  integrity: Ratio;
  availability: Ratio;
  goodput: Ratio & { per_second?: number | null };
  errors: ErrorShare;
  input_tokens?: number | null;
  output_tokens?: number | null;
  targets: Targets;
  /** Over 1 the targets are not those of all streams. */
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
  t: number;
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

/** Values above `lower_ms`, at most `upper_ms`; 0 to 0 holds what was shorter than a step of the clock. */
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

/** How many values of each step lie in each bucket: `counts` in the order of `buckets`. */
export interface Heatmap {
  from: number;
  to: number;
  step_ms: number;
  metric: Metric;
  targets: Targets;
  buckets: Bucket[];
  points: { t: number; n: number; counts: number[] }[];
}

/** The streams of one value of a dimension. */
export interface Group extends Percentiles {
  value: string;
  streams: number;
  share: number;
  integrity: Ratio;
  /** Its total is the judged streams. */
  goodput: Ratio;
  /** Judged streams that failed. */
  errors: number;
  /** The share of all streams that were not good, minus the share of all that were judged. */
  excess?: number | null;
  /** By use case alone: its own. */
  targets?: Targets | null;
}

export interface Breakdown {
  by: Dimension;
  metric: Metric;
  targets: Targets;
  groups: Group[];
  /** Values that are not among `groups`. */
  more: number;
}

/** The waits that users leave in. */
export type WaitMetric = "ttfv" | "ttft";

export interface AbandonmentPoint {
  wait_ms: number;
  /** Streams that went on for longer. */
  waiting: number;
  /** Share that leaves by then where nothing comes before. */
  share: number;
  lower?: number | null;
  upper?: number | null;
}

export interface Abandonment {
  metric: WaitMetric;
  /** `shown`, `left` and `failed` together. */
  waited: number;
  shown: number;
  left: number;
  failed: number;
  points: AbandonmentPoint[];
}

export interface ComparePoint {
  t: number;
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
  joined: number;
  sources: Record<string, number>;
  client: Quantiles;
  server: Quantiles;
  overhead: Quantiles;
  step_ms: number;
  points: ComparePoint[];
}

/** A base-2 exponential histogram as reports carry it. */
export interface WireHistogram {
  scale: number;
  offset: number;
  counts: number[];
  zero?: number;
  sum?: number;
}

export interface ServerTiming {
  source: string;
  starts_from?: "arrival" | "scheduled" | "prefill" | null;
  queue_ms?: number | null;
  ttft_ms?: number | null;
  generation_ms?: number | null;
  output_tokens?: number | null;
}

/** What happened around a stream while it ran, as far as the browser tells. */
export interface PageLifecycle {
  protocol?: string | null;
  /** From the end of the body in the browser to the app's learning of it. */
  end_delay_ms?: number | null;
  hidden_ms?: number | null;
  freezes?: number | null;
  restored?: boolean;
  prerendered?: boolean;
  /** Frames of 50 ms or longer, and their durations together. */
  long_frames?: number | null;
  long_frames_ms?: number | null;
  hidden_bytes?: number | null;
  after_stop_bytes?: number | null;
}

/** What the probe itself cost the page. */
export interface ProbeOverhead {
  timed_chunks?: number | null;
  /** Of all timed chunks together. */
  chunks_ms?: number | null;
  memory_bytes?: number | null;
  /** Of all beacons of the page before this one. */
  sent_bytes?: number | null;
}

/** Where the time before the first byte went. On a reused connection the first three are 0. */
export interface NetworkTiming {
  dns_ms?: number | null;
  connect_ms?: number | null;
  tls_ms?: number | null;
  wait_ms?: number | null;
}

/** One stream as the user's browser saw it. What is absent was not visible or did not happen. */
export interface StreamReport {
  v: number;
  id: string;
  rev?: number;
  open?: boolean;
  site?: string | null;
  use_case?: string | null;
  observed?: "events" | "chunks" | "arrival";
  dialect?: string | null;
  provider?: string | null;
  model?: string | null;
  response_model?: string | null;
  response_id?: string | null;
  status?: number | null;
  outcome: Outcome;
  finish_reason?: string | null;
  submit_delay_ms?: number | null;
  headers_ms?: number | null;
  first_byte_ms?: number | null;
  first_event_ms?: number | null;
  ttft_ms?: number | null;
  ttfv_ms?: number | null;
  ttfp_ms?: number | null;
  e2e_ms?: number | null;
  close_ms?: number | null;
  chunks: number;
  events: number;
  deltas: number;
  bytes: number;
  input_tokens?: number | null;
  output_tokens?: number | null;
  reasoning_tokens?: number | null;
  cached_tokens?: number | null;
  tpot_ms?: number | null;
  longest_gap_ms?: number | null;
  gaps?: WireHistogram | null;
  stalls?: number;
  defects?: Record<string, number>;
  phases?: NetworkTiming | null;
  around?: PageLifecycle | null;
  cost?: ProbeOverhead | null;
  server?: ServerTiming | null;
  page?: Record<string, string | null> | null;
  clock_resolution_ms?: number | null;
  sample_rate?: number | null;
  dropped?: Record<string, number> | null;
  received_ms: number;
  /** As it is counted; `unknown` where nothing says it. */
  country: string;
}

export interface StreamPage {
  streams: StreamReport[];
  next: string | null;
}

/** What happens now. */
export interface Live {
  t: number;
  /** Whose streams: this collector's, which is alone, or those of all. */
  of: "collector" | "cluster";
  open: number;
  /** `seconds` is under 60 where more came in a minute than the collector remembers. */
  ended: { seconds: number; streams: number; outcomes: Partial<Record<Outcome, number>> };
  /** Absent in a cluster. */
  reports_per_second?: number;
  from: number;
  to: number;
  ttfv: Quantiles;
  ttft: Quantiles;
  /** The newest that ended. */
  streams: StreamReport[];
}

/** Which of the streams that outlive the newest. */
export type SampleKind = "slowest" | "failed" | "uniform";

export type ObjectiveName = "availability" | "integrity" | "speed";
export type AlertSeverity = "page" | "incident" | "ticket";

/** One promise, and what became of it. `remaining` is below 0 when more streams broke it than may. */
export interface Budget {
  promise: ObjectiveName;
  /** Share of streams that is to keep it. */
  objective: number;
  good: number;
  total: number;
  ratio?: number | null;
  /** So many of `total` may break it. */
  allowed: number;
  remaining?: number | null;
  /** At a rate of 1 it is used up by the end of the period. */
  burn: { minutes: number; total: number; rate?: number | null }[];
  by_day: { t: number; good: number; total: number }[];
  alert?: AlertSeverity | null;
}

export interface Slo {
  from: number;
  to: number;
  days: number;
  targets: Targets;
  budgets: Budget[];
}

/** The collector's books since ever: what came in beside what became of it. */
export interface Accounting {
  beacons: {
    received: number;
    accepted: number;
    preflights: number;
    sampled_out: number;
    refused: Record<string, number>;
    under_way: number;
  };
  reports: { received: number; became: Record<string, number>; unexplained: number; sampled_out: number };
  streams: { new: number; counted: number; open: number };
  probe_dropped: Record<string, number>;
  /** Times are absent while the clocks of the pages are too coarse for so few chunks. */
  probe_cost: {
    timed_chunks: number;
    us_per_chunk?: number | null;
    error_us?: number | null;
    memory_bytes?: number | null;
  };
  ignored_fields: Record<string, number>;
  refused_connections: number;
}

/** The budgets of the use cases with the most streams; `more` counts the others. */
export interface Budgets {
  slos: Slo[];
  more: number;
}
