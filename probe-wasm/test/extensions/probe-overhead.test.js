// The overhead that the probe reports: timed and untimed chunks, memory, and sent bytes.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { CHUNK, CLOSED, OPEN } from "../../js/tap/tap-events.js";
import { probeOverhead } from "../../js/extensions/probe-overhead.js";

let now;
const watcher = { memory: { buffer: new ArrayBuffer(65_536) } };

beforeEach(() => {
  now = 1000;
  mock.restoreAll();
  mock.method(performance, "now", () => now);
});

/** The extension in a page whose probe has loaded. */
function used() {
  const extension = probeOverhead()({});
  extension.onEvent({}, OPEN, undefined, 1000, watcher);
  return extension;
}

/** A chunk at `time` whose handling takes `ms`. */
function chunk(extension, stream, time, ms) {
  now = time + ms;
  extension.onEvent(stream, CHUNK, new Uint8Array(1), time, watcher);
}

function told(extension, stream) {
  const report = {};
  extension.addFields(report, stream);
  return JSON.parse(JSON.stringify(report)).probe_overhead;
}

test("the times of chunks add up, stream by stream", () => {
  const extension = used();
  const [one, other] = [{ bodies_: 1 }, { bodies_: 1 }];
  for (const [stream, time, ms] of [[one, 1010, 0], [other, 1020, 0.3], [one, 1030, 0.1], [one, 1040, 0]]) chunk(extension, stream, time, ms);
  now = 1100;
  extension.onEvent(one, CLOSED, undefined, 1050, watcher);
  assert.deepEqual(told(extension, one), { timed_chunks: 3, chunks_ms: 0.1, memory_bytes: 65_536 });
  assert.deepEqual(told(extension, other), { timed_chunks: 1, chunks_ms: 0.3, memory_bytes: 65_536 });
});

test("the time of delayed chunks counts only beside a timed chunk", () => {
  const extension = used();
  const [stream, other] = [{ bodies_: 1 }, { bodies_: 1, late: 0.4 }];
  chunk(extension, stream, 1010, 0.1);
  stream.late = 0.4;
  assert.deepEqual(told(extension, stream), { timed_chunks: 1, chunks_ms: 0.5, memory_bytes: 65_536 });
  assert.deepEqual(told(extension, other), { memory_bytes: 65_536 });
});

test("chunks from before the load or an earlier time are not timed", () => {
  const extension = probeOverhead()({});
  const held = { bodies_: 1 };
  for (const time of [400, 700]) {
    now = 1000;
    extension.onEvent(held, CHUNK, new Uint8Array(1), time, watcher);
  }
  // A stream of a socket or an event source has no body, and its parts are joined before they are passed on.
  chunk(extension, {}, 1010, 4);
  assert.deepEqual(told(extension, held), { memory_bytes: 65_536 });
});

test("a page without the Wasm reports no memory", () => {
  const extension = probeOverhead()({});
  extension.onEvent({}, OPEN, undefined, 1000, {});
  assert.deepEqual(told(extension, {}), {});
});

test("a stream aborted before the Wasm loads causes no fault", () => {
  const extension = used();
  extension.onEvent({ bodies_: 1 }, CHUNK, new Uint8Array(1), 1010, undefined);
  assert.deepEqual(told(extension, {}), { memory_bytes: 65_536 });
});

test("two extensions keep separate sums", () => {
  const [one, other] = [used(), used()];
  const stream = { bodies_: 1 };
  for (const extension of [one, other]) chunk(extension, stream, 1010, 0.1);
  for (const extension of [one, other])
    assert.deepEqual(told(extension, stream), { timed_chunks: 1, chunks_ms: 0.1, memory_bytes: 65_536 });
});

test("a report has the current memory and the bytes sent so far", () => {
  const extension = used();
  for (const body of ["é", undefined, "abc", false]) extension.onSend(body);
  assert.equal(told(extension, {}).sent_bytes, 5);
  watcher.memory.buffer = new ArrayBuffer(131_072);
  assert.equal(told(extension, {}).memory_bytes, 131_072);
});
