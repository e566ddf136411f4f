// The one tap in a page's fetch, however often it is installed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { installTap, uninstallTap } from "../../js/tap/install.js";

test("an uninstall restores fetch, and a wrapped tap is reused", () => {
  const native = async () => {};
  const page = { fetch: native };
  const first = installTap(page);
  assert.equal(installTap(page), first);
  uninstallTap(page, first);
  assert.deepEqual([page.fetch, page.__llmRum], [native, undefined]);

  const second = installTap(page);
  const wrapper = (...call) => second.ours_(...call);
  page.fetch = wrapper;
  uninstallTap(page, second);
  assert.equal(page.fetch, wrapper);
  assert.equal(installTap(page), second, "one tap, not one within another that is silent");
});

test("a second installation finds the first", () => {
  const native = async () => {};
  const page = { fetch: native };
  const tap = installTap(page);
  const watched = page.fetch;
  assert.equal(installTap(page), tap);
  assert.equal(page.fetch, watched);
  assert.equal(tap.native_, native);
  uninstallTap(page, tap);
  assert.equal(page.fetch, native);
});

test("a fetch that another script wrapped later stays in place", () => {
  const page = { fetch: async () => {} };
  const tap = installTap(page);
  const theirs = (...args) => tap.ours_(...args);
  page.fetch = theirs;
  uninstallTap(page, tap);
  assert.equal(page.fetch, theirs);
});
