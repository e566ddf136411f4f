/** Writes the live updates of the collector into `state.ts` while the page is visible and not paused. */
import { computed, effect, signal } from "@preact/signals";

import type { Filters } from "../api/api-types";
import { listen } from "../api/live-client";
import { connection, live, paused, view } from "../state";

export function startLiveFeed(): void {
  const hidden = signal(document.hidden);
  document.addEventListener("visibilitychange", () => {
    hidden.value = document.hidden;
  });
  const filters = computed(() => JSON.stringify(view.value.filters));
  // Browsers limit the connections per host: a hidden page uses none.
  const isWanted = computed(
    () => !hidden.value && !paused.value && connection.value.kind !== "loading" && connection.value.kind !== "locked",
  );
  effect(() => {
    if (!isWanted.value) {
      live.value = { kind: paused.value ? "paused" : "joining" };
      return;
    }
    const controller = new AbortController();
    live.value = { kind: "joining" };
    void listen(JSON.parse(filters.value) as Filters, { signal: controller.signal }, (now) => {
      live.value = now === null ? { kind: "away" } : { kind: "live", now };
    });
    return () => controller.abort();
  });
}
