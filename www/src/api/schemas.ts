/**
 * Types of the responses of the `/v1` routes. Times are Unix milliseconds; an absent value is not known. Generated from
 * `/openapi.json` by `cargo xtask generate`.
 */

/** Share of users that leave, by wait time. */
export interface Abandonment {
  /** Streams that their users ended before the token. */
  abandoned: number;
  /** All streams that waited: `reached` + `abandoned` + `failed_before`. */
  at_risk: number;
  /** Streams that failed before the token. */
  failed_before: number;
  from: number;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  metric: WaitMetric;
  /** Shortest wait first, at most eight points per doubling; only waits at which a stream ended waiting. */
  points: AbandonmentPoint[];
  /** Streams that reached the token. */
  reached: number;
  /** Maximum relative error of the waits. */
  relative_error: number;
  to: number;
  /** What the backend generated for clients that had left. Absent if no backend says how streams ended. */
  unread_output?: UnreadOutput | null;
}

/** A point of the curve. */
export interface AbandonmentPoint {
  /** Streams that waited longer without the token. */
  at_risk: number;
  /** 95 % confidence interval of `share`. Absent while the share is 0, and once it is 1. */
  lower?: number | null;
  /** Estimated share of users that leave by then if no token arrives. */
  share: number;
  upper?: number | null;
  wait_ms: number;
}

/** Ingest counters from one transaction. */
export interface Accounting {
  beacons: BeaconAccounting;
  /** Unknown fields in valid reports, by site. The collector skips them. */
  ignored_fields: Record<string, number>;
  /**
   * Whether statistics and single streams agree. Absent in a cluster, and if not all reports of the hour are kept or
   * read.
   */
  last_hour?: LastHourAccounting | null;
  /** Reports that probes dropped before sending, by reason. */
  probe_dropped: Record<string, number>;
  probe_overhead: MeanProbeOverhead;
  /** Connections closed before the collector read from them. */
  refused_connections: number;
  reports: ReportAccounting;
  streams: StreamAccounting;
}

/** Which streams are explained. */
export type Affected = "slow" | "failed" | "abandoned";

/** An alert that fires. */
export interface Alert {
  /** Bad streams in the window: those outside the objective, or above `limit_ms`. */
  bad: number;
  /** Burn rate over the window. Absent for waits. */
  burn_rate?: number | null;
  /** Wait that at most 5 % (p95) or 1 % (p99) of the streams may exceed. Absent for burn rates. */
  limit_ms?: number | null;
  /** Length of the window that the figures are about. */
  minutes: number;
  /**
   * What is amiss: `availability`, `integrity`, `speed` or `pace` for a burn rate, `ttft_p99`, `ttft_p95`, `e2e_p99` or
   * `e2e_p95` for waits.
   */
  rule: string;
  severity: AlertSeverity;
  /** Streams in the window that the rule applies to. */
  total: number;
}

/** How urgently people must know of an alert, most urgent first. */
export type AlertSeverity = "P1" | "page" | "P2" | "incident" | "P3" | "ticket";

/** The alerts that fire now. */
export interface Alerts {
  /** Most urgent first. */
  alerts: FiringAlert[];
}

/** Mean parts of the wait for the first token, over the kept streams with a wait from the p90 to the p99. */
export interface AroundP95 {
  /** Absent if the difference to the second largest may be chance. */
  largest?: PhaseName | null;
  /** Number of these streams, at least 20. */
  n: number;
  /** In the order of the wait, without parts of length 0. */
  parts: MeanPart[];
  /** `largest` as a sentence. */
  text?: string | null;
  /** Their mean wait: the sum of the parts. */
  ttft_mean_ms: number;
}

/** Few networks that send this collector an abnormal share of a site's reports. */
export interface AttackNotice {
  /** The networks in the ten seconds in which they sent the most. */
  networks: number;
  /** Reports of the site that were refused because their networks exceeded their share. */
  refused: number;
  /** Their share of the reports of these ten seconds. */
  share: number;
  since_ms: number;
  site: string;
  /** All of this in words. Times are UTC. */
  text: string;
  /** Absent while it goes on. */
  until_ms?: number | null;
}

/**
 * Requests to the ingest endpoint: `received` = `accepted` + `preflights` + `sampled_out` + all `refused` +
 * `in_flight`.
 */
export interface BeaconAccounting {
  accepted: number;
  in_flight: number;
  preflights: number;
  received: number;
  refused: Record<string, number>;
  /** Beacons with no report within the `sample` of their site. */
  sampled_out: number;
}

/** Streams whose output rate is below a reading speed, of all streams with a rate. */
export interface BelowReadingSpeed {
  count: number;
  /** The reading speed. */
  output_tokens_per_second: number;
  ratio?: number | null;
  total: number;
}

/** Statistics by value of a dimension. */
export interface Breakdown {
  /** The second dimension. Absent if the query groups by one. */
  and_by?: string | null;
  by: GroupBy;
  from: number;
  /** Most streams first. */
  groups: Group[];
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  metric: Metric;
  /** Number of values with streams that `groups` leaves out. */
  omitted: number;
  relative_error: number;
  /**
   * Targets of the only use case with streams. With none or several, the targets of the filtered use case, or of the
   * site's default one.
   */
  targets: UseCaseTargets;
  to: number;
  /** Number of use cases with streams. Above 1, `targets` do not apply to all streams. */
  use_cases: number;
}

/** Number of values above the lower edge and up to the upper one. The bucket from 0 to 0 counts zeros. */
export type Bucket =
  | {
  count: number;
  lower_ms: number;
  upper_ms: number;
}
  | {
  count: number;
  lower_output_tokens_per_second: number;
  upper_output_tokens_per_second: number;
};

/** The error budget of one objective. */
export interface Budget {
  /** Severity of the most severe alert that fires. Absent if none fires. */
  alert?: AlertSeverity | null;
  /** Number of bad streams that the objective allows among `total`. */
  allowed: number;
  burn_rates: BurnRate[];
  /** Days (UTC) of the period with streams that count for the objective, oldest first. */
  by_day: BudgetDay[];
  good: number;
  objective: Objective;
  /** Target share of good streams. */
  objective_ratio: number;
  ratio?: number | null;
  /** Share of the error budget that is left; below 0 if overspent. Absent without streams. */
  remaining?: number | null;
  total: number;
}

/** One objective on one day. */
export interface BudgetDay {
  good: number;
  timestamp_ms: number;
  total: number;
}

/** What is left of an error budget. */
export interface BudgetLeft {
  objective: Objective;
  /** Share of the budget that is left; below 0 if overspent. */
  remaining: number;
}

/** Burn rate over the newest minutes. */
export interface BurnRate {
  minutes: number;
  /** Failure rate divided by the allowed one: at 1 the budget lasts exactly its period. Absent without streams. */
  rate?: number | null;
  total: number;
}

/** Time to first token in browsers and on servers. */
export interface Comparison {
  client: Quantiles;
  /**
   * Points of the comparison period, one per point of the range. Absent unless requested, and if streams of that period
   * are missing.
   */
  earlier?: ComparisonPoint[] | null;
  from: number;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  /** Whose time the server's is. */
  layer: ServerSide;
  /** Streams with both times. */
  matched: number;
  overhead: Quantiles;
  points: ComparisonPoint[];
  server: Quantiles;
  /** Streams with both times by source of the server's. Times that the backend sent count as `other`. */
  sources: Record<string, number>;
  step_ms: number;
  streams: number;
  to: number;
}

/** One step of the range. It has its time alone if not all its streams are kept. */
export interface ComparisonPoint {
  client_p50_ms?: number | null;
  client_p90_ms?: number | null;
  client_p95_ms?: number | null;
  client_p99_ms?: number | null;
  n?: number;
  overhead_p50_ms?: number | null;
  overhead_p90_ms?: number | null;
  overhead_p95_ms?: number | null;
  overhead_p99_ms?: number | null;
  server_p50_ms?: number | null;
  server_p90_ms?: number | null;
  server_p95_ms?: number | null;
  server_p99_ms?: number | null;
  timestamp_ms: number;
}

/** Interval with at least 95 % confidence of a difference. If it includes 0, no difference is shown. */
export interface Difference {
  lower: number;
  upper: number;
}

/**
 * The figures of a range minus those of the comparison period. Absent with too few streams. Times are in milliseconds,
 * shares from -1 to 1.
 */
export interface Differences {
  availability?: Difference | null;
  e2e_p50_ms?: Difference | null;
  e2e_p95_ms?: Difference | null;
  goodput?: Difference | null;
  integrity?: Difference | null;
  tpot_p50_ms?: Difference | null;
  tpot_p95_ms?: Difference | null;
  ttfv_p50_ms?: Difference | null;
  ttfv_p95_ms?: Difference | null;
  ttfv_p99_ms?: Difference | null;
}

/** One value of a dimension. */
export interface DimensionValue {
  dimension: string;
  value: string;
}

/** The same value in the comparison period. */
export interface EarlierGroup {
  /**
   * 95 % confidence intervals. Present if `n` is from 1 to 499, except for `inter_chunk_latency`, whose values within a
   * stream are not independent.
   */
  intervals?: Intervals | null;
  /** Percentiles with censored waits. Present for `ttft` and `ttfv`. */
  km_adjusted?: KmAdjusted | null;
  /** Number of values. */
  n: number;
  p10_output_tokens_per_second?: number | null;
  p1_output_tokens_per_second?: number | null;
  p50_ms?: number | null;
  p50_output_tokens_per_second?: number | null;
  p5_output_tokens_per_second?: number | null;
  p90_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
  streams: number;
}

/** The distribution in the comparison period. */
export interface EarlierHistogram {
  buckets: Bucket[];
  from: number;
  /**
   * 95 % confidence intervals. Present if `n` is from 1 to 499, except for `inter_chunk_latency`, whose values within a
   * stream are not independent.
   */
  intervals?: Intervals | null;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  /** Percentiles with censored waits. Present for `ttft` and `ttfv`. */
  km_adjusted?: KmAdjusted | null;
  /** Number of values. */
  n: number;
  p10_output_tokens_per_second?: number | null;
  p1_output_tokens_per_second?: number | null;
  p50_ms?: number | null;
  p50_output_tokens_per_second?: number | null;
  p5_output_tokens_per_second?: number | null;
  p90_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
  relative_error: number;
  to: number;
}

/** Streams whose last report arrived within the newest minute and that are not open. */
export interface Ended {
  outcomes: Record<string, number>;
  /** 60, or less if the newest minute has more streams than memory keeps. */
  seconds: number;
  streams: number;
}

/** Product of an engine, or of a gateway in front. */
export type EngineKind = "auto" | "vllm" | "sglang" | "llama.cpp" | "trtllm" | "dynamo" | "litellm";

/** Whether a figure was found. */
export interface EngineMetric {
  figure: Figure;
  /** Name of the metric that was read. Absent if none was found. */
  found?: string | null;
  /** Names that were searched. Empty if engines of this kind have no such metric. */
  searched: string[];
}

/** A model of the engines. */
export interface EngineModel {
  model: string;
  points: EnginePoint[];
  /** Absent below 5 minutes over target or 5 others with both figures. */
  queue?: QueueWhileOverTarget | null;
}

/** Figures of all engines of the model in one step. `null` where no scrape of the step had the figure. */
export interface EnginePoint {
  accepted?: number | null;
  cache_hits?: number | null;
  cache_queries?: number | null;
  drafted?: number | null;
  /** From 0 to 1, of the fullest engine. */
  kv_usage_max?: number | null;
  preemptions?: number | null;
  /** Sum of each engine's maximum. */
  running_max?: number | null;
  running_mean?: number | null;
  timestamp_ms: number;
  /** Sum of each engine's maximum. */
  waiting_max?: number | null;
  waiting_mean?: number | null;
}

/** The last scrape of an engine. */
export interface EngineStatus {
  /** Host and port. */
  engine: string;
  /** Why the last scrape failed. */
  error?: string | null;
  /** `auto` until the metrics show the kind. */
  kind: EngineKind;
  /** Metrics of the last scrape that did not fail. Empty before it. */
  metrics: EngineMetric[];
  /** Absent before the first scrape. */
  scraped_ms?: number | null;
  site?: string | null;
}

/** The engines that this collector scrapes. */
export interface Engines {
  /** Empty if none is configured. */
  engines: EngineStatus[];
  from: number;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  /** Models with figures in the range, at most 100. */
  models: EngineModel[];
  step_ms: number;
  to: number;
}

/** Failed streams as a share of the eligible streams. */
export interface ErrorShare {
  count: number;
  ratio?: number | null;
  /** Lower bound of the failure rate with 95 % confidence. Few streams give a low bound. */
  ratio_ci_lower?: number | null;
  total: number;
}

/** What is up against the comparison period. */
export interface ErrorsAndLatency {
  /** The statement with both figures of both periods. */
  text: string;
  up: Up;
}

/** What some streams have in common. */
export interface Explanation {
  /** Affected ones among them. */
  affected: number;
  /** Confidence that nothing is in `findings` if the streams do not differ. */
  confidence: number;
  /** Strongest first. Each later one explains streams that the earlier ones do not. */
  findings: Finding[];
  from: number;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  of: Affected;
  /** Streams that were compared: those of the range whose reports are kept. */
  streams: number;
  to: number;
}

/** One fact. Unknown fields are ignored. */
export interface Fact {
  cached?: boolean;
  duration_ms?: number | null;
  /** `complete`, `client_gone` or `error`. */
  ended?: string | null;
  generation_ms?: number | null;
  /**
   * The id that the response itself carries: `id`, `response.id`, `message.id`, … Absent: `trace_id` names the
   * stream.
   */
  id?: string | null;
  /** `edge`, `app`, `model_call`, `gateway` or `engine`. */
  layer: string;
  output_tokens?: number | null;
  prefill_ms?: number | null;
  queue_ms?: number | null;
  /** Program that measured, such as `asgi`. */
  source: string;
  /** The moment from which `ttft_ms` counts: `arrival`, `scheduled` or `prefill`. */
  starts_from?: string | null;
  tokens_after_gone?: number | null;
  /** Id of the trace: 32 hexadecimal digits in small letters. */
  trace_id?: string | null;
  ttft_ms?: number | null;
}

/** A figure of an engine's model. */
export type Figure =
  | "waiting"
  | "running"
  | "kv_usage"
  | "preemptions"
  | "cache_hits"
  | "cache_queries"
  | "drafted"
  | "accepted";

/** A value, or a pair of values, that occurs among the affected streams more often than chance allows. */
export interface Finding {
  /** Affected streams with the values, in the time of the finding. */
  affected: number;
  /** Values that first appeared when the affected streams became frequent, such as a release: most of them have it. */
  began_with: DimensionValue[];
  /** Most frequent cause among the affected streams with the values. */
  cause?: FindingCause | null;
  /** Interval with 95 % confidence of the first share minus the second. */
  excess_lower: number;
  excess_upper: number;
  /** Values of nearly the same streams: the data cannot tell which of them is the reason. */
  same: DimensionValue[];
  /** Share of the affected streams of that time that have the values. */
  share_of_affected: number;
  /** Share of the other streams of that time that have them. */
  share_of_rest: number;
  /**
   * Start of the time in which streams were affected more often, or those with the values came at all. Absent if that
   * is the whole range.
   */
  since_ms?: number | null;
  /** All streams with the values in that time. */
  streams: number;
  /** End of that time. Absent if it lasts until the end of the range. */
  until_ms?: number | null;
  /** One value, or two that only together have the excess. */
  values: DimensionValue[];
}

/** A cause, and the streams that it explains. */
export interface FindingCause {
  name: string;
  streams: number;
}

/** An alert of one site's use case. */
export interface FiringAlert {
  /** Bad streams in the window: those outside the objective, or above `limit_ms`. */
  bad: number;
  /** Burn rate over the window. Absent for waits. */
  burn_rate?: number | null;
  /** Wait that at most 5 % (p95) or 1 % (p99) of the streams may exceed. Absent for burn rates. */
  limit_ms?: number | null;
  /** Length of the window that the figures are about. */
  minutes: number;
  /**
   * What is amiss: `availability`, `integrity`, `speed` or `pace` for a burn rate, `ttft_p99`, `ttft_p95`, `e2e_p99` or
   * `e2e_p95` for waits.
   */
  rule: string;
  severity: AlertSeverity;
  site: string;
  /** The alert in one sentence. */
  text: string;
  /** Streams in the window that the rule applies to. */
  total: number;
  use_case: string;
}

/** Streams within SLO: their share and their number per second. */
export interface Goodput {
  good: number;
  per_second: number;
  ratio?: number | null;
  total: number;
}

/** The streams with one value, or with one value of each dimension. */
export interface Group {
  /** Value of the second dimension. */
  and_value?: string | null;
  earlier?: EarlierGroup | null;
  errors: number;
  /**
   * Share of the eligible streams that missed their SLO, minus share of all eligible streams. Above 0, the value causes
   * more than its share of failures. Absent if no stream missed its SLO.
   */
  excess_share?: number | null;
  /** Lower bound of `excess_share` with 95 % confidence. Above 0, chance alone hardly explains the excess. */
  excess_share_ci_lower?: number | null;
  goodput: Ratio;
  integrity: Ratio;
  /**
   * 95 % confidence intervals. Present if `n` is from 1 to 499, except for `inter_chunk_latency`, whose values within a
   * stream are not independent.
   */
  intervals?: Intervals | null;
  /** Percentiles with censored waits. Present for `ttft` and `ttfv`. */
  km_adjusted?: KmAdjusted | null;
  /** Number of values. */
  n: number;
  p10_output_tokens_per_second?: number | null;
  p1_output_tokens_per_second?: number | null;
  p50_ms?: number | null;
  p50_output_tokens_per_second?: number | null;
  p5_output_tokens_per_second?: number | null;
  p90_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
  /** Share of all streams. */
  share: number;
  streams: number;
  /** Targets of the streams. Absent unless the dimension is `use_case`. */
  targets?: UseCaseTargets | null;
  value: string;
}

export type GroupBy =
  | "site"
  | "use_case"
  | "provider"
  | "model"
  | "country"
  | "response_model"
  | "release"
  | "variant"
  | "route"
  | "browser"
  | "browser_version"
  | "os"
  | "device"
  | "connection"
  | "protocol"
  | "visibility"
  | "dialect"
  | "prompt_size"
  | "cached"
  | "reasoning"
  | "stream_kind"
  | "finish_reason"
  | "server_source"
  | "outcome"
  | "defect";

/** Distribution of a metric over time. */
export interface Heatmap {
  /** Buckets with values in any step, lowest first. */
  buckets: Bucket[];
  from: number;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  metric: Metric;
  points: HeatmapPoint[];
  step_ms: number;
  /**
   * Targets of the only use case with streams. With none or several, the targets of the filtered use case, or of the
   * site's default one.
   */
  targets: UseCaseTargets;
  to: number;
  /** Number of use cases with streams. Above 1, `targets` do not apply to all streams. */
  use_cases: number;
}

/** One step of the range. It has its time alone if not all its streams are kept. */
export interface HeatmapPoint {
  /** One count per entry of `buckets`. */
  counts?: number[];
  n?: number;
  timestamp_ms: number;
}

/** Distribution of a metric. */
export interface Histogram {
  /** Buckets with values, lowest first. */
  buckets: Bucket[];
  /** The distribution in the comparison period. Absent unless requested, and if streams of that period are missing. */
  earlier?: EarlierHistogram | null;
  from: number;
  /**
   * 95 % confidence intervals. Present if `n` is from 1 to 499, except for `inter_chunk_latency`, whose values within a
   * stream are not independent.
   */
  intervals?: Intervals | null;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  /** Percentiles with censored waits. Present for `ttft` and `ttfv`. */
  km_adjusted?: KmAdjusted | null;
  metric: Metric;
  /** Number of values. */
  n: number;
  p10_output_tokens_per_second?: number | null;
  p1_output_tokens_per_second?: number | null;
  p50_ms?: number | null;
  p50_output_tokens_per_second?: number | null;
  p5_output_tokens_per_second?: number | null;
  p90_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
  relative_error: number;
  /**
   * Targets of the only use case with streams. With none or several, the targets of the filtered use case, or of the
   * site's default one.
   */
  targets: UseCaseTargets;
  to: number;
  /** Number of use cases with streams. Above 1, `targets` do not apply to all streams. */
  use_cases: number;
}

/** Outcomes and defects of streams over time. */
export interface Integrity {
  /** Streams by defect, each stream once; only defects that occurred. */
  defects: Record<string, number>;
  from: number;
  /** Intact streams as a share of the eligible streams. */
  integrity: Ratio;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  /** Streams by outcome; only outcomes that occurred. */
  outcomes: Record<string, number>;
  points: IntegrityPoint[];
  step_ms: number;
  streams: number;
  /**
   * Targets of the only use case with streams. With none or several, the targets of the filtered use case, or of the
   * site's default one.
   */
  targets: UseCaseTargets;
  to: number;
  /** Number of use cases with streams. Above 1, `targets` do not apply to all streams. */
  use_cases: number;
}

/** One step of the range. It has its time alone if not all its streams are kept. */
export interface IntegrityPoint {
  /** Streams by defect, each stream once; only defects that occurred. */
  defects?: Record<string, number>;
  /** Intact streams as a share of the eligible streams. */
  integrity?: Ratio;
  /** Streams by outcome; only outcomes that occurred. */
  outcomes?: Record<string, number>;
  streams?: number;
  timestamp_ms: number;
}

/** A confidence interval. An end is absent if there are too few values to bound it. */
export interface Interval {
  lower_ms?: number | null;
  lower_output_tokens_per_second?: number | null;
  upper_ms?: number | null;
  upper_output_tokens_per_second?: number | null;
}

/** 95 % confidence intervals of the percentiles. */
export interface Intervals {
  p1?: Interval | null;
  p10?: Interval | null;
  p5?: Interval | null;
  p50: Interval;
  p90?: Interval | null;
  p95?: Interval | null;
  p99?: Interval | null;
}

/**
 * Kaplan–Meier-adjusted percentiles, which include censored waits. A percentile is absent if too few streams waited
 * that long.
 */
export interface KmAdjusted {
  /** Streams that their users ended before the token. */
  abandoned: number;
  /** Streams that failed before the token. */
  failed_before: number;
  p10_output_tokens_per_second?: number | null;
  p1_output_tokens_per_second?: number | null;
  p50_ms?: number | null;
  p50_output_tokens_per_second?: number | null;
  p5_output_tokens_per_second?: number | null;
  p90_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
}

/** Streams of the last whole hour. While a revision is stored, the two numbers can differ for a second. */
export interface LastHourAccounting {
  /** In the statistics. */
  counted: number;
  from: number;
  /** With a report that can be read. */
  kept: number;
  to: number;
}

/** Names of the layers. */
export type LayerName = "edge" | "app" | "model_call" | "gateway" | "engine";

/** How many streams have the time to first token of a layer: `streams` = `sent` + `in_stream` + all of `without`. */
export interface LayerShare {
  /** The stream itself carried it. */
  in_stream: number;
  layer: LayerName;
  /** The backend sent it. */
  sent: number;
  without: StreamsWithoutLayer;
}

/** The current state of a filter. */
export interface Live {
  ended: Ended;
  from: number;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  /** Streams with a report that are not finalized. */
  open: number;
  /** Accepted reports per second over the newest 10 s. Absent in a cluster. */
  reports_per_second?: number | null;
  scope: Scope;
  /** The most recently ended streams. */
  streams: StreamReport[];
  /** Time of the snapshot, in milliseconds since 1970. */
  timestamp_ms: number;
  to: number;
  ttft: Quantiles;
  ttfv: Quantiles;
}

/** The most frequent cause among the bad streams. */
export interface MainCause {
  /**
   * `server_queue`, `server_compute`, `server`, `reasoning`, `network`, `main_thread`, `decode`, `not_visible`; for
   * failures the outcome, for lost content the defect.
   */
  cause: string;
  /** Bad streams with any cause. */
  of: number;
  /** Bad streams with this cause. */
  streams: number;
}

/** A moment that explains a change of the figures. */
export interface Marker {
  /** Absent if `kind` is `release`. */
  id?: string | null;
  kind: MarkerKind;
  /** Absent if the marker concerns all sites. */
  site?: string | null;
  timestamp_ms: number;
  /** Name of the release, if `kind` is `release`. */
  title: string;
  url?: string | null;
}

/** Kind of change or event that a marker records. */
export type MarkerKind = "other" | "deploy" | "config" | "incident" | "release";

/** Markers of a range, the oldest first. */
export interface Markers {
  from: number;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  /** The newest of the range, at most 500. */
  markers: Marker[];
  /** Number of earlier markers of the range beyond these. */
  omitted: number;
  to: number;
}

/** Mean of a part over all these streams. What a stream does not tell is in its `not_reported`. */
export interface MeanPart {
  mean_ms: number;
  phase: PhaseName;
}

/** Overhead of the probe on pages with its extension `probeOverhead`, over finalized streams. */
export interface MeanProbeOverhead {
  /** Error of `us_per_chunk` from clock resolution, with 95 % confidence. Absent if `us_per_chunk` is absent. */
  error_us?: number | null;
  /** Mean memory size of the Wasm module. Absent if no page reported one. */
  memory_bytes?: number | null;
  timed_chunks: number;
  /**
   * Mean time of the probe's own code per chunk, in microseconds. Absent while there are too few chunks for the
   * resolution of the pages' clocks.
   */
  us_per_chunk?: number | null;
}

/** Mean parts of the wait for the first token, over all streams with one: they add up to it. */
export interface MeanWait {
  /** In the order of the wait, without parts of length 0. */
  parts: MeanPart[];
  ttft_mean_ms: number;
}

export interface Memory {
  /** `memory_bytes` of the configuration, or what the system allows. */
  budget_bytes: number;
  /** Bytes that are allocated now. */
  used_bytes: number;
}

export type Metric =
  | "ttfv"
  | "ttft"
  | "ttfp"
  | "server_ttft"
  | "server_queue"
  | "overhead"
  | "e2e"
  | "generation"
  | "engine_generation"
  | "tpot"
  | "output_rate"
  | "inter_chunk_latency";

/** A marker as a client posts it. */
export interface NewMarker {
  /**
   * A site has each id once, so that a repeated post changes nothing: 1 to 64 of `A-Z a-z 0-9 . _ -`. Default: a random
   * one.
   */
  id?: string | null;
  /** `deploy` (default), `config`, `incident` or `other`. */
  kind?: string | null;
  /** Name of a site. Default: the marker concerns all sites. */
  site?: string | null;
  /** Default: now. At most five minutes ahead, and not before the stored history. */
  timestamp_ms?: number | null;
  /** At most 100 characters, in one line. */
  title: string;
  /** An `https` address of at most 500 characters. */
  url?: string | null;
}

/** A property that a share of streams must have. */
export type Objective = "availability" | "integrity" | "speed" | "pace";

/** Percentiles of a distribution. They are absent if `n` is 0. */
export interface Percentiles {
  /**
   * 95 % confidence intervals. Present if `n` is from 1 to 499, except for `inter_chunk_latency`, whose values within a
   * stream are not independent.
   */
  intervals?: Intervals | null;
  /** Percentiles with censored waits. Present for `ttft` and `ttfv`. */
  km_adjusted?: KmAdjusted | null;
  /** Number of values. */
  n: number;
  p10_output_tokens_per_second?: number | null;
  p1_output_tokens_per_second?: number | null;
  p50_ms?: number | null;
  p50_output_tokens_per_second?: number | null;
  p5_output_tokens_per_second?: number | null;
  p90_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
}

/** One phase, over the streams that tell it. */
export interface Phase {
  /**
   * 95 % confidence intervals. Present if `n` is from 1 to 499, except for `inter_chunk_latency`, whose values within a
   * stream are not independent.
   */
  intervals?: Intervals | null;
  /** Percentiles with censored waits. Present for `ttft` and `ttfv`. */
  km_adjusted?: KmAdjusted | null;
  /** Number of values. */
  n: number;
  p10_output_tokens_per_second?: number | null;
  p1_output_tokens_per_second?: number | null;
  p50_ms?: number | null;
  p50_output_tokens_per_second?: number | null;
  p5_output_tokens_per_second?: number | null;
  p90_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
  phase: PhaseName;
}

/** Names of the phases. */
export type PhaseName =
  | "dns"
  | "connect"
  | "app"
  | "model_call"
  | "server_queue"
  | "prefill"
  | "server"
  | "network"
  | "main_thread"
  | "reasoning"
  | "paint"
  | "not_reported";

/** Phases of the wait, over many streams. Their percentiles do not add up to those of the wait, their means do. */
export interface Phases {
  /** The second dimension. Absent if the query groups by one. */
  and_by?: string | null;
  /** Absent with too few streams around the p95. */
  around_p95?: AroundP95 | null;
  by?: string | null;
  from: number;
  /**
   * Present with `by`, most streams first. If only single streams have the dimension, `kept_since_ms` is about these
   * groups.
   */
  groups?: PhasesGroup[] | null;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  /** Absent without a first token. */
  mean?: MeanWait | null;
  /** Number of values with streams that `groups` leaves out. */
  omitted?: number | null;
  /** In the order of the wait. A phase that no stream tells has `n` 0. */
  phases: Phase[];
  /** Present with `step`. */
  points?: PhasesPoint[] | null;
  relative_error: number;
  step_ms?: number | null;
  streams: number;
  to: number;
  /** The wait for the first token of any kind, which the phases before `reasoning` are parts of. */
  ttft: Quantiles;
}

/** The streams with one value, or with one value of each dimension. */
export interface PhasesGroup {
  /** Value of the second dimension. */
  and_value?: string | null;
  /** Absent without a first token. */
  mean?: MeanWait | null;
  /** In the order of the wait, without those that no stream tells. */
  phases: Phase[];
  streams: number;
  ttft: Percentiles;
  value: string;
}

/** One step of the range. It has its time alone if not all its streams are kept. */
export interface PhasesPoint {
  /** Absent without a first token. */
  mean?: MeanWait | null;
  /** In the order of the wait, without those that no stream tells. */
  phases?: Phase[];
  streams?: number;
  timestamp_ms: number;
  ttft?: Percentiles;
}

/** Figures of the comparison period. */
export interface Previous {
  differences: Differences;
  e2e: Quantiles;
  errors: ErrorShare;
  from: number;
  goodput: Ratio;
  integrity: Ratio;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  output_rate: Quantiles;
  streams: number;
  throughput: Throughput;
  to: number;
  ttfv: Quantiles;
}

/** Percentiles and their maximum relative error. */
export interface Quantiles {
  /**
   * 95 % confidence intervals. Present if `n` is from 1 to 499, except for `inter_chunk_latency`, whose values within a
   * stream are not independent.
   */
  intervals?: Intervals | null;
  /** Percentiles with censored waits. Present for `ttft` and `ttfv`. */
  km_adjusted?: KmAdjusted | null;
  /** Number of values. */
  n: number;
  p10_output_tokens_per_second?: number | null;
  p1_output_tokens_per_second?: number | null;
  p50_ms?: number | null;
  p50_output_tokens_per_second?: number | null;
  p5_output_tokens_per_second?: number | null;
  p90_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
  relative_error: number;
}

/** Minutes in which requests waited in the queue, among those over the users' target and among the others. */
export interface QueueWhileOverTarget {
  other_minutes: number;
  other_with_queue: number;
  over_minutes: number;
  over_with_queue: number;
  /** The figures in one sentence. */
  text: string;
}

/** A share and the counts that it is computed from. */
export interface Ratio {
  good: number;
  ratio?: number | null;
  total: number;
}

/** Readiness of the collector. */
export interface Ready {
  draining: boolean;
  memory: Memory;
  ready: boolean;
  storage: Storage;
}

/** The last refusals of this collector since its start, newest first: at most five senders for each reason. */
export interface Refusals {
  refusals: RefusedSender[];
}

/**
 * Refused requests of the same sender for the same reason. Foreign texts are cut, and have `?` in place of characters
 * other than visible ASCII.
 */
export interface RefusedSender {
  /** Line for the site's `[[sites]]` that would accept the sender. Absent if no line would. */
  config_line?: string | null;
  count: number;
  /** The beginning of the site key. Absent if the requests named none. */
  key_prefix?: string | null;
  /** Absent if the requests named none. */
  origin?: string | null;
  /** As in the response and in the accounting. */
  reason: string;
  /** The site that the key belongs to. Absent if it belongs to none. */
  site?: string | null;
  /** Time of the last of them. */
  timestamp_ms: number;
}

/** One release of the app. */
export interface Release {
  /** Streams that their users left or stopped before the first visible token, of all that were observed. */
  abandonment: Ratio;
  /** A new release minus the one that most of the site's 100 streams before it had. Absent without such a release. */
  compared_to?: ReleaseComparison | null;
  /** End of its first stream in the range. */
  first_ms: number;
  goodput: Ratio;
  integrity: Ratio;
  /** Whether the release appeared within the range. False if it has too few streams to tell. */
  is_new: boolean;
  /** End of its last stream in the range. */
  last_ms: number;
  release: string;
  site: string;
  streams: number;
  /** Median time to first visible token. Absent without a value. */
  ttfv_p50_ms?: number | null;
}

/** A release minus the one before it. */
export interface ReleaseComparison {
  abandonment?: Difference | null;
  goodput?: Difference | null;
  integrity?: Difference | null;
  release: string;
  /** In milliseconds. Absent with too few values. */
  ttfv_p50_ms?: Difference | null;
}

/** Releases of the app, the newest first. */
export interface Releases {
  from: number;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  /** The newest by their first stream, at most 50. */
  releases: Release[];
  to: number;
  /** Streams whose page names no release. */
  without_release: number;
}

/** Reports in accepted beacons: `received` = sum of `by_result` + `unaccounted`. */
export interface ReportAccounting {
  by_result: Record<string, number>;
  received: number;
  /** Valid reports outside the `sample` of their site; not included in `received`. */
  sampled_out: number;
  unaccounted: number;
}

/** Collectors whose streams the snapshot covers. */
export type Scope = "collector" | "cluster";

/** Layers of the backend, by the kept streams of a range. */
export interface ServerLayers {
  /**
   * Timings that backends sent for any stream since the store was created: `matched`, `duplicate`, `expired`,
   * `refused`, and in a cluster `shared` and `claimed`. Absent if the filter or the token selects sites.
   */
  facts?: Record<string, number> | null;
  from: number;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  /** From outside to inside, all of them. */
  layers: LayerShare[];
  streams: number;
  to: number;
}

/**
 * Whose time stands beside the browser's. Different layers begin at different moments, so no figure has two of them.
 */
export type ServerSide = "edge" | "app" | "model_call" | "gateway" | "engine" | "in_band";

/** Who a request comes from, and what it may read. */
export interface Session {
  /** Name of the token or of the proxy's user. Absent without either. */
  name?: string | null;
  signed_in_by: SignedInBy;
  /** The sites that the token is limited to. Absent if all sites may be read. */
  sites?: string[] | null;
}

/**
 * Targets of availability, integrity and goodput for all streams in view: each eligible stream counts with the target
 * of its use case.
 */
export interface ShareTargets {
  /** Absent if a use case has none. */
  availability?: number | null;
  goodput?: number | null;
  integrity?: number | null;
}

/** By which credentials a request has access. */
export type SignedInBy = "token" | "session" | "nothing" | "proxy";

/** Error budgets of a site's use case. */
export interface Slo {
  budgets: Budget[];
  days: number;
  from: number;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  /** Absent if no site is chosen and none has streams. */
  site?: string | null;
  targets: UseCaseTargets;
  to: number;
}

export type Storage = "writable" | "unavailable";

/** Streams that reports describe: `new` = `counted` + sum of `apart` + `open`. */
export interface StreamAccounting {
  /** Finalized streams that are in no statistics of answers, by kind. */
  apart: Record<string, number>;
  counted: number;
  new: number;
  open: number;
}

/** Streams of one page, newest first. */
export interface StreamPage {
  /** `cursor` of the next page; `null` on the last one. */
  next: string | null;
  streams: StreamReport[];
  /** With `since`: the streams of the page that `streams` leaves out, because they arrived before it. */
  unchanged?: UnchangedStream[] | null;
}

/** One phase of a stream's wait. */
export interface StreamPhase {
  ms: number;
  phase: PhaseName;
}

export interface StreamReport {
  /**
   * When text came, by the extension `arrivals`: digits of base 36. The first says how often 10 ms were doubled to get
   * the length of a step. Each further one, at most 44, is a step from the first byte on: its deltas relative to those
   * of the busiest step, which has `z`. Rounded up, so that only a step without deltas has `0`. Absent while open, and
   * without text.
   */
  arrivals?: string;
  /** Facts that the app names, such as `{"plan":"pro"}`, with keys from the site's configuration. */
  attributes?: Record<string, string>;
  /** The stream shows no text to the user. The app says so, or the collector finds it. */
  background?: boolean;
  /** Body bytes as the app got them, after decompression. */
  bytes: number;
  /** Input tokens served from the provider's cache, as the provider counted. */
  cached_tokens?: number;
  /** Reads that carried bytes. */
  chunks: number;
  /** Smallest step that the page's clock showed. */
  clock_resolution_ms?: number;
  /** Stream closed, failed or cancelled. Absent while open. */
  close_ms?: number;
  /** `unknown` if it is not known. */
  country: string;
  /** How often each defect was seen. */
  defects?: Record<string, number>;
  /** Events with generated text. */
  deltas: number;
  /**
   * Wire format, recognised from content, by a name of `docs/formats.md`: `openai_chat`, `anthropic`, … Absent before
   * the first event and where content could not be read.
   */
  dialect?: string;
  /** Reports that the probe dropped since its last report arrived. */
  dropped?: {
    /** Streams whose early chunks did not fit the queue before the probe had loaded. */
    early?: number;
    /** Reports that found the queue full. */
    queue_full?: number;
    /** Reports that the collector refused for good. */
    refused?: number;
    /** Reports that could not be sent. */
    send_failed?: number;
  };
  /** Last generated text, or a whole response that was not streamed. Absent when there was none. */
  e2e_ms?: number;
  /** Dispatched events; comments and pings are not among them. */
  events: number;
  /** The provider's finish reason. Absent until the response named one. */
  finish_reason?: string;
  /** First body chunk handed to the app. Absent for an empty or unread body. */
  first_byte_ms?: number;
  /** First whole event. Absent when none came, as in plain text. */
  first_event_ms?: number;
  /** Times between successive reads with generated text. Absent until two have come. */
  gaps?: {
    counts: number[];
    offset: number;
    scale: number;
    sum: number;
    zero?: number;
  };
  /** Response headers. Absent when no response came, and where the browser tells only the first byte. */
  headers_ms?: number;
  /** Random, 32 hexadecimal digits, made by the probe. Names the stream and nothing else. */
  id: string;
  /** Input tokens as the provider counted them. Absent, like the other token counts, if it did not. */
  input_tokens?: number;
  /** What the layers of the backend sent to the collector about the same stream. Ignored when sent by a page. */
  layers?: {
    /** The app that answers the browser. */
    app?: {
      /** The answer came from a cache of the layer. */
      cached?: boolean;
      /** The whole of the layer's work. */
      duration_ms?: number;
      /** How the work ended. */
      ended?: "complete" | "client_gone" | "error";
      /** First token to last token. */
      generation_ms?: number;
      /** Tokens that were generated. */
      output_tokens?: number;
      /** Time from the start of the prompt's processing to the first token. */
      prefill_ms?: number;
      /** Time before the request was scheduled. */
      queue_ms?: number;
      /** Program that measured, such as `asgi`, `litellm` or `vllm`. */
      source: string;
      /** The moment from which `ttft_ms` counts. Absent: the beginning of the layer's own work. */
      starts_from?: "arrival" | "scheduled" | "prefill";
      /** Tokens that were generated after the client had left. */
      tokens_after_gone?: number;
      /** Id of the trace in which the layer recorded the work. */
      trace_id?: string;
      /** Time to first token. */
      ttft_ms?: number;
    };
    /** A proxy in front of the app. */
    edge?: {
      /** The answer came from a cache of the layer. */
      cached?: boolean;
      /** The whole of the layer's work. */
      duration_ms?: number;
      /** How the work ended. */
      ended?: "complete" | "client_gone" | "error";
      /** First token to last token. */
      generation_ms?: number;
      /** Tokens that were generated. */
      output_tokens?: number;
      /** Time from the start of the prompt's processing to the first token. */
      prefill_ms?: number;
      /** Time before the request was scheduled. */
      queue_ms?: number;
      /** Program that measured, such as `asgi`, `litellm` or `vllm`. */
      source: string;
      /** The moment from which `ttft_ms` counts. Absent: the beginning of the layer's own work. */
      starts_from?: "arrival" | "scheduled" | "prefill";
      /** Tokens that were generated after the client had left. */
      tokens_after_gone?: number;
      /** Id of the trace in which the layer recorded the work. */
      trace_id?: string;
      /** Time to first token. */
      ttft_ms?: number;
    };
    /** The engine that ran the model. */
    engine?: {
      /** The answer came from a cache of the layer. */
      cached?: boolean;
      /** The whole of the layer's work. */
      duration_ms?: number;
      /** How the work ended. */
      ended?: "complete" | "client_gone" | "error";
      /** First token to last token. */
      generation_ms?: number;
      /** Tokens that were generated. */
      output_tokens?: number;
      /** Time from the start of the prompt's processing to the first token. */
      prefill_ms?: number;
      /** Time before the request was scheduled. */
      queue_ms?: number;
      /** Program that measured, such as `asgi`, `litellm` or `vllm`. */
      source: string;
      /** The moment from which `ttft_ms` counts. Absent: the beginning of the layer's own work. */
      starts_from?: "arrival" | "scheduled" | "prefill";
      /** Tokens that were generated after the client had left. */
      tokens_after_gone?: number;
      /** Id of the trace in which the layer recorded the work. */
      trace_id?: string;
      /** Time to first token. */
      ttft_ms?: number;
    };
    /** How many facts added something. It orders the revisions that they make. */
    facts?: number;
    /** A gateway between the app and the engine. */
    gateway?: {
      /** The answer came from a cache of the layer. */
      cached?: boolean;
      /** The whole of the layer's work. */
      duration_ms?: number;
      /** How the work ended. */
      ended?: "complete" | "client_gone" | "error";
      /** First token to last token. */
      generation_ms?: number;
      /** Tokens that were generated. */
      output_tokens?: number;
      /** Time from the start of the prompt's processing to the first token. */
      prefill_ms?: number;
      /** Time before the request was scheduled. */
      queue_ms?: number;
      /** Program that measured, such as `asgi`, `litellm` or `vllm`. */
      source: string;
      /** The moment from which `ttft_ms` counts. Absent: the beginning of the layer's own work. */
      starts_from?: "arrival" | "scheduled" | "prefill";
      /** Tokens that were generated after the client had left. */
      tokens_after_gone?: number;
      /** Id of the trace in which the layer recorded the work. */
      trace_id?: string;
      /** Time to first token. */
      ttft_ms?: number;
    };
    /** The app's call of the model. */
    model_call?: {
      /** The answer came from a cache of the layer. */
      cached?: boolean;
      /** The whole of the layer's work. */
      duration_ms?: number;
      /** How the work ended. */
      ended?: "complete" | "client_gone" | "error";
      /** First token to last token. */
      generation_ms?: number;
      /** Tokens that were generated. */
      output_tokens?: number;
      /** Time from the start of the prompt's processing to the first token. */
      prefill_ms?: number;
      /** Time before the request was scheduled. */
      queue_ms?: number;
      /** Program that measured, such as `asgi`, `litellm` or `vllm`. */
      source: string;
      /** The moment from which `ttft_ms` counts. Absent: the beginning of the layer's own work. */
      starts_from?: "arrival" | "scheduled" | "prefill";
      /** Tokens that were generated after the client had left. */
      tokens_after_gone?: number;
      /** Id of the trace in which the layer recorded the work. */
      trace_id?: string;
      /** Time to first token. */
      ttft_ms?: number;
    };
  };
  /**
   * Numbers that were out of range: durations and tokens that the probe left out, and amounts that the collector
   * lowered.
   */
  left_out?: number;
  /** Addresses of the stream in other tools, by the names in the site's `links`. */
  links?: Record<string, string>;
  /** Longest time between two reads with generated text. Absent until two have come. */
  longest_gap_ms?: number;
  /** Moments that the app named by `probe.mark()`, at most eight, by the extension `marks`. */
  marks?: ({
    /** From the request to the moment. */
    at_ms: number;
    /** Name of the moment, such as `retrieval`. */
    name: string;
  })[];
  /** Model that the request named. Absent if its body could not be read or named none. */
  model?: string;
  /** Network phases before the first byte, by the extension `networkTiming`. Absent if the browser hides them. */
  network_timing?: {
    /** Connecting, without TLS; 0 on a reused connection. */
    connect_ms?: number;
    /** Name look-up; 0 on a reused connection. */
    dns_ms?: number;
    /** TLS handshake; 0 on a reused connection. */
    tls_ms?: number;
    /** From the request on the wire to the first response byte. */
    wait_ms?: number;
  };
  /** How much of the stream the probe could see. */
  observed?: "events" | "chunks" | "arrival" | "output";
  /**
   * The stream had not ended when this was sent. Its outcome then is what it would be if the page died now:
   * `abandoned`.
   */
  open?: boolean;
  /** How it ended. */
  outcome:
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
  /** Output tokens as the provider counted them, reasoning included. */
  output_tokens?: number;
  /** The page and the device. */
  page?: {
    /**
     * Browser family, such as `chrome`. Absent from what the probe sends: the collector reads it from the request, like
     * the three below.
     */
    browser?: string;
    /** Family and major version of the browser, such as `firefox 153`. */
    browser_version?: string;
    /** The browser's own class of the connection, such as `4g`. */
    connection?: string;
    /** `desktop`, `mobile` or `tablet`. */
    device?: string;
    /** Operating system family, such as `android`. */
    os?: string;
    /** Release of the app, as the page named it. */
    release?: string;
    /** Path with ids replaced, such as `/chat/:id`. */
    route?: string;
    /** `visible`, `hidden`, or `mixed` over the stream. */
    visibility?: string;
  };
  /** Events of the page while the stream ran, by the extension `networkTiming`. */
  page_lifecycle?: {
    /** Bytes that arrived after the user pressed stop. Absent if the user did not. */
    after_stop_bytes?: number;
    /**
     * From the end of the body in the browser to the app's learning of it: a busy main thread, or an app that reads
     * late. Absent unless the body ended and was read to its end.
     */
    end_delay_ms?: number;
    /** How often the browser froze the page. Absent if the browser does not report it. */
    freezes?: number;
    /** Bytes that arrived while the page was hidden. */
    hidden_bytes?: number;
    /** How long the page was hidden. */
    hidden_ms?: number;
    /** Frames of 50 ms or longer. Absent if the browser does not report frames. */
    long_frames?: number;
    /** Sum of the durations of these frames. */
    long_frames_ms?: number;
    /** The request was made before the page was shown for the first time. */
    prerendered?: boolean;
    /** Protocol of the connection. Absent where the browser hides it. */
    protocol?: "http/1.1" | "h2" | "h3" | "other";
    /** The page had come back from the back/forward cache. */
    restored?: boolean;
  };
  /** The phases of the wait that the stream tells, in their order. Absent without a first token. */
  phases?: StreamPhase[];
  /** Overhead of the probe in the page, by the extension `probeOverhead`. */
  probe_overhead?: {
    /**
     * Time of the probe's code in all timed chunks together. A single time is shorter than a step of the clock;
     * `docs/phases.md` bounds the error of the sum.
     */
    chunks_ms?: number;
    /** Memory of the Wasm, all streams together. Absent if the page forbids WebAssembly. */
    memory_bytes?: number;
    /** Size of all beacons of the page before the one with this report. Absent in the first beacon. */
    sent_bytes?: number;
    /** Timed chunks: those read by `fetch` after the probe had loaded. Absent if there was none. */
    timed_chunks?: number;
  };
  /**
   * Who served it, by OpenTelemetry's `gen_ai.provider.name` where it has one. Absent unless the page said so, or the
   * host or the content proves it.
   */
  provider?: string;
  /** Reasoning tokens as the provider counted them, part of `output_tokens`. */
  reasoning_tokens?: number;
  /** When the report arrived. */
  received_ms: number;
  /** The provider's id of the response, which finds the stream in the server's logs. Absent in formats without one. */
  response_id?: string;
  /** Model that the response named. Absent in formats whose responses name none. */
  response_model?: string;
  /** Revision: 0 for the first report of a stream, higher for each that replaces it. */
  rev?: number;
  /** Share of tabs in which the app runs the probe: one report stands for `1 / sample_rate` streams. Absent: all. */
  sample_rate?: number;
  /** Timing of the same stream as the server measured it. */
  server?: {
    /** First token to last token. */
    generation_ms?: number;
    /** Tokens that the server generated. */
    output_tokens?: number;
    /** Time before the request was scheduled. */
    queue_ms?: number;
    /**
     * Source of the timing: `comment` for `: llm-rum {…}`, or the engine or provider that sent its own fields, by its
     * name in `docs/phases.md`, such as `llama_cpp` or `vllm`.
     */
    source: string;
    /** The moment from which `ttft_ms` counts. Absent when the source does not say. */
    starts_from?: "arrival" | "scheduled" | "prefill";
    /** Time to first token. */
    ttft_ms?: number;
  };
  /** A random id of the backend's middleware, from its comment in the stream. Absent without one. */
  server_id?: string;
  /** Name of the site, set by the collector from the site key; ignored when sent. */
  site: string;
  /** Gaps over max(2 s, 8 × the stream's median gap). */
  stalls?: number;
  /** HTTP status. Absent when no response came. */
  status?: number;
  /** From the user's gesture to the request. Absent without a gesture in the second before. */
  submit_delay_ms?: number;
  /**
   * Time per output token after the first: `(e2e − ttft) / (output_tokens − 1)`, reasoning that was billed and not
   * streamed left out of the tokens. Absent below two tokens, without the provider's count, when all text came in one
   * read, or where such reasoning may have been a silence in the answer.
   */
  tpot_ms?: number;
  /**
   * Id of the server's trace of the response, by the extension `traceId`. Absent where the page can read no header with
   * one.
   */
  trace_id?: string;
  /** First frame presented with that text in it. Absent without a watched, visible output. */
  ttfp_ms?: number;
  /**
   * First generated text of any kind: answer, reasoning, refusal or tool arguments. Absent if there was none, or if the
   * response was not streamed.
   */
  ttft_ms?: number;
  /** First answer text. Absent when there was only reasoning or tool arguments. */
  ttfv_ms?: number;
  /** Purpose of the model in the app, which selects the targets. Absent: the site's default. */
  use_case?: string;
  /** Schema version. */
  v: number;
  /** Variant of an experiment, as the app named it. */
  variant?: string;
}

/** Streams without the time to first token of a layer, by reason. */
export interface StreamsWithoutLayer {
  /** The stream is younger than `server.wait_seconds`. */
  may_come: number;
  /** No timing with the id of the response came in time. */
  no_fact: number;
  /** The request failed before a response. */
  no_response: number;
  /**
   * The response has no id, nor a comment of a middleware with one, and the page saw no trace: no timing can be
   * matched.
   */
  no_response_id: number;
  /** The layer told something else of the stream. */
  no_ttft: number;
}

/** All figures of the dashboard's first screen. */
export interface Summary {
  /** Attacks of the last day on the selected sites, whatever the range. */
  attacks: AttackNotice[];
  /** Keys of the attributes that the selected sites may set, each a dimension such as `attribute.plan`. */
  attributes: string[];
  availability: Ratio;
  below_reading_speed: BelowReadingSpeed[];
  /** Use cases of each site with streams in the range, worst first, at most 50. */
  by_use_case: UseCaseStatus[];
  defects: Record<string, number>;
  e2e: Quantiles;
  errors: ErrorShare;
  /**
   * Whether errors and latency are up against the comparison period. Absent if one of them has fewer than 30 streams.
   */
  errors_and_latency?: ErrorsAndLatency | null;
  from: number;
  generation: Quantiles;
  goodput: Goodput;
  /** Input tokens of the streams whose provider counted them. Absent if none did. */
  input_tokens?: number | null;
  integrity: Ratio;
  inter_chunk_latency: Quantiles;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  open: number;
  outcomes: Record<string, number>;
  output_rate: Quantiles;
  /** Output tokens of the streams whose provider counted them. Absent if none did. */
  output_tokens?: number | null;
  overflow: Record<string, number>;
  previous: Previous;
  share_targets: ShareTargets;
  streams: number;
  /**
   * Targets of the only use case with streams. With none or several, the targets of the filtered use case, or of the
   * site's default one.
   */
  targets: UseCaseTargets;
  throughput: Throughput;
  to: number;
  tpot: Quantiles;
  ttft: Quantiles;
  ttfv: Quantiles;
  /** Number of use cases with streams. Above 1, `targets` do not apply to all streams. */
  use_cases: number;
  verdict: Verdict;
  /** Streams with the provider's count of output tokens, of all streams. */
  with_usage: Ratio;
  /** Streams whose wait is within the p95 target of their own use case, out of those that have both. */
  within_p95_target: Ratio;
}

/** What became of the timings of a request. */
export interface Taken {
  /** Timings that are stored. Some wait for the report of their stream. */
  accepted: number;
  /** Why the first of them was refused. */
  first_refusal?: string | null;
  refused: number;
  /** Items that say nothing about a stream. */
  skipped: number;
}

/** Targets of one use case. `None` for a target that it does not have. */
export interface Targets {
  /** Share of eligible streams that end without an error. */
  availability?: number | null;
  /** Half of the streams end within this. */
  e2e_p50_ms?: number | null;
  /** 95 of 100 streams end within this. A slower stream is not within SLO. */
  e2e_p95_ms?: number | null;
  /** 99 of 100 streams end within this. */
  e2e_p99_ms?: number | null;
  /** Share of eligible streams within SLO. */
  goodput?: number | null;
  /** Streams that the service can serve at a time: a line in the chart of streams in flight. */
  in_flight_cap?: number | null;
  /** Share of eligible streams that arrive intact. */
  integrity?: number | null;
  /**
   * Longest time between two reads with generated text. With a longer one, a stream misses its pace and is not within
   * SLO.
   */
  longest_gap_ms?: number | null;
  /** Share of streams within the targets of time per output token and longest gap. */
  pace?: number | null;
  /** Share of streams that are within the p95 target. */
  speed?: number | null;
  /** Time per output token after the first. With a longer one, a stream misses its pace and is not within SLO. */
  tpot_ms?: number | null;
  /** Half of the streams show their first visible token within this. */
  ttft_p50_ms?: number | null;
  /** 95 of 100 streams show their first visible token within this. A slower stream is not within SLO. */
  ttft_p95_ms?: number | null;
  /** 99 of 100 streams show their first visible token within this. */
  ttft_p99_ms?: number | null;
}

/** Rates over a time. A token rate covers the streams whose provider counted tokens. It is absent if none did. */
export interface Throughput {
  input_tokens_per_second?: number | null;
  output_tokens_per_second?: number | null;
  /** Finalized streams. */
  requests_per_second: number;
}

/** A metric over time. */
export interface Timeseries {
  /**
   * Points of the comparison period, one per point of the range. Absent unless requested, and if streams of that period
   * are missing.
   */
  earlier?: TimeseriesPoint[] | null;
  from: number;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  metric: Metric;
  points: TimeseriesPoint[];
  relative_error: number;
  step_ms: number;
  /**
   * Targets of the only use case with streams. With none or several, the targets of the filtered use case, or of the
   * site's default one.
   */
  targets: UseCaseTargets;
  to: number;
  /** Number of use cases with streams. Above 1, `targets` do not apply to all streams. */
  use_cases: number;
}

/** One step of the range. It has its time alone if not all its streams are kept. */
export interface TimeseriesPoint {
  /** Streams slower than each of `reading_speeds`. Present for `output_rate`. */
  below_reading_speed?: BelowReadingSpeed[] | null;
  errors?: number;
  /** Mean number of streams in flight. */
  in_flight?: number;
  input_tokens_per_second?: number | null;
  /**
   * 95 % confidence intervals. Present if `n` is from 1 to 499, except for `inter_chunk_latency`, whose values within a
   * stream are not independent.
   */
  intervals?: Intervals | null;
  /** Percentiles with censored waits. Present for `ttft` and `ttfv`. */
  km_adjusted?: KmAdjusted | null;
  /** Number of values. */
  n?: number;
  output_tokens_per_second?: number | null;
  p10_output_tokens_per_second?: number | null;
  p1_output_tokens_per_second?: number | null;
  p50_ms?: number | null;
  p50_output_tokens_per_second?: number | null;
  p5_output_tokens_per_second?: number | null;
  p90_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
  /** Finalized streams. */
  requests_per_second?: number;
  streams?: number;
  timestamp_ms: number;
  /** Streams with the provider's count of output tokens. */
  with_usage?: number;
}

/** A stream without its fields: a client that has this revision needs no newer one. */
export interface UnchangedStream {
  id: string;
  /** Position in the page, from 0. */
  index: number;
  rev: number;
}

/** Output after the clients had left, of all sites and of each. */
export interface UnreadOutput {
  /** Streams whose backend says how they ended. */
  backend_ends: number;
  /** Those of them whose client left before the end. */
  client_gone: number;
  /** Those of them whose backend counted the tokens after that. */
  client_gone_counted: number;
  /**
   * Output tokens by the backend's count. Streams whose client left are included only if the tokens after that are
   * counted.
   */
  output_tokens: number;
  /** Share of the tokens that were generated after the client had left. Absent if no tokens are counted. */
  share?: number | null;
  /** Sites whose backend says how streams ended, by name. */
  sites: UnreadOutputOfSite[];
  /** Those of them that were generated after the client had left. */
  tokens_after_gone: number;
  /** Streams that their users ended, by the browser. */
  users_left: number;
}

export interface UnreadOutputOfSite {
  /** Streams whose backend says how they ended. */
  backend_ends: number;
  /** Those of them whose client left before the end. */
  client_gone: number;
  /** Those of them whose backend counted the tokens after that. */
  client_gone_counted: number;
  /**
   * Output tokens by the backend's count. Streams whose client left are included only if the tokens after that are
   * counted.
   */
  output_tokens: number;
  /** Share of the tokens that were generated after the client had left. Absent if no tokens are counted. */
  share?: number | null;
  site: string;
  /** Those of them that were generated after the client had left. */
  tokens_after_gone: number;
  /** Streams that their users ended, by the browser. */
  users_left: number;
}

export type Up = "both" | "latency" | "errors" | "neither";

/** The state of one use case of a site, as the first screen lists it. */
export interface UseCaseStatus {
  /**
   * Alerts that fire now, most urgent first. Always empty for a range in the past, and with a filter beyond site and
   * use case.
   */
  alerts: Alert[];
  availability: Ratio;
  goodput: Ratio;
  integrity: Ratio;
  /**
   * The objective whose budget has the smallest share left. Absent without objectives, and where alerts are not
   * evaluated.
   */
  least_budget?: BudgetLeft | null;
  level: VerdictLevel;
  /**
   * The wait that its targets are about: `ttfv`, or `e2e` if it has targets for the end alone. Without targets, `e2e`
   * if no stream has a visible token: a whole JSON response has only an end.
   */
  metric: string;
  /** Percentiles of the metric; all absent without a value of it. */
  p50_ms?: number | null;
  p90_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
  site: string;
  streams: number;
  /** Targets of the use case. */
  targets: Targets;
  use_case: string;
}

/** Targets of a use case. */
export interface UseCaseTargets {
  /** Share of eligible streams that end without an error. */
  availability?: number | null;
  /** Half of the streams end within this. */
  e2e_p50_ms?: number | null;
  /** 95 of 100 streams end within this. A slower stream is not within SLO. */
  e2e_p95_ms?: number | null;
  /** 99 of 100 streams end within this. */
  e2e_p99_ms?: number | null;
  /** Share of eligible streams within SLO. */
  goodput?: number | null;
  /** Streams that the service can serve at a time: a line in the chart of streams in flight. */
  in_flight_cap?: number | null;
  /** Share of eligible streams that arrive intact. */
  integrity?: number | null;
  /**
   * Longest time between two reads with generated text. With a longer one, a stream misses its pace and is not within
   * SLO.
   */
  longest_gap_ms?: number | null;
  /** Share of streams within the targets of time per output token and longest gap. */
  pace?: number | null;
  /** Share of streams that are within the p95 target. */
  speed?: number | null;
  /** Time per output token after the first. With a longer one, a stream misses its pace and is not within SLO. */
  tpot_ms?: number | null;
  /** Half of the streams show their first visible token within this. */
  ttft_p50_ms?: number | null;
  /** 95 of 100 streams show their first visible token within this. A slower stream is not within SLO. */
  ttft_p95_ms?: number | null;
  /** 99 of 100 streams show their first visible token within this. */
  ttft_p99_ms?: number | null;
  use_case: string;
}

/** The summary at the top of the dashboard. */
export interface Verdict {
  /** What most of the bad streams have in common. Absent if no target is missed. */
  cause?: MainCause | null;
  level: VerdictLevel;
  /** First minute in which bad streams became more frequent. Absent if they were so in the whole range. */
  since_ms?: number | null;
  /** Site that the text is about. Absent without streams. */
  site?: string | null;
  text: string;
  /** End of the last minute in which they were. Absent if they still are. */
  until_ms?: number | null;
  /** Use case that the text is about. Absent without streams. */
  use_case?: string | null;
}

export type VerdictLevel = "none" | "good" | "warn" | "bad";

/** Visits of a range. */
export interface Visits {
  from: number;
  /**
   * Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended
   * before this time are not all counted.
   */
  kept_since_ms?: number | null;
  /** 95 % confidence interval of `share`. */
  lower?: number | null;
  /** Absent without visits. */
  share?: number | null;
  /** Streams whose tab sent a number. */
  streams: number;
  to: number;
  upper?: number | null;
  /** Visits with such a stream. A tab counts once for each site and day (UTC). */
  visits: number;
  /** Visits with at least one eligible stream that was not within SLO. */
  with_bad_stream: number;
}

export type WaitMetric = "ttfv" | "ttft";

/** Response of each route. */
export interface Responses {
  "readyz": Ready;
  "v1/abandonment": Abandonment;
  "v1/accounting": Accounting;
  "v1/alerts": Alerts;
  "v1/breakdown": Breakdown;
  "v1/compare": Comparison;
  "v1/engines": Engines;
  "v1/explain": Explanation;
  "v1/heatmap": Heatmap;
  "v1/histogram": Histogram;
  "v1/integrity": Integrity;
  "v1/live": Live;
  "v1/markers": Markers;
  "v1/phases": Phases;
  "v1/refusals": Refusals;
  "v1/releases": Releases;
  "v1/server-layers": ServerLayers;
  "v1/session": Session;
  "v1/slo": Slo;
  "v1/streams": StreamPage;
  "v1/streams/{id}": StreamReport;
  "v1/summary": Summary;
  "v1/timeseries": Timeseries;
  "v1/visits": Visits;
}
