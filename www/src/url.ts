/** Reads the view from the query string and writes it back. Unknown values fall back to the defaults. */
import type { Dimension, Filters, Outcome, Range, SampleKind } from "./api/api-types";
import { DIMENSIONS } from "./api/dimensions";
import type { Metric } from "./api/metrics";
import { DURATION_METRICS } from "./metric";

export const RANGES: readonly Range[] = ["15m", "1h", "6h", "24h", "7d", "30d"];
const HOUR = 3_600_000;
export const RANGE_MS: Record<Range, number> = {
  "15m": HOUR / 4,
  "1h": HOUR,
  "6h": 6 * HOUR,
  "24h": 24 * HOUR,
  "7d": 168 * HOUR,
  "30d": 720 * HOUR,
};
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

export const SAMPLES: readonly SampleKind[] = ["slowest", "failed", "uniform"];

/** Chart of the metric over time. */
export type ChartType = "lines" | "heatmap";
export const CHART_TYPES: readonly ChartType[] = ["lines", "heatmap"];

export interface View {
  range: Range;
  filters: Filters;
  metric: Metric;
  chartType: ChartType;
  /** Dimension of the breakdown. */
  by: Dimension;
  /** Shows all values, not only those with the most streams. */
  showsAllGroups: boolean;
  outcome: Outcome | null;
  /** Sample to list; `null` for the newest streams. */
  sample: SampleKind | null;
  stream: string | null;
}

export const DEFAULT_VIEW: View = {
  range: "1h",
  filters: {},
  metric: "ttfv",
  chartType: "lines",
  by: "model",
  showsAllGroups: false,
  outcome: null,
  sample: null,
  stream: null,
};

export function readView(search: string): View {
  const query = new URLSearchParams(search);
  const filters: Filters = {};
  for (const dimension of DIMENSIONS) {
    const value = query.get(dimension);
    if (value) filters[dimension] = value;
  }
  return {
    range: oneOf(RANGES, query.get("range")) ?? DEFAULT_VIEW.range,
    filters,
    metric: oneOf(DURATION_METRICS, query.get("metric")) ?? DEFAULT_VIEW.metric,
    chartType: oneOf(CHART_TYPES, query.get("drawing")) ?? DEFAULT_VIEW.chartType,
    by: oneOf(DIMENSIONS, query.get("by")) ?? DEFAULT_VIEW.by,
    showsAllGroups: query.get("rows") === "all",
    outcome: oneOf(OUTCOMES, query.get("outcome")),
    sample: oneOf(SAMPLES, query.get("sample")),
    stream: query.get("stream") || null,
  };
}

/** The differences from the defaults as a query string with its `?`, or an empty string. */
export function writeView(view: View): string {
  const query = new URLSearchParams();
  if (view.range !== DEFAULT_VIEW.range) query.set("range", view.range);
  for (const dimension of DIMENSIONS) {
    const value = view.filters[dimension];
    if (value) query.set(dimension, value);
  }
  if (view.metric !== DEFAULT_VIEW.metric) query.set("metric", view.metric);
  if (view.chartType !== DEFAULT_VIEW.chartType) query.set("drawing", view.chartType);
  if (view.by !== DEFAULT_VIEW.by) query.set("by", view.by);
  if (view.showsAllGroups) query.set("rows", "all");
  if (view.outcome) query.set("outcome", view.outcome);
  if (view.sample) query.set("sample", view.sample);
  if (view.stream) query.set("stream", view.stream);
  const text = query.toString();
  return text ? `?${text}` : "";
}

function oneOf<Word extends string>(known: readonly Word[], value: string | null): Word | null {
  return known.find((word) => word === value) ?? null;
}
