// Puts one tap into the page's fetch. Stub and probe both do so, and the first of them wins.

import { bufferInto } from "./early-buffer.js";
import { createTap } from "./tap.js";

/** The page's tap. Its events wait in `buffered` until the probe sets another sink. */
export function installTap(page) {
  return (page.__llmRum ??= tapFetchOf(page));
}

function tapFetchOf(page) {
  const buffered = [];
  const tap = createTap(bufferInto(buffered), buffered, page.fetch);
  page.fetch = tap.ours_ = tap.wrap_(page.fetch);
  return tap;
}

/**
 * Stops watching, and gives the page its fetch back. If a script has wrapped ours since, the tap stays, and the next
 * probe finds it.
 */
export function uninstallTap(page, tap) {
  tap.sink_ = silent;
  if (page.fetch != tap.ours_) return;
  page.fetch = tap.native_;
  page.__llmRum = undefined;
}

export function silent() {}
