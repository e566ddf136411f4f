/** Asks once a minute what changes slowly: budgets and books. Their failing leaves the rest of the screen alone. */
import { computed, effect } from "@preact/signals";

import type { Budgets } from "../api/api-types";
import { getAccounting, getSlo, getUseCases, type RequestOptions } from "../api/client";
import { LOADING, toResult } from "../api/async-result";
import { accounting, budgets, connection, paused, token, view } from "../state";

const MINUTE_MS = 60_000;
/** So many use cases at most are asked for. */
const USE_CASES = 6;

let current: AbortController | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

export function startMinutely(): void {
  const filters = computed(() => JSON.stringify([view.value.filters, token.value]));
  // Those of other streams must not stand for these.
  effect(() => {
    if (filters.value) budgets.value = LOADING;
  });
  const isOpen = computed(() => connection.value.kind === "open");
  effect(() => {
    // Not before the collector has let this page in, and again as soon as it answers again.
    if (filters.value && isOpen.value) void ask();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && isOpen.peek() && !paused.peek()) void ask();
  });
}

async function ask(): Promise<void> {
  clearTimeout(timer);
  current?.abort();
  const mine = new AbortController();
  current = mine;
  const access = { token: token.peek(), signal: mine.signal };
  const [found, books] = await Promise.all([toResult(askBudgets(access)), toResult(getAccounting(access))]);
  if (mine.signal.aborted) return;
  budgets.value = found;
  accounting.value = books;
  timer = setTimeout(again, MINUTE_MS);
}

function again(): void {
  if (!document.hidden && !paused.peek() && connection.peek().kind === "open") void ask();
  else timer = setTimeout(again, MINUTE_MS);
}

async function askBudgets(access: RequestOptions): Promise<Budgets> {
  const { filters } = view.peek();
  if (filters.use_case) return { slos: [await getSlo(filters, access)], more: 0 };
  const { groups, more } = await getUseCases(filters, USE_CASES, access);
  const slos = groups.map(({ value }) => getSlo({ ...filters, use_case: value }, access));
  return { slos: await Promise.all(slos), more };
}
