// One tap in a page's fetch, however often it comes and goes, and where the Wasm is looked for.

import assert from "node:assert/strict";
import { test } from "node:test";

import { withAssets } from "../../js/page/assets.js";
import { installTap, uninstallTap } from "../../js/tap/install.js";

test("an uninstall restores fetch, and a wrapped tap is reused", () => {
  const native = async () => {};
  const page = { fetch: native };
  const first = installTap(page);
  assert.equal(installTap(page), first);
  uninstallTap(page, first);
  assert.deepEqual([page.fetch, page.__llmRum], [native, undefined]);

  const second = installTap(page);
  const wrapper = (...call) => second.ours(...call);
  page.fetch = wrapper;
  uninstallTap(page, second);
  assert.equal(page.fetch, wrapper);
  assert.equal(installTap(page), second, "one tap, not one within another that is silent");
});

test("the Wasm comes from the script, the collector or the option", () => {
  const { wasmUrl, wasmAllUrl } = withAssets({ collector: "https://rum.example/" });
  assert.deepEqual([wasmUrl[1], wasmAllUrl[1]], ["https://rum.example/llm-rum.wasm", "https://rum.example/llm-rum-all.wasm"]);
  assert.match(wasmUrl[0], /^file:.*\/llm-rum\.wasm$/);
  assert.equal(withAssets({ collector: "", wasmUrl: "/own.wasm" }).wasmUrl, "/own.wasm");
});
