// Puts one tap into the page's fetch, whichever of stub and probe comes first.

import { holdIn } from "./queue.js";
import { createTap } from "./tap.js";

/** The page's tap. What it tells waits in `held` until somebody gives it another sink. */
export function installTap(page, patch = true) {
  if (page.__llmRum) return page.__llmRum;
  const held = [];
  const tap = createTap(holdIn(held));
  tap.held = held;
  tap.native = page.fetch;
  tap.installed = tap.wrap(tap.native);
  if (patch) page.fetch = tap.installed;
  return (page.__llmRum = tap);
}

/** Gives the page its fetch back, unless somebody has wrapped ours since. */
export function uninstallTap(page, tap) {
  if (page.fetch == tap.installed) page.fetch = tap.native;
  page.__llmRum = undefined;
}
