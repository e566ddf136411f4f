/** Types of the API as the screen uses them. `schemas.ts` is generated from the collector's OpenAPI document. */
import type { Dimension } from "./dimensions";
import type { Quantiles, Slo, StreamReport, UseCaseTargets } from "./schemas";
import type * as Schemas from "./schemas";

export type {
  Abandonment,
  AbandonmentPoint,
  Accounting,
  AlertSeverity,
  Budget,
  Comparison as Compare,
  Group,
  Interval,
  Live,
  Objective as ObjectiveName,
  Quantiles,
  RefusedSender as Refusal,
  Session,
  Slo,
  StreamPage,
  StreamReport,
  Summary,
  TimeseriesPoint as SeriesPoint,
  UnreadOutput,
  VerdictLevel,
} from "./schemas";
export type { Dimension } from "./dimensions";
export type { Range } from "./range";

/** Values of each dimension as the API takes them: any of them, or all others if each begins with `!`. */
export type Filters = Partial<Record<Dimension, readonly string[]>>;
export type Outcome = StreamReport["outcome"];
/** Samples that the collector keeps longer than the newest streams. */
export type SampleKind = "slowest" | "failed" | "uniform";

/** A target is absent where the use case has none. Empty if the streams in view have different targets. */
export type Targets = Partial<UseCaseTargets>;
/** A bucket of a duration. The charts show no rates. */
export type Bucket = Extract<Schemas.Bucket, { lower_ms: number }>;
/** A response about a duration. */
export type OfDurations<T> = T extends Schemas.Bucket
  ? Extract<T, Bucket>
  : T extends object
    ? { [Key in keyof T]: OfDurations<T[Key]> }
    : T;
/** A response whose targets the screen replaces by those of the streams in view. */
type WithTargets<Answer> = Omit<Answer, "targets" | "use_cases"> & { targets: Targets };
export type Timeseries = WithTargets<Schemas.Timeseries>;
export type HistogramAnswer = WithTargets<OfDurations<Schemas.Histogram>>;
export type Heatmap = WithTargets<OfDurations<Schemas.Heatmap>>;
export type Breakdown = WithTargets<Schemas.Breakdown>;

/** Percentiles without the error bound, which the whole response has once. */
export type Percentiles = Omit<Quantiles, "relative_error">;

export type ServerTiming = NonNullable<StreamReport["server"]>;
export type WireHistogram = NonNullable<StreamReport["gaps"]>;
export type PageLifecycle = NonNullable<StreamReport["page_lifecycle"]>;
export type ProbeOverhead = NonNullable<StreamReport["probe_overhead"]>;

/** Error budgets of the use cases with the most streams; `omitted` counts the other use cases. */
export interface Budgets {
  slos: Slo[];
  omitted: number;
}
