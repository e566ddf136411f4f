// The buffer before the probe has loaded: order, bounds, copies.

import assert from "node:assert/strict";
import { test } from "node:test";

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
    assert.deepEqual([small.overflowed_, large.overflowed_], [false, true]);
  }
});
