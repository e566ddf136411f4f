// The queue before the probe has loaded: order, bounds, copies; and the one tap of a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { installTap, uninstallTap } from "../../js/tap/install.js";
import { CHUNK, CLOSED, OPEN, READ } from "../../js/tap/tap-events.js";
import { bufferInto } from "../../js/tap/early-buffer.js";

test("events are buffered in order, and chunks as copies", () => {
  const buffered = [];
  const push = bufferInto(buffered);
  const stream = {};
  const bytes = new Uint8Array([1, 2, 3]);
  push(stream, OPEN, undefined, 1);
  push(stream, CHUNK, bytes, 2);
  structuredClone(bytes, { transfer: [bytes.buffer] });
  push(stream, CLOSED, undefined, 3);
  assert.deepEqual(
    buffered.map(([, moment, value, time]) => [moment, value && [...value], time]),
    [
      [OPEN, undefined, 1],
      [CHUNK, [1, 2, 3], 2],
      [CLOSED, undefined, 3],
    ],
  );
});

test("the buffer is bounded, and a stream over its limit is marked", () => {
  for (const [moment, value] of [
    [READ, undefined],
    [CHUNK, new Uint8Array(1 << 16)],
  ]) {
    const buffered = [];
    const push = bufferInto(buffered);
    const [small, large] = [{}, {}];
    push(small, OPEN);
    for (let count = 0; count < 5000; count++) push(large, moment, value);
    assert.ok(buffered.length <= 1953);
    assert.ok(buffered.reduce((sum, [, , value]) => sum + (value?.length ?? 0), 0) <= 1e6);
    assert.deepEqual([small.overflowed, large.overflowed], [false, true]);
  }
});

test("a second installation finds the first", () => {
  const native = async () => {};
  const page = { fetch: native };
  const tap = installTap(page);
  const watched = page.fetch;
  assert.equal(installTap(page), tap);
  assert.equal(page.fetch, watched);
  assert.equal(tap.native, native);
  uninstallTap(page, tap);
  assert.equal(page.fetch, native);
});

test("a fetch that another script wrapped later stays in place", () => {
  const page = { fetch: async () => {} };
  const tap = installTap(page);
  const theirs = (...args) => tap.ours(...args);
  page.fetch = theirs;
  uninstallTap(page, tap);
  assert.equal(page.fetch, theirs);
});
