/** What the report of a stream tells, by its name in the API: the columns that the stream list can show. */
import { isAttribute, keyOf, offeredAttributes } from "./attributes";
import type { Attribute, Dimension } from "./dimensions";
import type { Metric } from "./metrics";
import type { StreamReport } from "./schemas";

type ValueOf<Value> = (report: StreamReport) => Value | undefined;

/** The model name that the collector counts the stream under. */
export const modelOf = ({ model, response_model }: StreamReport): string => model ?? response_model ?? "unknown";

/** Dimensions whose value is in the report. The collector derives the others, such as the size class of a prompt. */
export const DIMENSION_VALUES = {
  model: modelOf,
  provider: ({ provider }) => provider,
  response_model: ({ response_model }) => response_model,
  site: ({ site }) => site,
  use_case: ({ use_case }) => use_case,
  country: ({ country }) => (country === "unknown" ? undefined : country),
  release: ({ page }) => page?.release,
  variant: ({ variant }) => variant,
  route: ({ page }) => page?.route,
  browser: ({ page }) => page?.browser,
  browser_version: ({ page }) => page?.browser_version,
  os: ({ page }) => page?.os,
  device: ({ page }) => page?.device,
  connection: ({ page }) => page?.connection,
  protocol: ({ page_lifecycle }) => page_lifecycle?.protocol,
  visibility: ({ page }) => page?.visibility,
  dialect: ({ dialect }) => dialect,
  finish_reason: ({ finish_reason }) => finish_reason,
  server_source: ({ server }) => server?.source,
} satisfies Partial<Record<Dimension, ValueOf<string>>>;

/** Metrics whose value is in the report. Of the inter-chunk latency it is the longest. */
export const METRIC_VALUES = {
  ttfv: ({ ttfv_ms }) => ttfv_ms,
  ttft: ({ ttft_ms }) => ttft_ms,
  ttfp: ({ ttfp_ms }) => ttfp_ms,
  server_ttft: ({ server }) => server?.ttft_ms,
  server_queue: ({ server }) => server?.queue_ms,
  e2e: ({ e2e_ms }) => e2e_ms,
  tpot: ({ tpot_ms }) => tpot_ms,
  inter_chunk_latency: ({ longest_gap_ms }) => longest_gap_ms,
} satisfies Partial<Record<Metric, ValueOf<number>>>;

export const COUNT_VALUES = {
  chunks: ({ chunks }) => chunks,
  bytes: ({ bytes }) => bytes,
  input_tokens: ({ input_tokens }) => input_tokens,
  cached_tokens: ({ cached_tokens }) => cached_tokens,
  output_tokens: ({ output_tokens }) => output_tokens,
  reasoning_tokens: ({ reasoning_tokens }) => reasoning_tokens,
  status: ({ status }) => status,
} satisfies Partial<Record<keyof StreamReport, ValueOf<number>>>;

export type ReportedDimension = keyof typeof DIMENSION_VALUES | Attribute;
export type ReportedMetric = keyof typeof METRIC_VALUES;
export type ReportedCount = keyof typeof COUNT_VALUES;
export type StreamColumn = ReportedDimension | ReportedMetric | ReportedCount | "outcome" | "defects";

export function dimensionValue(report: StreamReport, dimension: ReportedDimension): string | undefined {
  return isAttribute(dimension) ? report.attributes?.[keyOf(dimension)] : DIMENSION_VALUES[dimension](report);
}

/** What tells a kind of stream from the others: the app's part, its model, and the user's browser. */
const KIND = ["site", "use_case", "model", "provider", "release", "route", "browser"] as const;

/** Filters that select the streams of the same kind. */
export function filtersOfKind(report: StreamReport): Partial<Record<Dimension, string[]>> {
  return Object.fromEntries(KIND.map((name) => [name, [dimensionValue(report, name) ?? "unknown"]]));
}

const namesOf = <Name extends string>(values: Record<Name, unknown>) => Object.keys(values) as Name[];

/** In the order of the list. The time of a stream is always in front of them. */
export const streamColumns = (attributes: readonly Attribute[]): StreamColumn[] => [
  ...namesOf(DIMENSION_VALUES),
  ...attributes,
  "outcome",
  ...namesOf(METRIC_VALUES),
  ...namesOf(COUNT_VALUES),
  "defects",
];

const inOrder = (columns: readonly string[]): StreamColumn[] =>
  streamColumns(offeredAttributes([], columns)).filter((column) => columns.includes(column));

/** In the same order. */
export const DEFAULT_COLUMNS: readonly StreamColumn[] = [
  "model",
  "dialect",
  "outcome",
  "ttfv",
  "server_ttft",
  "e2e",
  "inter_chunk_latency",
  "chunks",
  "output_tokens",
  "defects",
];

/** The columns with this one added or removed; `null` for the default ones. */
export function toggledColumn(shown: readonly StreamColumn[], column: StreamColumn): StreamColumn[] | null {
  const next = inOrder(shown.includes(column) ? shown.filter((one) => one !== column) : [...shown, column]);
  return next.join() === DEFAULT_COLUMNS.join() ? null : next;
}

/** Names of columns have dots. */
const SEPARATOR = "-";

export const columnsText = (columns: readonly StreamColumn[]): string => columns.join(SEPARATOR);

/** `null` without a name of a column, except in the empty text, which stands for no column. */
export function readColumns(text: string | null): StreamColumn[] | null {
  const columns = inOrder(text?.split(SEPARATOR) ?? []);
  return columns.length > 0 || text === "" ? columns : null;
}
