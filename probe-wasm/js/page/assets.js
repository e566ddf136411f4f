// Where the Wasm lies for who imports the probe: beside the script, or with the collector, as not every tool
// carries it along.

/** What `start` is to be called with. An address of the app's own comes first and alone. */
export function withAssets(options) {
  const served = (name) => `${`${options.collector}`.replace(/\/+$/, "")}/${name}`;
  const wasmUrl = [served("llm-rum.wasm")];
  const wasmAllUrl = [served("llm-rum-all.wasm")];
  // A bundle of another format has no address.
  try {
    // Written so that bundlers recognise the asset and carry it along.
    wasmUrl.unshift(new URL("./llm-rum.wasm", import.meta.url).href);
    wasmAllUrl.unshift(new URL("./llm-rum-all.wasm", import.meta.url).href);
  } catch {}
  return { wasmUrl, wasmAllUrl, ...options };
}
