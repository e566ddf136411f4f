/** Loads error budgets and the ingest accounting once a minute. A failure leaves the rest of the screen as it is. */
import { computed, effect } from "@preact/signals";

import type { Budgets } from "../api/api-types";
import { LOADING, toResult } from "../api/async-result";
import { getAccounting, getSlo, type RequestOptions } from "../api/client";
import { accounting, budgets, connection, dashboardData, paused, view } from "../state";

const MINUTE_MS = 60_000;
/** Maximum number of use cases to load budgets for. */
const MAX_USE_CASES = 6;

let current: AbortController | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

export function startSlowPoll(): void {
  const filters = computed(() => JSON.stringify(view.value.filters));
  // Budgets of other filters must not stay on screen.
  effect(() => {
    if (filters.value) budgets.value = LOADING;
  });
  const isOpen = computed(() => connection.value.kind === "open");
  effect(() => {
    // Waits until the collector has answered, and polls again after an outage.
    if (filters.value && isOpen.value) void poll();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && isOpen.peek() && !paused.peek()) void poll();
  });
}

async function poll(): Promise<void> {
  clearTimeout(timer);
  current?.abort();
  const controller = new AbortController();
  current = controller;
  const options = { signal: controller.signal };
  const [newBudgets, newAccounting] = await Promise.all([
    toResult(getBudgets(options)),
    toResult(getAccounting(options)),
  ]);
  if (controller.signal.aborted) return;
  budgets.value = newBudgets;
  accounting.value = newAccounting;
  timer = setTimeout(pollAgain, MINUTE_MS);
}

function pollAgain(): void {
  if (!document.hidden && !paused.peek() && connection.peek().kind === "open") void poll();
  else timer = setTimeout(pollAgain, MINUTE_MS);
}

/** Budgets of the worst use cases on screen. */
async function getBudgets(options: RequestOptions): Promise<Budgets> {
  const { filters } = view.peek();
  const rows = dashboardData.peek()?.summary.by_use_case ?? [];
  if (rows.length === 0) return { slos: [await getSlo(filters, options)], omitted: 0 };
  const slos = rows
    .slice(0, MAX_USE_CASES)
    .map(({ site, use_case }) => getSlo({ ...filters, site: [site], use_case: [use_case] }, options));
  return { slos: await Promise.all(slos), omitted: Math.max(0, rows.length - MAX_USE_CASES) };
}
