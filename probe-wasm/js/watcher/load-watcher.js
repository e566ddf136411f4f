// Loads the compiled watcher, and falls back to the one without Wasm.

import { createFallbackWatcher } from "./fallback-watcher.js";
import { createWatcher } from "./wasm-watcher.js";

/** Tries one address after the other. Where all fail, by a CSP above all, chunks are still seen. */
export async function loadWatcher(urls, integrity, fetch, wake, later) {
  for (const url of [urls || []].flat())
    try {
      const response = await fetch.call(window, url, { integrity });
      return createWatcher(await WebAssembly.compile(await response.arrayBuffer()), wake, later);
    } catch {}
  return createFallbackWatcher(wake, later);
}
