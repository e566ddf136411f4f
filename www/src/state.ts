/** What the screen shows, as signals. The address bar holds what was chosen; `feed.ts` fills in what was answered. */
import { computed, signal } from "@preact/signals";

import type {
  Abandonment,
  Accounting,
  Breakdown,
  Budgets,
  Compare,
  Dimension,
  Heatmap,
  HistogramAnswer,
  Live,
  Metric,
  Outcome,
  Range,
  SampleKind,
  StreamReport,
  Summary,
  Timeseries,
} from "./api/api-types";
import { LOADING, type AsyncResult, type Result } from "./api/async-result";
import { isValidToken } from "./api/token";
import { nextCursorOf, rowsOf, type StreamList } from "./polling/stream-list";
import { readView, writeView, type ChartType, type View } from "./url";

/** `loading` until the first answer, `locked` when a token is wanted, `failed` while there is no good answer. */
export type Connection = { kind: "loading" | "open" | "locked" } | { kind: "failed"; message: string };

/** One coherent set of answers to the same question. */
export interface DashboardData {
  summary: Summary;
  timeseries: Timeseries;
  histogram: HistogramAnswer;
  abandonment: Result<Abandonment>;
  compare: Result<Compare>;
  breakdown: Result<Breakdown>;
  /** Asked for while it is looked at. */
  heatmap: Result<Heatmap> | null;
  /** What was asked. */
  view: View;
  /** When they arrived, by this browser's clock. */
  loadedAt: number;
}

/** The newest streams outside the chosen range: with its filters, and of all. */
export interface OutsideRange {
  newest: StreamReport | null;
  newestOfAll: StreamReport | null;
  /** For the line that a page needs, where there is no stream at all; `null` where the collector names no key. */
  siteKey: string | null;
}

export const view = signal<View>(readView(location.search));
export const connection = signal<Connection>({ kind: "loading" });
export const dashboardData = signal<DashboardData | null>(null);
export const streamList = signal<StreamList | null>(null);
export const rows = computed(() => (streamList.value === null ? [] : rowsOf(streamList.value)));
export const nextCursor = computed(() => streamList.value && nextCursorOf(streamList.value));
/** Asked only when the range is empty. */
export const outsideRange = signal<OutsideRange | null>(null);
export const busy = signal(false);
export const paused = signal(false);

// Stands before the signal that reads it: a `const` further down is not there yet.
const TOKEN_KEY = "llm-rum-token";
export const token = signal<string | null>(readToken());

/** Of the use cases that the filters leave. */
export const budgets = signal<AsyncResult<Budgets>>(LOADING);
export const accounting = signal<AsyncResult<Accounting>>(LOADING);

/** The one stream that is open, or why it cannot be shown; `mayArrive` while its report may be on its way. */
export type OpenedStream = { report: StreamReport } | { missing: string; mayArrive: boolean } | null;
export const opened = signal<OpenedStream>(null);

/** `live` while the collector tells what happens now; `away` while it does not and is asked again. */
export type LiveState = { kind: "joining" | "away" | "paused" } | { kind: "live"; now: Live };
export const live = signal<LiveState>({ kind: "joining" });

export type Screen = "loading" | "empty" | "ready" | "error" | "locked";

export const hasData = computed(() => {
  const summary = dashboardData.value?.summary;
  return summary !== undefined && (summary.streams > 0 || summary.open > 0 || rows.value.length > 0);
});

/** Whether what is on screen answers an earlier question than the view now asks. */
export const isStale = computed(() => {
  const loaded = dashboardData.value?.view;
  if (loaded === undefined) return false;
  const now = view.value;
  return writeView({ ...loaded, stream: null }) !== writeView({ ...now, stream: null });
});

/** Whether the answer to what the view asks is on its way. During an outage it is not: what is shown stays readable. */
export const isViewLoading = computed(() => isStale.value && busy.value && connection.value.kind !== "failed");

export const screen = computed<Screen>(() => {
  const { kind } = connection.value;
  if (kind === "locked") return "locked";
  if (kind === "failed") return "error";
  if (dashboardData.value === null) return "loading";
  return hasData.value ? "ready" : "empty";
});

/** Changes what is shown and leaves a step for the back button. */
export function navigate(change: Partial<View>): void {
  const next = { ...view.value, ...change };
  const address = writeView(next);
  if (address !== writeView(view.value)) history.pushState(null, "", address || location.pathname);
  view.value = next;
}

export const setRange = (range: Range) => navigate({ range });
export const setMetric = (metric: Metric) => navigate({ metric });
export const setChartType = (chartType: ChartType) => navigate({ chartType });
export const setGroupBy = (by: Dimension) => navigate({ by, showsAllGroups: false });
export const setShowsAllGroups = (showsAllGroups: boolean) => navigate({ showsAllGroups });
export const setOutcome = (outcome: Outcome | null) => navigate({ outcome });
export const setSample = (sample: SampleKind | null) => navigate({ sample });
export const openStream = (stream: string) => navigate({ stream });
export const closeStream = () => navigate({ stream: null });

/** Narrows to one value of a dimension, or widens again with `null`. A stream's detail closes to show the result. */
export function setFilter(dimension: Dimension, value: string | null): void {
  const filters = { ...view.value.filters };
  if (value === null) delete filters[dimension];
  else filters[dimension] = value;
  navigate({ filters, stream: null });
}

export function followHistory(): void {
  addEventListener("popstate", () => {
    view.value = readView(location.search);
  });
}

export function storeToken(value: string | null): void {
  token.value = value;
  try {
    if (value === null) sessionStorage.removeItem(TOKEN_KEY);
    else sessionStorage.setItem(TOKEN_KEY, value);
  } catch {
    // Storage may be forbidden: the token then lasts as long as the page.
  }
}

function readToken(): string | null {
  try {
    const stored = sessionStorage.getItem(TOKEN_KEY);
    return stored !== null && isValidToken(stored) ? stored : null;
  } catch {
    return null;
  }
}
