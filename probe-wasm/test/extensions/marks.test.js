// Marks: which stream gets them, which names are accepted, and how many.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { marks } from "../../js/extensions/marks.js";
import { END_MARKER } from "../../js/session/progress-flags.js";
import { CHUNK, CLOSED, OPEN } from "../../js/tap/tap-events.js";

let now;

beforeEach(() => {
  now = 1000;
  mock.restoreAll();
  mock.method(performance, "now", () => now);
});

function used() {
  const core = { probe: {}, guard: (job) => job() };
  const { onEvent, addFields } = marks()(core);
  const mark = (name, at) => {
    now = at;
    core.probe.mark(name);
  };
  const open = (time) => {
    const stream = { time };
    onEvent(stream, OPEN, undefined, time);
    return stream;
  };
  const marksOf = (stream) => {
    const report = {};
    addFields(report, stream);
    return report.marks?.map(({ name, at_ms }) => `${name} ${at_ms}`);
  };
  return { mark, open, onEvent, marksOf };
}

test("a mark belongs to the newest open stream", () => {
  const { mark, open, onEvent, marksOf } = used();
  const first = open(1000);
  mark("retrieval", 1120.5);
  const second = open(1200);
  mark("rerank", 1300);
  onEvent(second, CLOSED, undefined, 1400);
  mark("tool_call", 1500);
  assert.deepEqual(marksOf(first), ["retrieval 120.5", "tool_call 500"]);
  assert.deepEqual(marksOf(second), ["rerank 100"]);
});

test("a stream after its end marker gets no mark", () => {
  const { mark, open, onEvent, marksOf } = used();
  const stream = open(1000);
  stream.seen = END_MARKER;
  onEvent(stream, CHUNK, new Uint8Array(1), 1100);
  mark("late", 1200);
  assert.equal(marksOf(stream), undefined);
});

test("a stream keeps its first eight marks", () => {
  const { mark, open, marksOf } = used();
  const stream = open(1000);
  for (let at = 1; at < 20; at++) mark(`m${at}`, 1000 + at);
  assert.deepEqual(marksOf(stream), [1, 2, 3, 4, 5, 6, 7, 8].map((at) => `m${at} ${at}`));
});

test("a text that is no short name is ignored", () => {
  const { mark, open, marksOf } = used();
  const stream = open(1000);
  const texts = ["", "-", "my secret", "a\nb", "who?", "five-words-are-one-more", "x".repeat(33), "\u5bc6", 7, null];
  for (const text of [...texts, Symbol("x"), { toString: () => "name" }]) mark(text, 1100);
  assert.equal(marksOf(stream), undefined);
  for (const name of ["retrieval", "after_tool_call", "v1.2", "x".repeat(32)]) mark(name, 1100);
  assert.equal(marksOf(stream).length, 4);
});

test("streams of the time before the load get their marks", () => {
  const { mark, open, onEvent, marksOf } = used();
  mark("before", 900);
  mark("first", 1010);
  mark("between", 1150);
  mark("second", 1210);
  const one = open(1000);
  onEvent(one, CLOSED, undefined, 1100);
  const other = open(1200);
  assert.deepEqual(marksOf(one), ["first 10"]);
  assert.deepEqual(marksOf(other), ["second 10"]);
});

test("a clock that throws does not reach the app's call of mark()", () => {
  let faults = 0;
  const guard = (job) => {
    try {
      return job();
    } catch {
      faults++;
    }
  };
  const core = { probe: {}, guard };
  marks()(core);
  mock.method(performance, "now", () => {
    throw new Error("the page's clock");
  });
  core.probe.mark("tool");
  assert.equal(faults, 1);
});
