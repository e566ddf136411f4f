/** Reads the view from the query string and writes it back. Unknown values fall back to the defaults. */
import type { Dimension, Filters, Outcome, SampleKind } from "./api/api-types";
import type { Metric } from "./api/metrics";
import { isAttribute } from "./api/attributes";
import { DEFECTS } from "./api/defects";
import { DIMENSIONS } from "./api/dimensions";
import { isFixed, RANGES, rangeQuery, readFixedRange, type Range } from "./api/range";
import { columnsText, readColumns, type StreamColumn } from "./api/stream-columns";
import { filteredDimensions } from "./filters";
import { DURATION_METRICS } from "./metric";

export const OUTCOMES: readonly Outcome[] = [
  "complete",
  "truncated",
  "provider_error",
  "http_error",
  "network_error",
  "timeout",
  "empty",
  "aborted",
  "abandoned",
  "unobserved",
];

/** The values of dimensions whose filter takes only certain ones. */
const FILTER_WORDS: Partial<Record<Dimension, readonly string[]>> = { outcome: OUTCOMES, defect: [...DEFECTS, "none"] };

export const SAMPLES: readonly SampleKind[] = ["slowest", "failed", "uniform"];

/** Chart of the metric over time. */
export type ChartType = "lines" | "heatmap";
export const CHART_TYPES: readonly ChartType[] = ["lines", "heatmap"];

/** Period that the chart over time draws behind its range. */
export type CompareTo = "previous" | "day" | "week";
export const COMPARISONS: readonly CompareTo[] = ["previous", "day", "week"];

export interface View {
  range: Range;
  filters: Filters;
  /** `null` for the wait that the use cases in view have targets for. */
  metric: Metric | null;
  chartType: ChartType;
  compareTo: CompareTo | null;
  /** Dimension of the breakdown. */
  by: Dimension;
  /** Shows all values, not only those with the most streams. */
  showsAllGroups: boolean;
  /** Sample to list; `null` for the newest streams. */
  sample: SampleKind | null;
  /** Columns of the list; `null` for the default ones. */
  columns: readonly StreamColumn[] | null;
  stream: string | null;
}

export const DEFAULT_VIEW: View = {
  range: "1h",
  filters: {},
  metric: null,
  chartType: "lines",
  compareTo: null,
  by: "model",
  showsAllGroups: false,
  sample: null,
  columns: null,
  stream: null,
};

export function readView(search: string): View {
  const query = new URLSearchParams(search);
  const filters: Filters = {};
  for (const name of query.keys()) {
    const dimension = readDimension(name);
    if (!dimension) continue;
    const words = FILTER_WORDS[dimension];
    const isValue = (value: string) => value !== "" && (words?.includes(value.replace(/^!/, "")) ?? true);
    const values = query.getAll(name).filter(isValue);
    if (values.length > 0) filters[dimension] = values;
  }
  return {
    range:
      readFixedRange(query.get("from"), query.get("to")) ?? oneOf(RANGES, query.get("range")) ?? DEFAULT_VIEW.range,
    filters,
    metric: oneOf(DURATION_METRICS, query.get("metric")),
    chartType: oneOf(CHART_TYPES, query.get("drawing")) ?? DEFAULT_VIEW.chartType,
    compareTo: oneOf(COMPARISONS, query.get("compare_to")),
    by: readDimension(query.get("by")) ?? DEFAULT_VIEW.by,
    showsAllGroups: query.get("rows") === "all",
    sample: oneOf(SAMPLES, query.get("sample")),
    columns: readColumns(query.get("columns")),
    stream: query.get("stream") || null,
  };
}

/** The differences from the defaults as a query string with its `?`, or an empty string. */
export function writeView(view: View): string {
  const isDefaultRange = !isFixed(view.range) && view.range === DEFAULT_VIEW.range;
  const query = new URLSearchParams(isDefaultRange ? {} : rangeQuery(view.range));
  for (const dimension of filteredDimensions(view.filters)) {
    for (const value of view.filters[dimension] ?? []) query.append(dimension, value);
  }
  if (view.metric) query.set("metric", view.metric);
  if (view.chartType !== DEFAULT_VIEW.chartType) query.set("drawing", view.chartType);
  if (view.compareTo) query.set("compare_to", view.compareTo);
  if (view.by !== DEFAULT_VIEW.by) query.set("by", view.by);
  if (view.showsAllGroups) query.set("rows", "all");
  if (view.sample) query.set("sample", view.sample);
  if (view.columns) query.set("columns", columnsText(view.columns));
  if (view.stream) query.set("stream", view.stream);
  const text = query.toString();
  return text ? `?${text}` : "";
}

function readDimension(name: string | null): Dimension | null {
  return name && isAttribute(name) ? name : oneOf(DIMENSIONS, name);
}

function oneOf<Word extends string>(known: readonly Word[], value: string | null): Word | null {
  return known.find((word) => word === value) ?? null;
}
