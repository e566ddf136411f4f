/** The state of the screen as signals. `url.ts` holds the view, `polling/` fills in the responses. */
import { computed, signal } from "@preact/signals";

import type {
  Abandonment,
  Accounting,
  Breakdown,
  Budgets,
  Compare,
  Dimension,
  Filters,
  Heatmap,
  HistogramAnswer,
  Live,
  Refusal,
  SampleKind,
  Session,
  StreamReport,
  Summary,
  Timeseries,
} from "./api/api-types";
import type {
  Affected,
  Engines,
  Explanation,
  Markers,
  Phases,
  Releases,
  ServerLayers,
  ServerSide,
  Timeseries as SpeedSeries,
  Visits,
} from "./api/schemas";
import { LOADING, type AsyncResult, type Result } from "./api/async-result";
import type { Metric } from "./api/metrics";
import { fixedRange, lengthMs, type FixedRange, type Range } from "./api/range";
import { DEFAULT_COLUMNS, toggledColumn, type StreamColumn } from "./api/stream-columns";
import { nextCursorOf, rowsOf, type StreamList } from "./api/stream-list";
import { leadMetric } from "./metric";
import { DEFAULT_VIEW, readView, writeView, type ChartType, type CompareTo, type View } from "./url";

/** `loading` until the first response, `locked` while the collector wants a token, `failed` while requests fail. */
export type Connection = { kind: "loading" | "open" | "locked" } | { kind: "failed"; message: string };

/** Responses to the same view. */
export interface DashboardData {
  summary: Summary;
  /** Figures of the comparison period. Loaded only if the view names one. */
  earlier: Result<Summary> | null;
  timeseries: Timeseries;
  histogram: HistogramAnswer;
  abandonment: Result<Abandonment>;
  compare: Result<Compare>;
  /** Output tokens per second over time. */
  speed: Result<SpeedSeries>;
  breakdown: Result<Breakdown>;
  /** Metric of the charts. */
  metric: Metric;
  /** Loaded only while the heatmap is shown. */
  heatmap: Result<Heatmap> | null;
  /** The view of the responses. */
  view: View;
  /** Time of arrival by this browser's clock. */
  loadedAt: number;
}

/** The newest streams outside the range: with the filters, and without them. */
export interface OutsideRange {
  newest: StreamReport | null;
  newestOfAll: StreamReport | null;
  /** The last refused senders, newest first. Empty if the token is limited to sites. */
  refusals: Refusal[];
  /** For the script tag while there is no stream; `null` if the collector names no key. */
  siteKey: string | null;
}

export const view = signal<View>(readView(location.search));
export const connection = signal<Connection>({ kind: "loading" });
export const dashboardData = signal<DashboardData | null>(null);
export const streamList = signal<StreamList | null>(null);
export const rows = computed(() => (streamList.value === null ? [] : rowsOf(streamList.value)));
export const nextCursor = computed(() => streamList.value && nextCursorOf(streamList.value));
/** Loaded only when the range is empty. */
export const outsideRange = signal<OutsideRange | null>(null);
export const busy = signal(false);
export const paused = signal(false);

/** `null` until the collector has said who is signed in. */
export const session = signal<Session | null>(null);

/** Error budgets within the filters. */
export const budgets = signal<AsyncResult<Budgets>>(LOADING);
/** Which streams the panel explains, and what they have in common. */
export const explainedOf = signal<Affected>("slow");
/** Whose time the browser's is compared with, and how many streams have it. */
export const comparedSide = signal<ServerSide>("in_band");
export const serverLayers = signal<AsyncResult<ServerLayers>>(LOADING);
/** Inference engines that the collector scrapes, and their figures in the range. */
export const engines = signal<AsyncResult<Engines>>(LOADING);
export const releases = signal<AsyncResult<Releases>>(LOADING);
/** Visits of the range. They have none if no page loads the extension `visits`. */
export const visits = signal<AsyncResult<Visits>>(LOADING);
/** Markers of the range, without releases. */
export const postedMarkers = signal<AsyncResult<Markers>>(LOADING);
export const phases = signal<AsyncResult<Phases>>(LOADING);
/** How the phases of the wait are split: not, over time, or by a dimension. */
export const phasesBy = signal<string>("");
export const explanation = signal<AsyncResult<Explanation>>(LOADING);
export const accounting = signal<AsyncResult<Accounting>>(LOADING);

/** The open stream, or why it is missing. `mayArrive` while its report can still arrive. */
export type OpenedStream = { report: StreamReport } | { missing: string; mayArrive: boolean } | null;
export const opened = signal<OpenedStream>(null);

/** `live` while updates arrive, `away` while the client reconnects. */
export type LiveState = { kind: "joining" | "away" | "paused" } | { kind: "live"; now: Live };
export const live = signal<LiveState>({ kind: "joining" });

export type Screen = "loading" | "empty" | "ready" | "error" | "locked";

export const hasData = computed(() => {
  const summary = dashboardData.value?.summary;
  return summary !== undefined && (summary.streams > 0 || summary.open > 0 || rows.value.length > 0);
});

/** Whether the screen shows data of an earlier view. */
export const isStale = computed(() => {
  const loaded = dashboardData.value?.view;
  if (loaded === undefined) return false;
  // These two choose from data that is on screen.
  const own = { stream: null, columns: null };
  return writeView({ ...loaded, ...own }) !== writeView({ ...view.value, ...own });
});

/** Whether data of the current view is loading. During an outage the old data stays readable. */
export const isViewLoading = computed(() => isStale.value && busy.value && connection.value.kind !== "failed");

export const screen = computed<Screen>(() => {
  const { kind } = connection.value;
  if (kind === "locked") return "locked";
  if (kind === "failed") return "error";
  if (dashboardData.value === null) return "loading";
  return hasData.value ? "ready" : "empty";
});

/** Changes the view and adds an entry to the browser history. */
export function navigate(change: Partial<View>): void {
  const next = { ...view.value, ...change };
  const address = writeView(next);
  if (address !== writeView(view.value)) history.pushState(null, "", address || location.pathname);
  view.value = next;
}

export const setRange = (range: Range) => navigate({ range });

/** Shows only these times. */
export function zoomTo(from: number, to: number): void {
  const range = fixedRange(from, to);
  if (range) setRange(range);
}

/** The times of the data on screen. */
export function shownTimes(): FixedRange {
  const summary = dashboardData.peek()?.summary;
  const now = Date.now();
  return summary ? { from: summary.from, to: summary.to } : { from: now - lengthMs(DEFAULT_VIEW.range), to: now };
}

/** The metric that the charts show if the address names none. */
export const defaultMetric = computed<Metric>(() => {
  const summary = dashboardData.value?.summary;
  return summary ? leadMetric(summary) : "ttfv";
});

export const setMetric = (metric: Metric) => navigate({ metric: metric === defaultMetric.peek() ? null : metric });
export const setChartType = (chartType: ChartType) => navigate({ chartType });
export const setCompareTo = (compareTo: CompareTo | null) => navigate({ compareTo });
export const setGroupBy = (by: Dimension) => navigate({ by, showsAllGroups: false });
export const setShowsAllGroups = (showsAllGroups: boolean) => navigate({ showsAllGroups });
export const setSample = (sample: SampleKind | null) => navigate({ sample });
export const toggleColumn = (column: StreamColumn) =>
  navigate({ columns: toggledColumn(view.value.columns ?? DEFAULT_COLUMNS, column) });
export const resetColumns = () => navigate({ columns: null });
export const openStream = (stream: string) => navigate({ stream });
export const closeStream = () => navigate({ stream: null });

/** Sets or removes a filter. Closes the stream detail to show the result. */
export const setFilter = (dimension: Dimension, value: string) => setFilters({ [dimension]: [value] });

/** Whether a filter selects exactly these values. */
export function isOnly(dimension: Dimension, values: readonly string[]): boolean {
  const set = view.value.filters[dimension] ?? [];
  return set.length === values.length && values.every((value) => set.includes(value));
}

/** Selects exactly these values, or removes the filter that does. */
export const toggleOnly = (dimension: Dimension, values: readonly string[]) =>
  setFilters({ [dimension]: isOnly(dimension, values) ? [] : [...values] });

/** Sets some filters at once; one without values is removed. */
export function setFilters(change: Filters): void {
  const set = Object.entries({ ...view.value.filters, ...change }).filter(([, values]) => values?.length);
  navigate({ filters: Object.fromEntries(set), stream: null });
}

export function followHistory(): void {
  addEventListener("popstate", () => {
    view.value = readView(location.search);
  });
}
