/**
 * Loads what the slow streams have in common, releases, markers, visits, phases, the server's layers and the engines:
 * when the view changes, and once a minute. Most of it reads single streams, which is too slow for each refresh.
 */
import { computed, effect } from "@preact/signals";

import { LOADING } from "../api/async-result";
import {
  getEngines,
  getExplanation,
  getMarkers,
  getPhases,
  getReleases,
  getServerLayers,
  getVisits,
} from "../api/client";
import {
  connection,
  dashboardData,
  engines,
  explainedOf,
  explanation,
  phases,
  phasesBy,
  postedMarkers,
  releases,
  serverLayers,
  view,
  visits,
} from "../state";
import { loading, minutePoll } from "./minute-poll";

const poll = minutePoll([
  loading(explanation, (options) => getExplanation(view.peek(), explainedOf.peek(), options)),
  loading(releases, (options) => getReleases(view.peek(), options)),
  loading(postedMarkers, (options) => getMarkers(view.peek(), options, "!release")),
  loading(visits, (options) => getVisits(view.peek(), options)),
  loading(serverLayers, (options) => getServerLayers(view.peek(), options)),
  loading(engines, (options) => getEngines(view.peek(), options)),
]);

/** Over time, the window and the step are those of the charts on screen. */
const phasesQuery = computed(() => {
  const by = phasesBy.value;
  const shown = by === "time" ? dashboardData.value : null;
  const { range, filters } = shown?.view ?? view.value;
  return { range, filters, by: by && !shown ? by : undefined, step_ms: shown?.timeseries.step_ms };
});

const pollPhases = minutePoll([
  loading(phases, (options) => getPhases(phasesQuery.peek(), options)),
]);

export function startExplainPoll(): void {
  const asked = computed(() => JSON.stringify([view.value.filters, view.value.range, explainedOf.value]));
  const isOpen = computed(() => connection.value.kind === "open");
  effect(() => {
    if (asked.value) explanation.value = visits.value = serverLayers.value = LOADING;
  });
  effect(() => {
    if (asked.value && isOpen.value) poll();
  });
  const askedPhases = computed(() => JSON.stringify(phasesQuery.value));
  effect(() => {
    if (askedPhases.value && isOpen.value) pollPhases();
  });
}
