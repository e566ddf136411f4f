/** Loads what the slow streams have in common, releases, markers, visits and the server's layers: when the view changes, and once a minute. */
import { computed, effect } from "@preact/signals";

import { LOADING, toResult } from "../api/async-result";
import { getExplanation, getMarkers, getReleases, getServerLayers, getVisits } from "../api/client";
import {
  connection,
  explainedOf,
  explanation,
  paused,
  postedMarkers,
  releases,
  serverLayers,
  view,
  visits,
} from "../state";

const MINUTE_MS = 60_000;

let current: AbortController | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

export function startExplainPoll(): void {
  const asked = computed(() => JSON.stringify([view.value.filters, view.value.range, explainedOf.value]));
  const isOpen = computed(() => connection.value.kind === "open");
  effect(() => {
    if (asked.value) explanation.value = visits.value = serverLayers.value = LOADING;
  });
  effect(() => {
    if (asked.value && isOpen.value) void poll();
  });
}

async function poll(): Promise<void> {
  clearTimeout(timer);
  current?.abort();
  const controller = new AbortController();
  current = controller;
  const { range, filters } = view.peek();
  const options = { signal: controller.signal };
  const [newExplanation, newReleases, newMarkers, newVisits, newLayers] = await Promise.all([
    toResult(getExplanation({ range, filters }, explainedOf.peek(), options)),
    toResult(getReleases({ range, filters }, options)),
    toResult(getMarkers({ range, filters }, options, "!release")),
    toResult(getVisits({ range, filters }, options)),
    toResult(getServerLayers({ range, filters }, options)),
  ]);
  if (controller.signal.aborted) return;
  explanation.value = newExplanation;
  releases.value = newReleases;
  postedMarkers.value = newMarkers;
  visits.value = newVisits;
  serverLayers.value = newLayers;
  timer = setTimeout(pollAgain, MINUTE_MS);
}

function pollAgain(): void {
  if (!document.hidden && !paused.peek() && connection.peek().kind === "open") void poll();
  else timer = setTimeout(pollAgain, MINUTE_MS);
}
