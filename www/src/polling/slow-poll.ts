/** Loads error budgets and the ingest accounting once a minute. A failure leaves the rest of the screen as it is. */
import { computed, effect } from "@preact/signals";

import type { Budgets } from "../api/api-types";
import { LOADING } from "../api/async-result";
import { getAccounting, getSlo, type RequestOptions } from "../api/client";
import { accounting, budgets, connection, dashboardData, paused, view } from "../state";
import { loading, minutePoll } from "./minute-poll";

/** Maximum number of use cases to load budgets for. */
const MAX_USE_CASES = 6;

const poll = minutePoll([loading(budgets, getBudgets), loading(accounting, getAccounting)]);

export function startSlowPoll(): void {
  const filters = computed(() => JSON.stringify(view.value.filters));
  // Budgets of other filters must not stay on screen.
  effect(() => {
    if (filters.value) budgets.value = LOADING;
  });
  const isOpen = computed(() => connection.value.kind === "open");
  effect(() => {
    // Waits until the collector has answered, and polls again after an outage.
    if (filters.value && isOpen.value) poll();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && isOpen.peek() && !paused.peek()) poll();
  });
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
