// Which frame is told of which answer, in a page of which only what `paint` looks at is there.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { paint } from "../js/more/paint.js";
import { CHUNK, CLOSED } from "../js/moments.js";
import { END_MARKER, FIRST_TOKEN, FIRST_VISIBLE } from "../js/seen.js";

const VISIBLE = FIRST_TOKEN | FIRST_VISIBLE;

let now, changed, observing, frames, idle, probe, extension, body;

class Element {
  textContent = "";
  isConnected = true;
  rendered = true;
  display = "block";

  constructor(parentElement) {
    this.parentElement = parentElement;
  }

  contains(other) {
    for (; other; other = other.parentElement) if (other == this) return true;
    return false;
  }

  checkVisibility() {
    for (let node = this; node; node = node.parentElement) if (!node.rendered) return false;
    return this.display != "contents";
  }
}

beforeEach(() => {
  [now, observing, frames, idle, body] = [1000, false, [], [], new Element()];
  mock.restoreAll();
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  mock.method(performance, "now", () => now);
  globalThis.window = { requestIdleCallback: (job) => idle.push(job) };
  globalThis.document = Object.assign(new EventTarget(), { hidden: false });
  globalThis.getComputedStyle = ({ display }) => ({ display });
  globalThis.requestAnimationFrame = (job) => frames.push(job);
  globalThis.MutationObserver = class {
    constructor(callback) {
      changed = (...changes) => observing && callback(changes);
    }
    observe() {
      observing = true;
    }
    disconnect() {
      observing = false;
    }
  };
  globalThis.MessageChannel = class {
    port1 = {};
    port2 = { postMessage: () => this.port1.onmessage({}) };
  };
  probe = {};
  extension = paint()({ probe, guard: (job) => job() });
});

/** A frame is presented, so many milliseconds later. */
function frame(ms = 10) {
  pass(ms);
  for (const job of frames.splice(0)) job();
}

function pass(ms) {
  now += ms;
  mock.timers.tick(ms);
  for (const job of idle.splice(0)) job();
}

function grow(element, chars) {
  element.textContent += "x".repeat(chars);
  changed({ type: "childList", target: element, addedNodes: [{ textContent: "x".repeat(chars), contains: () => false }], removedNodes: [] });
}

/** The element comes to the page with what is in it. */
function insert(element) {
  element.isConnected = true;
  changed({ type: "childList", target: element.parentElement, addedNodes: [element], removedNodes: [] });
}

function chunk(stream, seen = VISIBLE) {
  stream.seen |= seen;
  stream.read = now;
  extension.saw(stream, CHUNK, undefined, now);
  return stream;
}

/** An answer whose first visible text comes now. */
const answer = () => chunk({ time: now - 100 });
const ended = (stream) => extension.saw(stream, CLOSED, undefined, now);

/** `ttfp_ms` of a stream that came to its first visible text after 100 ms. */
function painted(stream) {
  const report = { ttfv_ms: 100 };
  extension.add(report, stream);
  return report.ttfp_ms;
}

test("the first frame with the text in it is told", () => {
  const [output, stream] = [new Element(body), answer()];
  grow(output, 5);
  frame();
  grow(output, 5);
  frame();
  assert.equal(painted(stream), 110);
});

test("after an answer without visible text nothing is looked at", () => {
  ended(chunk({ time: now }, FIRST_TOKEN));
  assert.equal(observing, false);
  // Some clients stop reading at the end marker.
  chunk({ time: now }, FIRST_TOKEN | END_MARKER);
  assert.equal(observing, false);
});

test("of an answer that is over a stream holds nothing of the page", () => {
  const [output, stream] = [new Element(body), answer()];
  grow(output, 5);
  frame();
  ended(stream);
  frame(4000);
  grow(output, 1);
  assert.equal(observing, false);
  assert.equal(painted(stream), 110);
  assert.equal(stream.paint.records, undefined);
});

test("in a worker there is nothing to see", () => {
  delete globalThis.document;
  assert.deepEqual(paint()({ probe }), {});
});
