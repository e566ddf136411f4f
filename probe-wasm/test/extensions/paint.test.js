// The frame that a stream gets as its first paint, in a page that has only what `paint` reads.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { paint } from "../../js/extensions/paint.js";
import { CHUNK, CLOSED } from "../../js/tap/tap-events.js";
import { NEEDS_FULL_WASM, END_MARKER, FIRST_TOKEN, FIRST_VISIBLE } from "../../js/session/progress-flags.js";
import { fakeObserver } from "./fake-observer.js";

const VISIBLE = FIRST_TOKEN | FIRST_VISIBLE;

let now, observer, frames, idle, probe, extension, body;

class Element {
  textContent = "";
  isConnected = true;
  rendered = true;
  display = "block";

  constructor(parentNode) {
    this.parentNode = parentNode;
  }

  contains(other) {
    for (; other; other = other.parentNode) if (other == this) return true;
    return false;
  }

  checkVisibility() {
    for (let node = this; node; node = node.parentNode) if (!node.rendered) return false;
    return this.display != "contents";
  }
}

beforeEach(() => {
  [now, frames, idle, body] = [1000, [], [], new Element()];
  mock.restoreAll();
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  mock.method(performance, "now", () => now);
  globalThis.window = { requestIdleCallback: (job) => idle.push(job) };
  globalThis.document = Object.assign(new EventTarget(), { hidden: false });
  globalThis.getComputedStyle = ({ display }) => ({ display });
  globalThis.requestAnimationFrame = (job) => frames.push(job);
  observer = fakeObserver();
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
  const text = { textContent: "x".repeat(chars), contains: () => false };
  element.textContent += text.textContent;
  observer.changed({ type: "childList", target: element, addedNodes: [text], removedNodes: [] });
}

/** The element comes into the page with its content. */
function insert(element) {
  element.isConnected = true;
  observer.changed({ type: "childList", target: element.parentNode, addedNodes: [element], removedNodes: [] });
}

function chunk(stream, seen = VISIBLE) {
  stream.seen |= seen;
  stream.read = now;
  extension.onEvent(stream, CHUNK, undefined, now);
  return stream;
}

/** A stream whose first visible text comes now. */
const answer = () => chunk({ time: now - 100 });
const ended = (stream) => extension.onEvent(stream, CLOSED, undefined, now);

/** `ttfp_ms` of a stream with its first visible text after 100 ms. */
function painted(stream) {
  const report = { ttfv_ms: 100 };
  extension.addFields(report, stream);
  return report.ttfp_ms;
}

test("the first frame with the text in it is reported", () => {
  const [output, stream] = [new Element(body), answer()];
  grow(output, 5);
  frame();
  grow(output, 5);
  frame();
  assert.equal(painted(stream), 110);
});

test("a clock that steps back shows no time of the paint", () => {
  const [output, stream] = [new Element(body), answer()];
  grow(output, 5);
  now -= 50;
  for (const job of frames.splice(0)) job();
  assert.equal(painted(stream), undefined, "the collector refuses a paint before the text");
});

/** A stream whose first visible text came after that time, while the full Wasm is still loading. */
const unread = (ms = 100) => chunk({ time: now - ms }, NEEDS_FULL_WASM);

/** The full Wasm has loaded, and another chunk has come. */
function read(stream) {
  stream.seen = 0;
  chunk(stream);
}

test("text shown before the Wasm loads is reported afterwards", () => {
  const [output, status, stream] = [new Element(body), new Element(body), unread()];
  grow(output, 5);
  frame();
  grow(output, 5);
  frame(800);
  read(stream);
  grow(output, 5);
  grow(status, 2);
  frame();
  assert.equal(painted(stream), 110);
});

test("growth before the first text of an early stream is ignored", () => {
  const [output, earlier] = [new Element(body), new Element(body)];
  const stream = unread(60);
  grow(earlier, 50);
  frame();
  pass(30);
  grow(output, 5);
  frame();
  read(stream);
  assert.equal(painted(stream), 110);
});

test("an ended early stream keeps its frame for three seconds", () => {
  for (const [ms, frameMs] of [[2000, 110], [4000, undefined]]) {
    const [output, stream] = [new Element(body), unread()];
    grow(output, 5);
    frame();
    ended(stream);
    // Until then there are no times.
    extension.addFields({}, stream);
    pass(ms);
    grow(new Element(body), 1);
    assert.equal(painted(stream), frameMs);
    frame(4000);
    grow(output, 1);
    assert.deepEqual([observer.observing, stream.paint.records], [false, undefined]);
  }
});

test("late growth in an early stream counts only if it continues", () => {
  const [label, stream] = [new Element(body), unread()];
  pass(300);
  grow(label, 5);
  frame();
  read(stream);
  assert.equal(painted(stream), undefined);
  for (const at of [1, 2]) frame(grow(label, at));
  assert.equal(painted(stream), 410);
});

test("a stream with a late first text has its frame", () => {
  const [output, status] = [new Element(body), new Element(body)];
  const stream = unread(-9900);
  grow(status, 50);
  frame();
  stream.seen = 0;
  pass(9990);
  chunk(stream);
  grow(output, 5);
  frame();
  assert.equal(painted(stream), 110);
});

test("a stream before its Wasm keeps only recent growth records", () => {
  const [output, stream] = [new Element(body), unread()];
  for (const at of [1, 2, 3]) frame(grow(output, at));
  frame(4000);
  frame(grow(output, 1));
  assert.equal(stream.paint.records.length, 1);
});

test("a stream with text before the observation has no frame", () => {
  const [output, stream] = [new Element(body), unread(300)];
  frame(grow(output, 5));
  read(stream);
  frame(grow(output, 5));
  assert.equal(painted(stream), undefined);
});

test("no element is observed after a stream without visible text", () => {
  ended(chunk({ time: now }, FIRST_TOKEN));
  assert.equal(observer.observing, false);
  // Some clients stop reading at the end marker.
  chunk({ time: now }, FIRST_TOKEN | END_MARKER);
  assert.equal(observer.observing, false);
});

test("an ended stream keeps no reference to page elements", () => {
  const [output, stream] = [new Element(body), answer()];
  grow(output, 5);
  frame();
  ended(stream);
  frame(4000);
  grow(output, 1);
  assert.equal(observer.observing, false);
  assert.equal(painted(stream), 110);
  const { records, outputs } = stream.paint;
  assert.deepEqual([records, outputs], [undefined, undefined]);
});

test("an output inserted with its first text has its insert frame", () => {
  probe.watchOutput(new Element(body));
  for (const named of [(name) => name(), (name) => mock.timers.tick(0, name())]) {
    const output = Object.assign(new Element(body), { textContent: "Hello", isConnected: false });
    const stream = answer();
    insert(output);
    named(() => probe.watchOutput(output));
    frame();
    frame(700);
    grow(output, 5);
    frame();
    assert.equal(painted(stream), 110);
    ended(stream);
  }
});

test("an output inserted empty ignores the text beside it", () => {
  probe.watchOutput(new Element(body));
  const stream = answer();
  const message = Object.assign(new Element(body), { textContent: "Assistant" });
  const output = new Element(message);
  insert(message);
  probe.watchOutput(output);
  frame();
  grow(output, 5);
  // An app may name the output with each text.
  probe.watchOutput(output);
  frame();
  assert.equal(painted(stream), 120);
});

test("each of two streams has the frame of its own output or none", () => {
  const [one, other] = [new Element(body), new Element(body)];
  probe.watchOutput(one);
  probe.watchOutput(other);
  const first = answer();
  grow(one, 5);
  frame();
  const second = answer();
  grow(one, 5);
  frame();
  assert.deepEqual([first, second].map(painted), [110, undefined]);
  grow(other, 5);
  frame();
  assert.deepEqual([first, second].map(painted), [110, 120]);
});

test("two streams that start before any text have no frame", () => {
  const [one, other] = [new Element(body), new Element(body)];
  probe.watchOutput(one);
  probe.watchOutput(other);
  const streams = [answer(), answer()];
  grow(one, 5);
  frame();
  grow(other, 5);
  frame();
  assert.deepEqual(streams.map(painted), [undefined, undefined]);
});

test("growth of a long stream is not attributed to the next one", () => {
  const [output, long] = [new Element(body), answer()];
  grow(output, 5);
  frame();
  frame(4000);
  grow(output, 5);
  chunk(long);
  const next = answer();
  grow(output, 5);
  frame();
  assert.deepEqual([long, next].map(painted), [110, undefined]);
  // A stream that the app reads no longer is not open.
  frame(4000);
  const last = answer();
  grow(output, 5);
  frame();
  assert.equal(painted(last), 110);
});

test("an element that is not rendered is no output", () => {
  const [output, data, stream] = [new Element(body), new Element(body), answer()];
  Object.assign(data, { textContent: "x".repeat(500), rendered: false });
  insert(data);
  frame();
  grow(output, 5);
  frame();
  assert.equal(painted(stream), 120);
  ended(stream);

  probe.watchOutput(output);
  output.rendered = false;
  const unseen = answer();
  grow(output, 5);
  frame();
  // The time when the text before it was shown is unknown.
  output.rendered = true;
  grow(output, 5);
  frame();
  assert.equal(painted(unseen), undefined);
});

test("the page is asked once where text grows, not with each text", () => {
  const output = new Element(body);
  const asked = mock.method(output, "checkVisibility");
  const stream = answer();
  for (let count = 0; count < 20; count++) {
    grow(output, 5);
    frame();
  }
  assert.equal(painted(stream), 110);
  assert.equal(asked.mock.callCount(), 1);
});

test("an element without a box or already removed counts as shown", () => {
  const output = Object.assign(new Element(body), { display: "contents" });
  const stream = answer();
  grow(output, 5);
  frame();
  assert.equal(painted(stream), 110);
  ended(stream);

  const [message, next] = [Object.assign(new Element(body), { textContent: "Hello" }), answer()];
  insert(message);
  Object.assign(message, { isConnected: false, rendered: false });
  frame();
  assert.equal(painted(next), 110);
});

test("a label that changes late in an idle page is no output", () => {
  const stream = answer();
  pass(300);
  grow(new Element(body), 20);
  frame();
  assert.equal(painted(stream), undefined);
});

test("a page that is busy shows its text when it can", () => {
  const busy = [];
  window.requestIdleCallback = (job) => busy.push(job);
  const stream = answer();
  pass(300);
  grow(new Element(body), 20);
  frame();
  assert.equal(painted(stream), 410);
});

test("a worker has no paint extension", () => {
  delete globalThis.document;
  assert.deepEqual(paint()({ probe }), {});
});

test("a late stream does not affect the frame of the next one", () => {
  probe.watchOutput(new Element(body));
  const late = { time: now - 200, seen: VISIBLE, read: now };
  extension.onEvent(late, CHUNK, undefined, now - 100);
  pass(500);
  const [output, stream] = [new Element(body), answer()];
  probe.watchOutput(output);
  grow(output, 5);
  frame();
  assert.equal(painted(late), undefined);
  assert.equal(painted(stream), 110);
});
