// The compiled probe, as wasm-bindgen wraps it. The build makes the module behind this name.

import { calls, imports, setWasm } from "llm-rum-glue";

export function createWatcher(module, wake) {
  const { exports } = new WebAssembly.Instance(module, { g: imports });
  setWasm(exports);
  exports.__wbindgen_start();
  exports.begin(performance, wake);
  return { ...exports, ...calls };
}
