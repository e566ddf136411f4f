/** Starts the theme, the feed and the screen. */
import { effect } from "@preact/signals";
import { render } from "preact";

import { App } from "./app";
import { startFeed } from "./feed";
import { followHistory, screen } from "./state";
import "./style/tokens.css";
import "./style/page.css";
import "./style/figures.css";
import "./style/streams.css";
import { startTheme } from "./theme";

startTheme();
followHistory();
effect(() => {
  document.documentElement.dataset["state"] = screen.value;
});
const host = document.getElementById("app");
if (host) render(<App />, host);
startFeed();
