/** Asks the collector again and again while the page is looked at, and puts its answers into `state.ts`. */
import { batch, computed, effect } from "@preact/signals";

import type { Filters, StreamReport } from "../api/api-types";
import {
  getAbandonment,
  getBreakdown,
  getCompare,
  getHeatmap,
  getHistogram,
  getNewest,
  getSiteKey,
  getStream,
  getStreams,
  getSummary,
  getTimeseries,
  ApiError,
  errorMessage,
  type RequestOptions,
  type StreamQuery,
  type QueryWindow,
} from "../api/client";
import { toResult, type Result } from "../api/async-result";
import { addOlder, mergeLatest, mergeSamples } from "./stream-list";
import { isWait, targetsInView } from "../metric";
import {
  dashboardData,
  busy,
  outsideRange,
  storeToken,
  connection,
  streamList,
  nextCursor,
  opened,
  paused,
  rows,
  token,
  view,
  type OutsideRange,
} from "../state";
import { stepFor } from "./resolution";
import type { View } from "../url";

export const REFRESH_MS = 5_000;
/** A link to a stream may be followed before its report has come, and that been stored. */
const PATIENCE_MS = 15_000;
/** Values of the breakdown; the collector gives no more than the second. */
const FIRST_GROUPS = 20;
const ALL_GROUPS = 500;

let current: AbortController | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
/** The question whose rows are on screen: rows of another one are replaced, not merged. */
let shownQuestion = "";
let openedAt = 0;

export function startFeed(): void {
  const asked = computed(() => {
    const { metric, chartType, by, showsAllGroups } = view.value;
    return JSON.stringify([question(view.value), metric, chartType, by, showsAllGroups, token.value]);
  });
  const chosen = computed(() => view.value.stream);
  effect(() => {
    if (asked.value) void refresh();
  });
  effect(() => {
    void openChosen(chosen.value);
  });
  effect(() => {
    if (!paused.value) schedule();
    else clearTimeout(timer);
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && !paused.peek()) void refresh();
  });
}

/** Asks now, for what the view says now; an answer still on its way to an older question is dropped. */
export async function refresh(): Promise<void> {
  clearTimeout(timer);
  current?.abort();
  const mine = new AbortController();
  current = mine;
  busy.value = true;
  try {
    await load(view.peek(), { token: token.peek(), signal: mine.signal });
  } catch (error) {
    if (!mine.signal.aborted) fail(error);
    // The others of the same load: what they would say is not waited for.
    mine.abort();
  } finally {
    if (current === mine) {
      current = null;
      busy.value = false;
      schedule();
    }
  }
}

/** The next page of older streams, below those on screen. */
export async function loadOlder(): Promise<void> {
  const cursor = nextCursor.peek();
  if (cursor === null) return;
  const asked = question(view.peek());
  try {
    const page = await getStreams(
      windowOf(view.peek()),
      { ...wantedOf(view.peek()), cursor },
      access(),
    );
    const shown = streamList.peek();
    if (shown === null || asked !== question(view.peek())) return;
    // The list has moved on meanwhile: below it this page would leave a hole.
    if (cursor !== nextCursor.peek()) return loadOlder();
    streamList.value = addOlder(shown, page);
  } catch (error) {
    fail(error);
  }
}

export function unlock(value: string): void {
  connection.value = { kind: "loading" };
  storeToken(value);
  // The same token again changes no signal, and must be tried all the same.
  if (current === null) void refresh();
}

async function load(chosen: View, access: RequestOptions): Promise<void> {
  const window = windowOf(chosen);
  const { metric, by } = chosen;
  const limit = chosen.showsAllGroups ? ALL_GROUPS : FIRST_GROUPS;
  const [summary, fine, histogram, abandonment, breakdown, page] = await Promise.all([
    getSummary(window, access),
    getTimeseries(window, metric, null, access),
    getHistogram(window, metric, access),
    toResult(getAbandonment(window, isWait(metric) ? metric : "ttfv", access)),
    toResult(getBreakdown(window, { by, metric, limit }, access)),
    getStreams(window, wantedOf(chosen), access),
  ]);
  const step = stepFor(chosen.range, fine);
  const [timeseries, compare, heatmap] = await Promise.all([
    step * 1000 === fine.step_ms ? fine : getTimeseries(window, metric, step, access),
    toResult(getCompare(window, step, access)),
    chosen.chartType === "heatmap" ? toResult(getHeatmap(window, metric, step, access)) : null,
  ]);
  // What failed because another question was asked meanwhile has not failed.
  if (access.signal?.aborted) return;
  // Answers are of moments apart: one of them says for all whose streams are in view.
  const targets = targetsInView(summary);
  const aimed = <Answer extends object>(one: Result<Answer>): Result<Answer> =>
    one.kind === "known" ? { ...one, value: { ...one.value, targets } } : one;
  const isEmpty = summary.streams === 0 && summary.open === 0 && page.streams.length === 0;
  const found = isEmpty ? await lookElsewhere(chosen.filters, access) : null;
  batch(() => {
    const asked = question(chosen);
    const merge = chosen.sample === null ? mergeLatest : mergeSamples;
    const shown = asked === shownQuestion ? streamList.peek() : null;
    shownQuestion = asked;
    streamList.value = merge(shown, page, summary.from);
    dashboardData.value = {
      summary,
      timeseries: { ...timeseries, targets },
      histogram: { ...histogram, targets },
      abandonment,
      compare,
      breakdown: aimed(breakdown),
      heatmap: heatmap && aimed(heatmap),
      view: chosen,
      loadedAt: Date.now(),
    };
    outsideRange.value = found;
    connection.value = { kind: "open" };
  });
  await followOpened();
}

async function lookElsewhere(filters: Filters, access: RequestOptions): Promise<OutsideRange> {
  const hasFilters = Object.keys(filters).length > 0;
  const [newest, ofAll] = await Promise.all([
    getNewest(filters, access),
    hasFilters ? getNewest({}, access) : null,
  ]);
  const any = hasFilters ? ofAll : newest;
  // Refused where keys are not for everyone, and where this collector has no probe to hand out.
  const siteKey = any === null ? await getSiteKey(access).catch(() => null) : null;
  return { newest, newestOfAll: any, siteKey };
}

async function openChosen(id: string | null): Promise<void> {
  if (id === null) {
    opened.value = null;
    return;
  }
  openedAt = Date.now();
  const row = rowOf(id);
  opened.value = row ? { report: row } : null;
  if (!row) await fetchOpened(id);
}

/** A stream that has not ended changes while it is looked at; one that did not come yet is asked for again. */
async function followOpened(): Promise<void> {
  const id = view.peek().stream;
  if (id === null) return;
  const shown = opened.peek();
  const isDone =
    shown !== null && ("report" in shown ? !shown.report.open : !shown.mayArrive && rowOf(id) === undefined);
  if (!isDone) await fetchOpened(id);
}

function rowOf(id: string): StreamReport | undefined {
  return rows.peek().find((row) => row.id === id);
}

async function fetchOpened(id: string): Promise<void> {
  try {
    const report = await getStream(id, access());
    if (view.peek().stream === id) opened.value = { report };
  } catch (error) {
    if (view.peek().stream !== id) return;
    if (error instanceof ApiError && error.status === 404)
      opened.value = { missing: error.message, mayArrive: Date.now() - openedAt < PATIENCE_MS };
    else fail(error);
  }
}

function fail(error: unknown): void {
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

function access(): RequestOptions {
  return { token: token.peek() };
}

function windowOf({ range, filters }: View): QueryWindow {
  return { range, filters };
}

function wantedOf({ outcome, sample }: View): StreamQuery {
  return { outcome: outcome ?? undefined, sample: sample ?? undefined };
}

function question({ range, filters, outcome, sample }: View): string {
  return JSON.stringify([range, filters, outcome, sample]);
}
