// Answers that are seen only as they grow, in a page that has only what `output` reads.

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { output } from "../../js/extensions/output.js";
import { CANCELLED, CHUNK, CLOSED, OPEN } from "../../js/tap/tap-events.js";
import { fakeObserver } from "./fake-observer.js";

let now, observer, frames, busy, events, extension, body;

class Text {
  nodeType = 3;
  childNodes = [];

  constructor(data, parentNode) {
    Object.assign(this, { data, parentNode });
  }

  get textContent() {
    return this.data;
  }

  get isConnected() {
    return isInPage(this);
  }
}

class Element {
  nodeType = 1;
  childNodes = [];

  constructor(kind, parentNode, text = "") {
    this.kind = kind;
    if (text) this.childNodes.push(new Text(text, this));
    if (parentNode) this.moveTo(parentNode);
  }

  moveTo(parentNode) {
    this.parentNode = parentNode;
    parentNode.childNodes.push(this);
  }

  remove() {
    const { childNodes } = this.parentNode;
    childNodes.splice(childNodes.indexOf(this), 1);
    this.parentNode = null;
  }

  attachShadow({ mode }) {
    const root = Object.assign(new Element("#root"), { nodeType: 11, host: this });
        if (mode == "open") this.shadowRoot = root;
    return root;
  }

  get isConnected() {
    return isInPage(this);
  }

  get textContent() {
    return this.childNodes.map(({ textContent }) => textContent).join("");
  }

  matches(selector) {
    return selector.split(", ").includes(this.kind);
  }

  closest(selector) {
    for (let node = this; node; node = node.parentNode) if (node.matches(selector)) return node;
  }

  querySelectorAll(selector) {
    const elements = this.childNodes.filter((child) => child instanceof Element);
    const isFound = (child) => (selector == "*" ? true : child.matches(selector));
    return elements.flatMap((child) => [...(isFound(child) ? [child] : []), ...child.querySelectorAll(selector)]);
  }

  querySelector() {
    return null;
  }

  checkVisibility() {
    return true;
  }
}

/** Whether the node is in the page, also through shadow roots. */
function isInPage(node) {
  while (node && node != body) node = node.parentNode ?? node.host;
  return !!node;
}

beforeEach(() => {
  [now, frames, busy, events] = [1000, [], false, []];
  body = new Element("body");
  mock.restoreAll();
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  mock.method(performance, "now", () => now);
  globalThis.window = new EventTarget();
  const find = { querySelector: () => (busy ? body : null), querySelectorAll: (selector) => body.querySelectorAll(selector) };
  globalThis.document = Object.assign(new EventTarget(), { hidden: false, ...find });
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

/** Tells the observer of the change, if it observes the tree of the target. */
function changed(target, addedNodes, removedNodes = []) {
  let root = target;
  while (root.parentNode) root = root.parentNode;
  if (observer.targets.has(root == body ? document : root))
    observer.changed({ type: "childList", target, addedNodes, removedNodes });
}

/** An element with an open shadow root, and the root. */
function component(parent, mode = "open") {
  const host = new Element("x-part", parent);
  return [host, host.attachShadow({ mode })];
}

/** How many frames have been counted as growth of the answer. */
const growths = () => events.filter(([event]) => event == CHUNK).length;

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
  const message = new Element("div", body, "face ");
  new Element("p", message, "Is it bold?");
  observer.changed({ type: "childList", target: body, addedNodes: [message], removedNodes: [] });
  frame();
  assert.deepEqual(events, []);
  const said = add("", body);
  said.childNodes.push(new Text("Is it bold?", said));
  observer.changed({ type: "childList", target: said, addedNodes: [...said.childNodes], removedNodes: [] });
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
  thinking.remove();
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

test("text that grows in nested shadow roots is the answer's", () => {
  const [, log] = component(body);
  new Element("p", log, "What was said before");
  ask("Why?");
  const [message, outer] = component();
  const [, inner] = component(outer);
  const text = new Element("p", inner, "Because");
  message.moveTo(log);
  changed(log, [message]);
  frame();
  assert.deepEqual(emitted(), [[OPEN, 0], [CHUNK, 11]]);
  frame();
  assert.equal(growths(), 1, "what came with the element came once");
  const more = new Text(" of that", text);
  text.childNodes.push(more);
  changed(text, [more]);
  frame();
  assert.equal(growths(), 2);
  more.data += ".";
  observer.changed({ type: "characterData", target: more, oldValue: " of that", addedNodes: [], removedNodes: [] });
  frame();
  assert.equal(growths(), 3);
});

test("a closed shadow root stays unseen", () => {
  ask("Why?");
  const [host, root] = component(body, "closed");
  new Element("p", root, "Because");
  changed(body, [host]);
  changed(root, root.childNodes);
  frame();
  assert.deepEqual(events, []);
});

test("style in a shadow root, and blanks, are no text", () => {
  ask("Why?");
  const [host, root] = component(body);
  const style = new Element("style", root, ":host { display: flex }");
  changed(body, [host]);
  frame();
  const rule = new Text("p { margin: 0 }", style);
  style.childNodes.push(rule);
  changed(style, [rule]);
  const blank = new Text("\n", root);
  root.childNodes.push(blank);
  changed(root, [blank]);
  frame();
  assert.deepEqual(events, []);
});

test("the user's own message in nested roots is not the answer", () => {
  ask("Is it **bold**?");
  const [message, outer] = component(body);
  new Element("style", outer, ":host { display: flex }");
  new Element("span", outer, "You, 10:31");
  const [, inner] = component(outer);
  new Element("style", inner, "p { margin: 0 }");
  new Element("p", inner, "Is it bold?");
  changed(body, [message]);
  frame();
  assert.deepEqual(events, []);
});

test("a message that is drawn again did not grow", () => {
  const [host, root] = component(body);
  const old = new Element("p", root, "What was said before");
  ask("Why is it so?");
  const draw = (text, removed) => {
    removed.remove();
    const drawn = new Element("p", root, text);
    changed(root, [drawn], [removed]);
    return drawn;
  };
  draw("What was said before", old);
  host.remove();
  changed(body, [], [host]);
  host.moveTo(body);
  changed(body, [host]);
  frame();
  assert.deepEqual(events, [], "not by a move either");
  const question = new Element("p", root, "Why is it so?");
  changed(root, [question]);
  frame();
  const again = draw("Why is it so?", question);
  const answer = new Element("p", root, "So");
  changed(root, [answer]);
  frame();
  assert.equal(growths(), 1, "an answer that is shorter than the question");
  const last = draw("So", answer);
  draw("Why is it so?", again);
  frame();
  assert.equal(growths(), 1);
  draw("So it", last);
  frame();
  assert.equal(growths(), 2);
});

test("text that is added within one task counts once", () => {
  ask("Why?");
  const old = add("Because", body);
  frame();
  old.remove();
  const drawn = new Element("p", body, "Because");
  changed(body, [], [old]);
  changed(body, [drawn]);
  changed(drawn, [...drawn.childNodes]);
  frame();
  assert.equal(growths(), 1);
});

test("a root that is attached before the frame has text", () => {
  ask("Why?");
  const host = new Element("x-part", body);
  changed(body, [host]);
  const root = host.attachShadow({ mode: "open" });
  new Element("p", root, "Because");
  frame();
  assert.deepEqual(emitted(), [[OPEN, 0], [CHUNK, 11]]);
  const more = new Element("p", root, "of that");
  changed(root, [more]);
  frame();
  assert.equal(growths(), 2);
});

test("parts of the page are left out and named through roots", () => {
  const [, header] = component(new Element("header", body));
  const [, answer] = component(new Element("answer", body));
  const [, thinking] = component(new Element("thinking", answer));
  const say = (root) => changed(root, [new Element("p", root, "Because")]);
  ask("Why?");
  say(header);
  frame();
  assert.deepEqual(events, []);
  restart({ output: "answer", ignore: "thinking" });
  ask("Why?");
  for (const root of [header, body, thinking]) say(root);
  frame();
  assert.deepEqual(events, []);
  say(answer);
  frame();
  assert.equal(growths(), 1);
  const [part, root] = component(body);
  new Element("p", new Element("answer", root), "of that");
  changed(body, [part]);
  frame();
  assert.equal(growths(), 2, "a part with an answer in it");
});

test("an app shows in a shadow root that it is at work", () => {
  const [, root] = component(body);
  ask("Why?");
  root.querySelector = () => root;
  observer.changed({ type: "attributes", target: root });
  assert.deepEqual(emitted(), [[OPEN, 0]]);
  root.querySelector = () => null;
  observer.changed({ type: "attributes", target: root });
  pass(500);
  assert.equal(events.at(-1)[0], CLOSED);
});

test("an answer that ended leaves no root observed", () => {
  const [, root] = component(body);
  ask("Why?");
  assert.deepEqual([...observer.targets], [document, root]);
  pass(30_000);
  assert.deepEqual([...observer.targets], []);
});
