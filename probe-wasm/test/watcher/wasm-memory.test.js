// Memory of the compiled watcher: open streams and the largest read take some, ended streams take none.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { CLOSED } from "../../js/session/end-reasons.js";
import { EVENTS } from "../../js/tap/content-types.js";

const { createWatcher } = await import("../dist/watcher.mjs");
const module = new WebAssembly.Module(readFileSync(new URL("../../dist/llm-rum.wasm", import.meta.url)));

const ANSWER = new TextEncoder().encode(
  Array.from({ length: 60 }, (_, at) => {
    const choices = [{ index: 0, delta: { content: "word ".repeat(1 + (at % 9)) }, finish_reason: null }];
    return `data: ${JSON.stringify({ id: "chatcmpl-9", object: "chat.completion.chunk", choices })}\n\n`;
  }).join(""),
);

/** Pseudo-random sizes of reads, the same in each run. */
function* sizes(most) {
  for (let seed = 1; ; ) {
    seed = (seed * 48271) % 2147483647;
    yield 1 + (seed % most);
  }
}

/** The bytes of memory after each round. In a round `open` streams are read in turns. */
function measured(rounds, open, most) {
  const watcher = createWatcher(module, () => {}, setTimeout);
  const size = sizes(most);
  let time = 0;
  return Array.from({ length: rounds }, (_, round) => {
    const streams = Array.from({ length: open }, (_, at) => ({ key: round * open + at, at: 0 }));
    for (const { key } of streams) {
      watcher.open(key, time, undefined);
      watcher.headers(key, time, 200, EVENTS);
    }
    for (let reading = streams; reading.length; reading = reading.filter(({ at }) => at < ANSWER.length))
      for (const stream of reading) {
        const bytes = ANSWER.subarray(stream.at, (stream.at += size.next().value));
        watcher.chunk(stream.key, time++, bytes);
      }
    for (const { key } of streams) {
      watcher.end(key, time, CLOSED);
      assert.equal(watcher.report(key).deltas, 60);
      watcher.forget(key);
    }
    return watcher.memory.buffer.byteLength;
  });
}

for (const [open, most] of [
  [1, 300],
  [10, 3000],
  [100, 3000],
])
  test(`memory is constant for ${open} streams, ${most}-byte reads`, () => {
    // Each round has other sizes of reads: the first few rounds may not have the largest ones at the same time.
    const bytes = measured(Math.ceil(300 / open) + 8, open, most).slice(4);
    assert.deepEqual(bytes, Array(bytes.length).fill(bytes[0]));
    assert.ok(bytes[1] <= 131_072 + 65_536 + open * 8192, `${bytes[1]} bytes with ${open} open`);
  });
