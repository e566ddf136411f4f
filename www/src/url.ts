/** The address bar's query string in, what the screen shows out, and back. Unknown values fall to the defaults. */
import type { Dimension, Filters, Metric, Outcome, Range, SampleKind } from "./api/api-types";

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
export const METRICS: readonly Metric[] = ["ttfv", "ttft", "ttfp", "server_ttft", "overhead", "e2e", "tpot", "gap"];
export const DIMENSIONS: readonly Dimension[] = ["site", "use_case", "provider", "model", "country"];
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

/** How the metric is drawn over time. */
export type Drawing = "lines" | "heatmap";
export const DRAWINGS: readonly Drawing[] = ["lines", "heatmap"];

export interface View {
  range: Range;
  filters: Filters;
  metric: Metric;
  drawing: Drawing;
  /** What the streams are broken down by. */
  by: Dimension;
  /** All values of it, not only those with the most streams. */
  isLong: boolean;
  outcome: Outcome | null;
  /** Which streams are listed: those kept for long, or `null` for the newest. */
  sample: SampleKind | null;
  stream: string | null;
}

export const DEFAULT_VIEW: View = {
  range: "1h",
  filters: {},
  metric: "ttfv",
  drawing: "lines",
  by: "model",
  isLong: false,
  outcome: null,
  sample: null,
  stream: null,
};

export function readView(query: string): View {
  const given = new URLSearchParams(query);
  const filters: Filters = {};
  for (const dimension of DIMENSIONS) {
    const value = given.get(dimension);
    if (value) filters[dimension] = value;
  }
  return {
    range: oneOf(RANGES, given.get("range")) ?? DEFAULT_VIEW.range,
    filters,
    metric: oneOf(METRICS, given.get("metric")) ?? DEFAULT_VIEW.metric,
    drawing: oneOf(DRAWINGS, given.get("drawing")) ?? DEFAULT_VIEW.drawing,
    by: oneOf(DIMENSIONS, given.get("by")) ?? DEFAULT_VIEW.by,
    isLong: given.get("rows") === "all",
    outcome: oneOf(OUTCOMES, given.get("outcome")),
    sample: oneOf(SAMPLES, given.get("sample")),
    stream: given.get("stream") || null,
  };
}

/** What differs from the defaults, as a query string with its `?`, or nothing. */
export function writeView(view: View): string {
  const query = new URLSearchParams();
  if (view.range !== DEFAULT_VIEW.range) query.set("range", view.range);
  for (const dimension of DIMENSIONS) {
    const value = view.filters[dimension];
    if (value) query.set(dimension, value);
  }
  if (view.metric !== DEFAULT_VIEW.metric) query.set("metric", view.metric);
  if (view.drawing !== DEFAULT_VIEW.drawing) query.set("drawing", view.drawing);
  if (view.by !== DEFAULT_VIEW.by) query.set("by", view.by);
  if (view.isLong) query.set("rows", "all");
  if (view.outcome) query.set("outcome", view.outcome);
  if (view.sample) query.set("sample", view.sample);
  if (view.stream) query.set("stream", view.stream);
  const text = query.toString();
  return text ? `?${text}` : "";
}

function oneOf<Word extends string>(known: readonly Word[], value: string | null): Word | null {
  return known.find((word) => word === value) ?? null;
}
