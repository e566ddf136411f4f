// The element that counts as the output, by where text grows.

import assert from "node:assert/strict";
import { test } from "node:test";

import { firstGrowth, record } from "../../js/extensions/text-growth.js";

function element(name, parentNode) {
  const made = { name, parentNode };
  made.contains = (other) => {
    for (; other; other = other.parentNode) if (other == made) return true;
    return false;
  };
  return made;
}

const body = element("body");
const chat = element("chat", body);
const answer = element("answer", chat);
const [first, second] = [element("p", answer), element("p", answer)];
const clock = element("clock", body);
const title = element("title", body);

const text = (target, before, after) => ({
  type: "characterData",
  target: { parentNode: target, length: after },
  oldValue: "x".repeat(before),
  addedNodes: [],
});
const nodes = (...lengths) => lengths.map((length) => ({ textContent: "x".repeat(length) }));
const children = (target, added, removed) => ({ type: "childList", target, addedNodes: nodes(...added), removedNodes: nodes(...removed) });

/** The frame of the first growth in the output. Each change has its own frame, and is late from `lateFrom` on. */
function frameOf(changes, lateFrom) {
  const records = [];
  changes.forEach((change, frame) => record(records, [change], { frame, late: frame >= lateFrom }));
  return firstGrowth(records)?.frame;
}

test("text that is added or that gets longer grows", () => {
  assert.equal(frameOf([children(answer, [5], [])]), 0);
  assert.equal(frameOf([text(first, 0, 5)]), 0);
});

test("an output of several elements is one", () => {
  assert.equal(frameOf([children(chat, [0], []), text(first, 0, 5), text(first, 5, 60), text(second, 0, 80)]), 1);
});

test("a text rewritten with each token grows by its new part", () => {
  assert.equal(frameOf([children(answer, [4], []), children(answer, [9], [4]), children(answer, [14], [9])]), 0);
});

test("a clock and a spinner are no output", () => {
  assert.equal(frameOf([children(clock, [8], [8]), text(clock, 8, 9), text(clock, 9, 8), text(first, 0, 4)]), 3);
  assert.equal(frameOf([children(clock, [8], [8])]), undefined);
});

test("a title that grows a little beside the answer is no output", () => {
  assert.equal(frameOf([text(title, 0, 5), text(first, 0, 10), text(first, 10, 90)]), 1);
});

test("text that vanishes is no output", () => {
  assert.equal(frameOf([children(chat, [20], []), children(chat, [], [20]), text(first, 0, 5)]), 2);
  assert.equal(frameOf([]), undefined);
});

test("late text is the output only if it continues to grow", () => {
  const typed = [5, 6, 7, 8].map((length) => text(first, length - 1, length));
  assert.equal(frameOf([text(title, 0, 12)], 0), undefined);
  assert.equal(frameOf([text(title, 0, 2), text(title, 2, 12)], 0), undefined);
  assert.equal(frameOf(typed, 0), 0);
  assert.equal(frameOf([text(first, 0, 12)], 1), 0);
});

test("no more is kept than an answer needs to begin", () => {
  const records = [];
  for (let at = 0; at < 1000; at++) record(records, [text(first, at, at + 1)], { frame: at });
  assert.equal(records.length, 300);
});
