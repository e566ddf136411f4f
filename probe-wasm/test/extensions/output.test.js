// Answers that are seen only as they grow, in a page that has only what `output` reads.

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { output } from "../../js/extensions/output.js";
import { CANCELLED, CHUNK, CLOSED, OPEN } from "../../js/tap/tap-events.js";
import { fakeObserver } from "./fake-observer.js";

let now, observer, frames, busy, events, extension, body;

class Element {
  isConnected = true;
  #text = "";
  children = [];

  constructor(kind, parentNode, text = "") {
    this.kind = kind;
    this.parentNode = parentNode;
    this.#text = text;
    parentNode?.children.push(this);
  }

  get textContent() {
    return this.#text + this.children.map(({ textContent }) => textContent).join("");
  }

  matches(selector) {
    return selector.split(", ").includes(this.kind);
  }

  closest(selector) {
    for (let node = this; node; node = node.parentNode) if (node.matches(selector)) return node;
  }

  querySelectorAll(selector) {
    return this.children.flatMap((child) => [...(child.matches(selector) ? [child] : []), ...child.querySelectorAll(selector)]);
  }

  checkVisibility() {
    return true;
  }
}

beforeEach(() => {
  [now, frames, busy, events] = [1000, [], false, []];
  body = new Element("body");
  mock.restoreAll();
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  mock.method(performance, "now", () => now);
  globalThis.window = new EventTarget();
  globalThis.document = Object.assign(new EventTarget(), { hidden: false, querySelector: () => (busy ? body : null) });
  globalThis.requestAnimationFrame = (job) => frames.push(job);
  observer = fakeObserver();
  start();
});

afterEach(() => extension.stop());

/** The extension with other options. */
function restart(options) {
  extension.stop();
  start(options);
}

function start(options) {
  events = [];
  const emit = (stream, event, value, time) => events.push([event, time, stream]);
  extension = output(options)({ emit, guard: (job) => job() });
}

function pass(ms) {
  now += ms;
  mock.timers.tick(ms);
}

/** A frame is presented, so many milliseconds later. */
function frame(ms = 10) {
  pass(ms);
  for (const job of frames.splice(0)) job();
}

function gesture(type, target, more) {
  const path = [target, body];
  const event = Object.assign(new Event(type), { composedPath: () => path, ...more });
  Object.defineProperty(event, "timeStamp", { value: now });
  window.dispatchEvent(event);
}

/** The user types the text into a field and presses Enter. The app clears the field. */
function ask(text, { keeps = "", field = new Element("textarea") } = {}) {
  field.value = text;
  gesture("input", field);
  gesture("keydown", field, { key: "Enter" });
  field.value = keeps;
  pass(1);
  return field;
}

/** An element with the text comes into the page. */
function add(text, parent = body, kind = "p") {
  const element = new Element(kind, parent, text);
  observer.changed({ type: "childList", target: parent, addedNodes: [element], removedNodes: [] });
  return element;
}

/** The app begins or ends its work. */
function setBusy(isBusy) {
  busy = isBusy;
  observer.changed({ type: "attributes", target: body });
}

/** Events and their times since the gesture. */
const emitted = (from = 1000) => events.map(([event, time]) => [event, time - from]);

function report(more) {
  const [, , stream] = events[0];
  const made = { outcome: "complete", dialect: "openai_chat", ttft_ms: 9, ttfv_ms: 9, finish_reason: "stop", ...more };
  extension.addFields(made, stream);
  return made;
}

test("the answer lasts from the gesture to the last growth", () => {
  ask("Why?");
  pass(400);
  add("Because");
  frame();
  pass(300);
  add("of that");
  frame();
  pass(5000);
  const marker = [CHUNK, 721];
  assert.deepEqual(emitted(), [[OPEN, 0], [CHUNK, 411], [CHUNK, 721], marker, [CLOSED, 721]]);
  assert.equal(observer.observing, false);
  const made = { outcome: "complete", observed: "output", chunks: 2, events: 0, bytes: 0, deltas: 2 };
  assert.deepEqual(report(), { ...made, ttfp_ms: 411, e2e_ms: 721 });
});

test("the app's work ends the answer, and silence does not", () => {
  ask("Why?");
  setBusy(true);
  assert.deepEqual(emitted(), [[OPEN, 0]], "a wait is reported before there is text");
  pass(20_000);
  add("Because");
  frame();
  pass(30_000);
  add("of that");
  frame();
  pass(9);
  setBusy(false);
  pass(500);
  assert.deepEqual(emitted().at(-1), [CLOSED, 50_030]);
});

test("text right after the work belongs to the answer", () => {
  ask("Why?");
  setBusy(true);
  setBusy(false);
  pass(300);
  add("Because");
  frame();
  pass(500);
  assert.deepEqual(emitted().map(([event]) => event), [OPEN, CHUNK, CHUNK, CLOSED]);
});

test("an app that worked and showed nothing has an empty answer", () => {
  ask("Why?");
  setBusy(true);
  pass(800);
  setBusy(false);
  pass(500);
  assert.deepEqual(emitted(), [[OPEN, 0], [CLOSED, 801]]);
  assert.equal(report({ outcome: "empty" }).ttfp_ms, undefined);
});

test("the user's own message is not the answer", () => {
  ask("Is it **bold**?");
  pass(50);
  const message = new Element("div", undefined, "face ");
  message.children.push(new Element("p", undefined, "Is it bold?"));
  observer.changed({ type: "childList", target: body, addedNodes: [message], removedNodes: [] });
  frame();
  assert.deepEqual(events, []);
  const said = add("", body);
  said.children.push(new Element("#text", undefined, "Is it bold?"));
  observer.changed({ type: "childList", target: said, addedNodes: [...said.children], removedNodes: [] });
  frame();
  assert.deepEqual(events, []);
  add("Is it bold? Yes.");
  frame();
  assert.equal(emitted().length, 2);
});

test("text in parts that hold no answers is left out", () => {
  ask("Why?");
  add("smart_toy", body, '[aria-hidden="true"]');
  add("Running…", body, "header");
  add("Stop", new Element("button", body), "span");
  add("Running…", new Element("header", body));
  frame();
  assert.deepEqual(events, []);
  restart({ output: "answer", ignore: "thinking" });
  ask("Why?");
  add("menu");
  const answer = new Element("answer", body);
  const thinking = add("Thinking…", answer, "thinking");
  frame();
  assert.deepEqual(events, []);
  const text = new Element("p", answer, "Yes");
  observer.changed({ type: "childList", target: answer, addedNodes: [text], removedNodes: [thinking] });
  frame();
  assert.equal(emitted().length, 2, "a text that is shorter than what it replaces");
});

test("a gesture that asks nothing measures nothing", () => {
  const field = new Element("textarea");
  gesture("keydown", field, { key: "Enter" });
  gesture("click", body);
  ask("two\nlines", { keeps: "two\nlines\n" });
  field.value = "a draft";
  gesture("input", field);
  gesture("click", body);
  gesture("keydown", body, { key: "Enter" });
  gesture("keydown", field, { key: "Enter", shiftKey: true });
  pass(1);
  assert.equal(observer.observing, false);
  ask("Why?");
  pass(30_000);
  assert.equal(observer.observing, false, "nothing followed");
  assert.deepEqual(events, []);
});

test("only fields and buttons that the app names ask", () => {
  restart({ input: "question", send: "suggestion" });
  ask("a filter");
  assert.equal(observer.observing, false);
  gesture("click", new Element("suggestion"));
  pass(1);
  assert.equal(observer.observing, true);
  restart({ input: "question", send: "suggestion" });
  ask("Why?", { field: new Element("question") });
  assert.equal(observer.observing, true);
});

test("a click asks if it empties the field, and a form once", () => {
  const field = new Element("textarea");
  field.value = "Why?";
  gesture("input", field);
  gesture("click", body);
  gesture("submit", body);
  field.value = "";
  pass(1);
  add("Because");
  frame();
  assert.deepEqual(emitted().map(([event]) => event), [OPEN, CHUNK]);
});

test("Stop ends the answer as cancelled", () => {
  ask("Why?");
  add("Because");
  frame();
  pass(100);
  gesture("click", new Element("[data-llm-stop]"));
  add("more");
  frame();
  assert.deepEqual(emitted().at(-1), [CANCELLED, 111]);
});

test("a new question ends the answer before it", () => {
  ask("Why?");
  add("Because");
  frame();
  pass(1000);
  ask("And?");
  assert.deepEqual(emitted().at(-1), [CLOSED, 11]);
  add("So");
  frame();
  assert.deepEqual(emitted(2011).at(-2), [OPEN, 0]);
});

test("text that grows in a hidden page was not painted", () => {
  ask("Why?");
  document.hidden = true;
  pass(100);
  add("Because");
  document.hidden = false;
  document.dispatchEvent(new Event("visibilitychange"));
  add("of that");
  frame();
  pass(5000);
  const { ttfp_ms, e2e_ms, deltas } = report();
  assert.deepEqual([ttfp_ms, e2e_ms, deltas], [undefined, 111, 2]);
});

test("without Wasm an answer with text is complete", () => {
  ask("Why?");
  add("Because");
  frame();
  pass(5000);
  const { outcome, defects } = report({ outcome: "unobserved", defects: { stall: 1, coarse: 1 } });
  assert.deepEqual([outcome, defects], ["complete", { stall: 1 }]);
});

test("reports of other streams are left alone", () => {
  const other = { ttft_ms: 5 };
  extension.addFields(other, { time: 1 });
  assert.deepEqual(other, { ttft_ms: 5 });
});
