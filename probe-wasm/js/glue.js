// The compiled probe, as wasm-bindgen wraps it. The build makes the module behind this name.

import * as glue from "llm-rum-glue";

export function createWatcher(module, facts, wake) {
  const { exports } = new WebAssembly.Instance(module, { "./glue_bg.js": glue });
  glue.__wbg_set_wasm(exports);
  exports.__wbindgen_start();
  glue.begin(window, facts, wake);
  return glue;
}
