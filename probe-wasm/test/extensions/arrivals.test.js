// Arrivals: in which step a delta counts, how steps grow, and what is asked of the watcher.

import assert from "node:assert/strict";
import { test } from "node:test";

import { arrivals } from "../../js/extensions/arrivals.js";
import { OPEN } from "../../js/tap/tap-events.js";

/** A watcher in which each byte is a delta. */
function countingWatcher() {
  let deltas = 0;
  const watcher = {
    memory: {},
    asked: 0,
    chunk: (key, time, bytes) => ((deltas += bytes.length), 7),
    report: () => (watcher.asked++, { deltas }),
  };
  return watcher;
}

/** A stream with these chunks, each a time and a number of deltas. */
function streamOf(chunks, watcher = countingWatcher()) {
  const { onEvent, addFields } = arrivals()({});
  const stream = { key: 1, watcher };
  onEvent(stream, OPEN);
  read(stream, chunks);
  const arrivalsOf = (more) => {
    const report = { ...watcher.report(), ...more };
    addFields(report, stream);
    return report.arrivals;
  };
  return { stream, watcher, arrivalsOf };
}

function read(stream, chunks) {
  for (const [time, deltas] of chunks) assert.equal(stream.watcher.chunk(1, time, new Uint8Array(deltas)), 7);
}

test("each step has its share of the busiest one", () => {
  const { arrivalsOf } = streamOf([[100, 4], [105, 6], [110, 1], [139, 5]]);
  assert.equal(arrivalsOf(), "0z40i");
});

test("a single delta beside a burst is not nothing", () => {
  assert.equal(streamOf([[0, 1], [10, 1000], [30, 0]]).arrivalsOf(), "01z00");
});

test("steps double until the stream fits into 44", () => {
  const { arrivalsOf } = streamOf(Array.from({ length: 100 }, (_, at) => [at * 100, 1]));
  // Steps of 10 ms, doubled five times.
  assert.match(arrivalsOf(), /^5[1-z]{31}$/);
  for (const [lastMs, field] of [[439, /^0z.{43}$/], [440, /^1z.{22}$/], [879, /^1z.{43}$/]])
    assert.match(streamOf([[0, 1], [lastMs, 1]]).arrivalsOf(), field, `${lastMs}`);
});

test("the field takes at most 60 bytes of a beacon", () => {
  for (const lengthMs of [1, 439, 60_000, 225_279, 86_400_000, Number.MAX_SAFE_INTEGER]) {
    const arrivals = streamOf([[0, 900], [lengthMs / 3, 40], [lengthMs, 1]]).arrivalsOf();
    const bytes = JSON.stringify({ id: "0", arrivals }).length - JSON.stringify({ id: "0" }).length;
    assert.ok(bytes <= 60, `${bytes} bytes: ${arrivals}`);
  }
});

test("an infinite time moves no step", () => {
  for (const time of [Infinity, -Infinity]) {
    assert.equal(streamOf([[0, 1], [time, 1], [15, 2]]).arrivalsOf(), "0zz");
    assert.equal(streamOf([[time, 1], [0, 1], [15, 2]]).arrivalsOf(), "0zz");
  }
});

test("a stall shows where it was", () => {
  const before = Array.from({ length: 20 }, (_, at) => [at * 50, 1]);
  const after = Array.from({ length: 20 }, (_, at) => [5000 + at * 50, 1]);
  assert.match(streamOf([...before, ...after]).arrivalsOf(), /^4[1-z]{6,8}0{20,}[1-z]{6,8}$/);
});

test("the watcher is asked once a step", () => {
  const { watcher } = streamOf(Array.from({ length: 1000 }, (_, at) => [at, 1]));
  assert.ok(watcher.asked < 110, `${watcher.asked}`);
});

test("a stream that the full Wasm reads again counts once", () => {
  const { stream, arrivalsOf } = streamOf([[0, 3], [10, 3]]);
  const full = countingWatcher();
  stream.watcher = full;
  read(stream, [[0, 1], [10, 1], [20, 2]]);
  assert.equal(arrivalsOf(full.report()), "0iiz");
});

test("streams without text and open ones have none", () => {
  assert.equal(streamOf([[0, 0]]).arrivalsOf(), undefined);
  assert.equal(streamOf([[0, 3]]).arrivalsOf({ open: true }), undefined);
});
