// The ES module of the npm package. Importing it does nothing, so it may be imported on a server.

import { startProbe } from "./probe.js";

export function start(options) {
  // Written so that bundlers recognise the asset and carry it along.
  const wasmUrl = new URL("./llm-rum.wasm", import.meta.url).href;
  const wasmAllUrl = new URL("./llm-rum-all.wasm", import.meta.url).href;
  return startProbe({ wasmUrl, wasmAllUrl, ...options });
}
