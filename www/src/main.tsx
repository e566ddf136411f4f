/** Starts the theme, the polling and the screen. */
import { effect } from "@preact/signals";
import { render } from "preact";

import { App } from "./app";
import { markers, markersOf } from "./charts/markers";
import { startShortcuts } from "./panels/header/shortcuts";
import { startFeed } from "./polling/feed";
import { duration, isKnown } from "./format";
import { leadMetric } from "./metric";
import { startLiveFeed } from "./polling/live-feed";
import { startExplainPoll } from "./polling/explain-poll";
import { startSlowPoll } from "./polling/slow-poll";
import { dashboardData, followHistory, postedMarkers, releases, screen } from "./state";
import "./style/colours.css";
import "./style/elements.css";
import "./style/page.css";
import "./style/filters.css";
import "./style/use-cases.css";
import "./style/verdict.css";
import "./style/live.css";
import "./style/figures.css";
import "./style/phases.css";
import "./style/streams.css";
import "./style/sheet.css";
import "./style/budgets.css";
import "./style/help.css";
import "./style/print.css";
import { startTheme } from "./theme";

startTheme();
followHistory();
effect(() => {
  document.documentElement.dataset["state"] = screen.value;
});
effect(() => {
  const summary = dashboardData.value?.summary;
  const p95 = summary?.[leadMetric(summary)].p95_ms;
  document.title = isKnown(p95) ? `p95 ${duration(p95)} · llm-rum` : "llm-rum";
});
effect(() => {
  const [appeared, posted] = [releases.value, postedMarkers.value];
  markers.value = markersOf(
    appeared.kind === "known" ? appeared.value.releases : [],
    posted.kind === "known" ? posted.value.markers : [],
  );
});
const host = document.getElementById("app");
if (host) render(<App />, host);
startFeed();
startSlowPoll();
startExplainPoll();
startLiveFeed();
startShortcuts();
