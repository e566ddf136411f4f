/** Loads the dashboard's data every five seconds while the page is visible, and writes it into `state.ts`. */
import { batch, computed, effect } from "@preact/signals";

import type { Filters, StreamReport } from "../api/api-types";
import { toResult, type Result } from "../api/async-result";
import {
  ApiError,
  errorMessage,
  getAbandonment,
  getBreakdown,
  getCompare,
  getHeatmap,
  getHistogram,
  getNewest,
  getRefusals,
  getSession,
  getSiteKey,
  getStream,
  getStreams,
  getSummary,
  getTimeseries,
  signIn,
  signOut,
  type QueryWindow,
  type RequestOptions,
  type StreamQuery,
} from "../api/client";
import { isWaitMetric, leadMetric, targetsInView } from "../metric";
import {
  busy,
  comparedSide,
  connection,
  dashboardData,
  defaultMetric,
  nextCursor,
  opened,
  outsideRange,
  paused,
  rows,
  session,
  streamList,
  view,
  type OutsideRange,
} from "../state";
import type { View } from "../url";
import { stepFor } from "./resolution";
import { appendOlder, mergeLatest, mergeSamples } from "../api/stream-list";

export const REFRESH_MS = 5_000;
/** A link to a stream can be opened before its report is stored. */
const ARRIVAL_TIMEOUT_MS = 15_000;
/** Groups of the breakdown: the first request, and the collector's maximum. */
const FIRST_GROUPS = 20;
const ALL_GROUPS = 500;

let current: AbortController | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
/** Key of the rows on screen. Rows of another query are replaced, not merged. */
let shownKey = "";
let openedAt = 0;

export function startFeed(): void {
  const key = computed(() => {
    const { metric, chartType, compareTo, by, showsAllGroups } = view.value;
    return JSON.stringify([queryKey(view.value), metric, chartType, compareTo, by, showsAllGroups, comparedSide.value]);
  });
  const streamId = computed(() => view.value.stream);
  effect(() => {
    if (key.value) void refresh();
  });
  effect(() => {
    void openDetail(streamId.value);
  });
  effect(() => {
    if (!paused.value) schedule();
    else clearTimeout(timer);
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && !paused.peek()) void refresh();
  });
}

/** Loads the current view now. A request for an older view is aborted. */
export async function refresh(): Promise<void> {
  clearTimeout(timer);
  current?.abort();
  const controller = new AbortController();
  current = controller;
  busy.value = true;
  try {
    await load(view.peek(), { signal: controller.signal });
  } catch (error) {
    if (!controller.signal.aborted) reportFailure(error);
    // Cancels the other requests of the same load.
    controller.abort();
  } finally {
    if (current === controller) {
      current = null;
      busy.value = false;
      schedule();
    }
  }
}

/** Loads the page of older streams below the list. */
export async function loadOlder(): Promise<void> {
  const cursor = nextCursor.peek();
  if (cursor === null) return;
  const key = queryKey(view.peek());
  try {
    const page = await getStreams(
      queryWindow(view.peek()),
      { ...streamQuery(view.peek()), cursor },
      {},
    );
    const shown = streamList.peek();
    if (shown === null || key !== queryKey(view.peek())) return;
    // The list changed during the request: this page would leave a gap.
    if (cursor !== nextCursor.peek()) return loadOlder();
    streamList.value = appendOlder(shown, page);
  } catch (error) {
    reportFailure(error);
  }
}

/** Exchanges a token for a session and loads the dashboard. Returns why that failed, as a sentence. */
export async function login(token: string): Promise<string | null> {
  try {
    session.value = await signIn(token);
  } catch (error) {
    return error instanceof ApiError && error.code === "wrong_token" ? "Token rejected." : errorMessage(error);
  }
  connection.value = { kind: "loading" };
  void refresh();
  return null;
}

/** Ends the session. The page loads again, so that no data stays in its memory. */
export async function logout(): Promise<void> {
  try {
    await signOut();
    location.reload();
  } catch (error) {
    reportFailure(error);
  }
}

/** `lead` is the metric of the charts if the view names none, by the last summary. */
async function load(requested: View, options: RequestOptions, lead = defaultMetric.peek()): Promise<void> {
  const window = queryWindow(requested);
  const { by, compareTo } = requested;
  const metric = requested.metric ?? lead;
  const limit = requested.showsAllGroups ? ALL_GROUPS : FIRST_GROUPS;
  const [summary, finest, histogram, abandonment, breakdown, page] = await Promise.all([
    getSummary(window, compareTo, options),
    getTimeseries(window, { metric, compareTo }, options),
    getHistogram(window, metric, options),
    toResult(getAbandonment(window, isWaitMetric(metric) ? metric : "ttfv", options)),
    toResult(getBreakdown(window, { by, metric, limit }, options)),
    getStreams(window, streamQuery(requested), options),
  ]);
  // Other use cases are in view than before. The comparison keeps a second change from loading again and again.
  if (requested.metric === null && leadMetric(summary) !== lead && lead === defaultMetric.peek())
    return load(requested, options, leadMetric(summary));
  const step = stepFor(requested.range, finest);
  const { from, to } = summary.previous;
  const [earlier, timeseries, compare, speed, heatmap] = await Promise.all([
    compareTo ? toResult(getSummary({ ...window, range: { from, to } }, null, options)) : null,
    step * 1000 === finest.step_ms ? finest : getTimeseries(window, { metric, compareTo, step }, options),
    toResult(getCompare(window, { compareTo, step, layer: comparedSide.peek() }, options)),
    toResult(getTimeseries(window, { metric: "output_rate", compareTo, step }, options)),
    requested.chartType === "heatmap" ? toResult(getHeatmap(window, metric, step, options)) : null,
  ]);
  // An aborted request is not a failure.
  if (options.signal?.aborted) return;
  // The responses are from different moments. The summary decides which use cases are in view.
  const targets = targetsInView(summary);
  const withTargets = <Answer extends object>(one: Result<Answer>): Result<Answer> =>
    one.kind === "known" ? { ...one, value: { ...one.value, targets } } : one;
  const isEmpty = summary.streams === 0 && summary.open === 0 && page.streams.length === 0;
  const outside = isEmpty ? await findOutsideRange(requested.filters, options) : null;
  batch(() => {
    const key = queryKey(requested);
    const merge = requested.sample === null ? mergeLatest : mergeSamples;
    const shown = key === shownKey ? streamList.peek() : null;
    shownKey = key;
    streamList.value = merge(shown, page, summary.from);
    dashboardData.value = {
      summary,
      earlier,
      timeseries: { ...timeseries, targets },
      histogram: { ...histogram, targets },
      abandonment,
      compare,
      speed,
      breakdown: withTargets(breakdown),
      heatmap: heatmap && withTargets(heatmap),
      metric,
      view: requested,
      loadedAt: Date.now(),
    };
    outsideRange.value = outside;
    connection.value = { kind: "open" };
  });
  // Only the button for signing out depends on it.
  if (session.peek() === null) session.value = await getSession(options).catch(() => null);
  await refreshDetail();
}

async function findOutsideRange(filters: Filters, options: RequestOptions): Promise<OutsideRange> {
  const hasFilters = Object.keys(filters).length > 0;
  const [newest, ofAll, refusals] = await Promise.all([
    getNewest(filters, options),
    hasFilters ? getNewest({}, options) : null,
    // The collector refuses them to a token that is limited to sites.
    getRefusals(options).then((answer) => answer.refusals, () => []),
  ]);
  const any = hasFilters ? ofAll : newest;
  // The collector returns no key to clients that may not read, and none without probe files.
  const siteKey = any === null ? await getSiteKey(options).catch(() => null) : null;
  return { newest, newestOfAll: any, refusals, siteKey };
}

async function openDetail(id: string | null): Promise<void> {
  if (id === null) {
    opened.value = null;
    return;
  }
  openedAt = Date.now();
  const row = rowOf(id);
  opened.value = row ? { report: row } : null;
  if (!row) await fetchDetail(id);
}

/** Reloads the open stream until it has ended, and a missing stream until it arrives or times out. */
async function refreshDetail(): Promise<void> {
  const id = view.peek().stream;
  if (id === null) return;
  const shown = opened.peek();
  const isDone =
    shown !== null && ("report" in shown ? !shown.report.open : !shown.mayArrive && rowOf(id) === undefined);
  if (!isDone) await fetchDetail(id);
}

function rowOf(id: string): StreamReport | undefined {
  return rows.peek().find((row) => row.id === id);
}

async function fetchDetail(id: string): Promise<void> {
  try {
    const report = await getStream(id, {});
    if (view.peek().stream === id) opened.value = { report };
  } catch (error) {
    if (view.peek().stream !== id) return;
    if (error instanceof ApiError && error.status === 404)
      opened.value = { missing: error.message, mayArrive: Date.now() - openedAt < ARRIVAL_TIMEOUT_MS };
    else reportFailure(error);
  }
}

function reportFailure(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) {
    connection.value = { kind: "locked" };
    return;
  }
  connection.value = { kind: "failed", message: errorMessage(error) };
}

function schedule(): void {
  clearTimeout(timer);
  if (paused.peek() || connection.peek().kind === "locked") return;
  timer = setTimeout(() => {
    if (document.hidden) schedule();
    else void refresh();
  }, REFRESH_MS);
}

function queryWindow({ range, filters }: View): QueryWindow {
  return { range, filters };
}

function streamQuery({ sample }: View): StreamQuery {
  return { sample: sample ?? undefined };
}

function queryKey({ range, filters, sample }: View): string {
  return JSON.stringify([range, filters, sample]);
}
