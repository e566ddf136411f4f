// Measures answers whose streams cannot be read: from the user's gesture until the text in the page grows no more. Of the
// text only lengths and moments are kept.

import { CANCELLED, CHUNK, CLOSED, OPEN } from "../tap/tap-events.js";
import { FrameClock } from "./frame-clock.js";
import { ownTexts, TypedText } from "./own-message.js";
import { CODE, isOf, pathOf, rootsIn, textsIn } from "./page-text.js";
import { roundMs } from "./round-ms.js";
import { isSeen, TEXT_CHANGES } from "./text-growth.js";

/** What shows that an app is at work. Here and below, what has a `data-test` is Streamlit's. */
const BUSY = '[aria-busy="true"], [data-test-script-state="running"]';
/** Text that is never an answer: a draft, and the name of an icon in a font of icons. */
const NO_TEXT = 'textarea, [contenteditable="true"], [aria-hidden="true"]';
/** Parts of a page that hold no answers, if the app does not name those that do. */
const NO_OUTPUT =
  'header, footer, nav, aside, form, button, [role="button"], [role="status"], [role="alert"], [role="progressbar"]';
const STOP = '[data-llm-stop], [data-testid="stStatusWidget"] button';
/** Before the app hears of the event, and clears the field. */
const CAPTURE = { capture: true };
/** Attributes show whether the app is at work. */
const CHANGES = { ...TEXT_CHANGES, attributes: true };
/** More than an app changes in a frame. Where no frame is presented, changes are not kept without end. */
const MAX_CHANGES = 1000;

/** A gesture that nothing follows for this long asked nothing. */
const WAIT_MS = 30_000;
/** An app that does not show that it is at work has ended after this silence. */
const QUIET_MS = 5000;
/** Text that follows the end of the work within this time belongs to the answer. */
const SETTLE_MS = 500;
/** An app that is at work for this long after its last text has forgotten to say that it ended. */
const SILENCE_MS = 120_000;

/**
 * The watcher reads a growth as an event with text. It counts gaps and stalls by the times of these, and `addFields`
 * drops what else it makes of them.
 */
const GROWTH = new TextEncoder().encode('data: {"choices":[{"delta":{"content":"."}}]}\n\n');
const END = new TextEncoder().encode('data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
/** Defects that growth can show. */
const SEEN_DEFECTS = ["stall"];
const OF_NETWORK = ["submit_delay_ms", "first_byte_ms", "first_event_ms", "ttft_ms", "ttfv_ms", "dialect", "finish_reason"];

/** Reports answers as `observed: "output"`. */
export const output = (options = {}) => (core) => {
  // A worker shows nothing.
  if (!globalThis.document) return {};
  const { output, ignore, input, send, stop = STOP, busy = BUSY, quietMs = QUIET_MS } = options;
  const leftOut = [CODE, NO_TEXT, ...(ignore ? [ignore] : []), ...(output ? [] : [NO_OUTPUT])].join(", ");
  const { guard, emit } = core;
  const cleanups = [];
  /** By their streams. */
  const answers = new WeakMap();
  /** What follows the last question, until it ends. */
  let answer, timer;
  const typed = new TypedText(input);
  const observer = new MutationObserver((changes) => guard(() => answer && onChanges(changes)));
  const frames = new FrameClock(guard, onPresented);

  listen("input", (event) => typed.note(event));
  listen("submit", (event) => ask(event, (before, now) => now.length <= before.length));
  listen("keydown", (event) => {
    // With Shift, and in a field that keeps the text, it is a new line.
    if (event.key == "Enter" && !event.shiftKey && !event.isComposing && typed.isIn(event))
      ask(event, (before, now) => now.length <= before.length);
  });
  listen("click", (event) => {
    if (isOn(event, stop)) stopped(event.timeStamp);
    else if (send && isOn(event, send)) ask(event, () => true, true);
    else ask(event, (before, now) => !now.trim());
  });

  return {
    addFields,
    stop() {
      for (const cleanup of cleanups) cleanup();
      frames.stop();
      if (answer) end(CLOSED, answer.lastAt ?? performance.now());
    },
  };

  function listen(type, onEvent) {
    const listener = (event) => guard(() => onEvent(event));
    window.addEventListener(type, listener, CAPTURE);
    cleanups.push(() => window.removeEventListener(type, listener, CAPTURE));
  }

  /** Begins an answer if `isSent`, which gets the typed text before and after the gesture. */
  function ask({ timeStamp }, isSent, isNamed) {
    const before = typed.text();
    if (!before.trim() && !isNamed) return;
    // What grows in the same task is the user's own message, or a sign that the app waits.
    setTimeout(() => guard(() => isSent(before, typed.text()) && begin(timeStamp, before)), 0);
  }

  function begin(time, question) {
    // One gesture may be several events.
    if (answer?.question == question && time - answer.time < SETTLE_MS) return;
    if (answer) end(answer.growths ? CLOSED : CANCELLED, answer.lastAt ?? performance.now());
    // Text nodes have their last known length in `lengths`.
    const texts = { lengths: new WeakMap(), own: new WeakSet(), known: new WeakMap() };
    answer = { ...texts, time, question, changes: [], roots: new Set(), growths: 0 };
    observer.observe(document, CHANGES);
    watchRoots(document);
    watchBusy();
  }

  /**
   * Observes open shadow roots in the node. Their text came with the node, unless there is a `frame`: then a root was
   * attached later, and its text came in that frame.
   */
  function watchRoots(node, frame) {
    for (const root of rootsIn(node)) {
      if (answer.roots.has(root)) continue;
      answer.roots.add(root);
      observer.observe(root, CHANGES);
      if (frame) note({ target: root.host, addedNodes: [root], removedNodes: [] }, frame);
      watchRoots(root);
    }
  }

  function onChanges(changes) {
    const ofText = changes.filter(({ type }) => type != "attributes");
    if (ofText.length) {
      const { hidden } = document;
      const frame = hidden ? undefined : frames.next();
      for (const change of ofText) note(change, frame);
      for (const { addedNodes } of ofText) for (const node of addedNodes) watchRoots(node);
      if (hidden) grow(answer.changes.splice(0), performance.now());
    }
    watchBusy();
  }

  function onPresented(frame) {
    if (!answer) return;
    const isDue = (change) => change.frame == frame;
    // An element may get its root after it was inserted.
    for (const { added } of answer.changes.filter(isDue)) for (const node of added) watchRoots(node, frame);
    const { changes } = answer;
    answer.changes = changes.filter((change) => !isDue(change));
    grow(changes.filter(isDue), frame.at ?? performance.now(), frame.at);
  }

  /**
   * Notes by how much the change made each text of answers longer. A text is compared with its last known length, and
   * observers are called after the task: so several changes in a task count once, and a text that only moved did not grow.
   */
  function note({ type, target, oldValue, addedNodes, removedNodes }, frame) {
    const isText = type == "characterData";
    const place = isText ? (target.parentNode ?? target) : target;
    const path = pathOf(place);
    if (answer.changes.length >= MAX_CHANGES || path.some((node) => isOf(node, leftOut))) return;
    const within = path.some((node) => isOf(node, output)) ? undefined : output;
    const growths = new Map();
    const look = (nodes, lengthBefore) => {
      for (const text of textsIn(nodes, leftOut, within)) {
        const before = answer.lengths.get(text) ?? lengthBefore(text);
        const now = text.isConnected ? lengthOf(text.data) : 0;
        answer.lengths.set(text, now);
        if (now != before) growths.set(text, now - before);
      }
    };
    if (isText) look([target], () => lengthOf(oldValue));
    look(removedNodes, ({ data }) => lengthOf(data));
    look(addedNodes, () => 0);
    answer.changes.push({ frame, target: place, path, added: [...addedNodes], growths });
  }

  /** The changes were presented at `at`. Only a frame of a visible page is `painted`. */
  function grow(changes, at, painted) {
    const seen = changes.filter((change) => change.growths.size && isSeen(change, answer.known));
    // Once is enough: if the app draws the user's message again, it goes and comes with the same length.
    const isFirst = !answer.growths;
    if (isFirst) for (const change of seen) for (const text of ownTexts(change, answer.question)) answer.own.add(text);
    let chars = 0;
    for (const { growths } of seen)
      for (const [text, more] of growths) if (!isFirst || !answer.own.has(text)) chars += more;
    if (chars <= 0) return;
    open();
    if (isFirst) answer.paintedAt = painted;
    answer.growths++;
    answer.lastAt = at;
    emit(answer.stream, CHUNK, GROWTH, at);
    schedule();
  }

  function watchBusy() {
    for (const root of answer.roots) if (!root.isConnected) answer.roots.delete(root);
    const isBusy = [document, ...answer.roots].some((root) => root.querySelector(busy));
    if (isBusy) open();
    if (answer.isBusy && !isBusy) answer.idleAt = performance.now();
    if (isBusy == answer.isBusy) return;
    answer.isBusy = isBusy;
    schedule();
  }

  /** The first sign that the gesture asked something. */
  function open() {
    if (answer.stream) return;
    answer.stream = { time: answer.time, isOutput: true };
    answers.set(answer.stream, answer);
    emit(answer.stream, OPEN, undefined, answer.time);
  }

  function schedule() {
    clearTimeout(timer);
    const { growths, isBusy, idleAt } = answer;
    if (isBusy && !growths) return;
    const ms = isBusy ? SILENCE_MS : idleAt ? SETTLE_MS : growths ? quietMs : WAIT_MS;
    timer = setTimeout(() => guard(() => end(CLOSED, Math.max(answer.lastAt ?? 0, answer.idleAt ?? 0))), ms);
  }

  function stopped(time) {
    if (!answer) return;
    open();
    end(CANCELLED, Math.max(time, answer.lastAt ?? 0));
  }

  function end(event, time) {
    clearTimeout(timer);
    observer.disconnect();
    const { stream, growths } = answer;
    // Nothing of the page is kept.
    for (const name of ["question", "changes", "roots", "known", "lengths", "own"]) delete answer[name];
    answer = undefined;
    if (!stream) return;
    if (event == CLOSED && growths) emit(stream, CHUNK, END, time);
    emit(stream, event, undefined, time);
  }

  function addFields(report, stream) {
    const seen = answers.get(stream);
    if (!seen) return;
    const { time, growths, paintedAt, lastAt } = seen;
    for (const field of OF_NETWORK) delete report[field];
    for (const defect in report.defects) if (!SEEN_DEFECTS.includes(defect)) delete report.defects[defect];
    // Without Wasm nothing tells the end from a cut.
    if (growths && report.outcome == "unobserved") report.outcome = "complete";
    Object.assign(report, { observed: "output", chunks: growths, events: 0, bytes: 0, deltas: growths });
    report.ttfp_ms = paintedAt && roundMs(paintedAt - time);
    report.e2e_ms = lastAt && roundMs(lastAt - time);
  }
};

/** Blanks at the ends show nothing. */
function lengthOf(text) {
  return text.trim().length;
}

/** Whether the event is on an element of the selector. Out here the target inside a shadow root is its host. */
function isOn(event, selector) {
  return event.composedPath().some((node) => node.matches?.(selector));
}
