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
import { nextOf, rowsOf, type Listed } from "./polling/stream-list";
import { isValidToken } from "./api/token";
import { readView, writeView, type Drawing, type View } from "./url";

/** `loading` until the first answer, `locked` when a token is wanted, `failed` while there is no good answer. */
export type Link = { kind: "loading" | "open" | "locked" } | { kind: "failed"; what: string };

/** One coherent set of answers to the same question. */
export interface Answers {
  summary: Summary;
  timeseries: Timeseries;
  histogram: HistogramAnswer;
  abandonment: Result<Abandonment>;
  compare: Result<Compare>;
  breakdown: Result<Breakdown>;
  /** Asked for while it is looked at. */
  heatmap: Result<Heatmap> | null;
  /** What was asked. */
  asked: View;
  /** When they arrived, by this browser's clock. */
  at: number;
}

/** The newest streams outside the chosen range: with its filters, and of all. */
export interface Elsewhere {
  newest: StreamReport | null;
  ofAll: StreamReport | null;
  /** For the line that a page needs, where there is no stream at all; `null` where the collector names no key. */
  siteKey: string | null;
}

export const view = signal<View>(readView(location.search));
export const link = signal<Link>({ kind: "loading" });
export const answers = signal<Answers | null>(null);
export const listed = signal<Listed | null>(null);
export const rows = computed(() => (listed.value === null ? [] : rowsOf(listed.value)));
export const nextCursor = computed(() => listed.value && nextOf(listed.value));
/** Asked only when the range is empty. */
export const elsewhere = signal<Elsewhere | null>(null);
export const busy = signal(false);
export const paused = signal(false);

// Stands before the signal that reads it: a `const` further down is not there yet.
const TOKEN_KEY = "llm-rum-token";
export const token = signal<string | null>(readToken());

/** Of the use cases that the filters leave. */
export const budgets = signal<AsyncResult<Budgets>>(LOADING);
export const accounting = signal<AsyncResult<Accounting>>(LOADING);

/** The one stream that is open, or why it cannot be shown; `mayCome` while its report may be on its way. */
export type Opened = { report: StreamReport } | { missing: string; mayCome: boolean } | null;
export const opened = signal<Opened>(null);

/** `live` while the collector tells what happens now; `away` while it does not and is asked again. */
export type LiveState = { kind: "joining" | "away" | "paused" } | { kind: "live"; now: Live };
export const live = signal<LiveState>({ kind: "joining" });

export type Screen = "loading" | "empty" | "ready" | "error" | "locked";

export const hasData = computed(() => {
  const summary = answers.value?.summary;
  return summary !== undefined && (summary.streams > 0 || summary.open > 0 || rows.value.length > 0);
});

/** Whether what is on screen answers an earlier question than the view now asks. */
export const isStale = computed(() => {
  const asked = answers.value?.asked;
  if (asked === undefined) return false;
  const now = view.value;
  return writeView({ ...asked, stream: null }) !== writeView({ ...now, stream: null });
});

/** Whether the answer to what the view asks is on its way. During an outage it is not: what is shown stays readable. */
export const isAwaited = computed(() => isStale.value && busy.value && link.value.kind !== "failed");

export const screen = computed<Screen>(() => {
  const { kind } = link.value;
  if (kind === "locked") return "locked";
  if (kind === "failed") return "error";
  if (answers.value === null) return "loading";
  return hasData.value ? "ready" : "empty";
});

/** Changes what is shown and leaves a step for the back button. */
export function go(change: Partial<View>): void {
  const next = { ...view.value, ...change };
  const address = writeView(next);
  if (address !== writeView(view.value)) history.pushState(null, "", address || location.pathname);
  view.value = next;
}

export const setRange = (range: Range) => go({ range });
export const setMetric = (metric: Metric) => go({ metric });
export const setDrawing = (drawing: Drawing) => go({ drawing });
export const setBy = (by: Dimension) => go({ by, isLong: false });
export const setLong = (isLong: boolean) => go({ isLong });
export const setOutcome = (outcome: Outcome | null) => go({ outcome });
export const setSample = (sample: SampleKind | null) => go({ sample });
export const openStream = (stream: string) => go({ stream });
export const closeStream = () => go({ stream: null });

/** Narrows to one value of a dimension, or widens again with `null`. A stream's detail closes to show the result. */
export function setFilter(dimension: Dimension, value: string | null): void {
  const filters = { ...view.value.filters };
  if (value === null) delete filters[dimension];
  else filters[dimension] = value;
  go({ filters, stream: null });
}

export function followHistory(): void {
  addEventListener("popstate", () => {
    view.value = readView(location.search);
  });
}

export function keepToken(value: string | null): void {
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
    const kept = sessionStorage.getItem(TOKEN_KEY);
    return kept !== null && isValidToken(kept) ? kept : null;
  } catch {
    return null;
  }
}
