// Finds the Wasm of an imported probe: beside the script, or at the collector, as not every bundler copies it.

/** The options with the addresses of the Wasm. An address that the app sets is the only one. */
export function withAssets(options) {
  const served = (name) => `${`${options.collector}`.replace(/\/+$/, "")}/${name}`;
  const wasmUrl = [served("llm-rum.wasm")];
  const wasmAllUrl = [served("llm-rum-all.wasm")];
  // A bundle of another format than ESM has no address.
  try {
    // In this form bundlers recognise the asset and copy it.
    wasmUrl.unshift(new URL("./llm-rum.wasm", import.meta.url).href);
    wasmAllUrl.unshift(new URL("./llm-rum-all.wasm", import.meta.url).href);
  } catch {}
  return { wasmUrl, wasmAllUrl, ...options };
}
