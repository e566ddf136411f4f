// Puts one tap into the page's fetch, whichever of stub and probe comes first.

import { holdIn } from "./early-buffer.js";
import { createTap } from "./tap.js";

/** The page's tap. What it tells waits in `held` until somebody gives it another sink. */
export function installTap(page) {
  return (page.__llmRum ??= tapFetchOf(page));
}

function tapFetchOf(page) {
  const held = [];
  const tap = createTap(holdIn(held), held, page.fetch);
  page.fetch = tap.ours = tap.wrap(page.fetch);
  return tap;
}

/** Watches no more, and gives the page its fetch back; where somebody has wrapped ours since, who starts anew finds it. */
export function uninstallTap(page, tap) {
  tap.sink = silent;
  if (page.fetch != tap.ours) return;
  page.fetch = tap.native;
  page.__llmRum = undefined;
}

export function silent() {}
