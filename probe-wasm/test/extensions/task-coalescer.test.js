// Parts that sources get in one task are passed on as one read, at the right time.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createTaskCoalescer } from "../../js/extensions/task-coalescer.js";

let channels = 0;
let posted = 0;
const port1 = {};

// A real channel keeps Node running.
globalThis.MessageChannel = class {
  constructor() {
    channels++;
    Object.assign(this, { port1, port2: { postMessage: () => posted++ } });
  }
};

/** Delivers the posted messages. */
function deliver(count = posted) {
  posted -= count;
  while (count--) port1.onmessage();
}

test("sources are flushed after their tasks over one channel", () => {
  const told = [];
  const [one, other] = ["one", "other"].map((name) => createTaskCoalescer((text) => told.push(`${name}: ${text}`)));
  one.put("a", true);
  one.put("b", true);
  other.put("c", true);
  deliver(1);
  other.put("d", true);
  assert.deepEqual(told, ["one: ab"]);
  deliver();
  assert.deepEqual(told, ["one: ab", "other: cd"]);
  for (let source = 0; source < 100; source++) createTaskCoalescer(() => {}).put("x", true);
  deliver();
  assert.equal(channels, 1);
});

test("an urgent item flushes earlier ones at once and only once", () => {
  const told = [];
  const burst = createTaskCoalescer((text) => told.push(text));
  burst.put("a", true);
  burst.put("b", false);
  assert.deepEqual(told, ["ab"]);
  deliver();
  assert.deepEqual(told, ["ab"]);
});

test("items of one task share one time, and later ones do not", (context) => {
  let now = 100;
  context.mock.method(performance, "now", () => now++);
  const told = [];
  const burst = createTaskCoalescer((text, time) => told.push([text, time]));
  burst.put("a", false);
  burst.put("b", false);
  burst.put("c", true);
  burst.put("d", true);
  deliver();
  burst.put("e", true);
  burst.flush();
  burst.put("f", true);
  deliver();
  assert.deepEqual(told, [["a", 100], ["b", 100 - 0.001], ["cd", 100 - 0.001 - 0.001], ["e", 101], ["f", 102]]);
});
