// The addresses at which an imported probe looks for the Wasm.

import assert from "node:assert/strict";
import { test } from "node:test";

import { withAssets } from "../../js/page/assets.js";

test("the Wasm comes from the script, the collector or the option", () => {
  const { wasmUrl, wasmAllUrl } = withAssets({ collector: "https://rum.example/" });
  assert.deepEqual([wasmUrl[1], wasmAllUrl[1]], ["https://rum.example/llm-rum.wasm", "https://rum.example/llm-rum-all.wasm"]);
  assert.match(wasmUrl[0], /^file:.*\/llm-rum\.wasm$/);
  assert.equal(withAssets({ collector: "", wasmUrl: "/own.wasm" }).wasmUrl, "/own.wasm");
});
