// The built package on a server: importing and starting it do nothing.

import assert from "node:assert/strict";
import { test } from "node:test";

import { start } from "../../dist/llm-rum.mjs";

test("on a server the probe is idle", async () => {
  const native = globalThis.fetch;
  const probe = start({ collector: "http://127.0.0.1", site: "demo" });
  assert.equal(globalThis.fetch, native);
  assert.equal(probe.wrapFetch(native), native);
  probe.onFirstToken(() => {})();
  assert.equal(probe.use(), probe);
  probe.watchOutput({})();
  assert.equal(probe.lastReport(), undefined);
  await probe.flush();
  probe.stop();
  assert.equal(probe.faults, 0);
});
