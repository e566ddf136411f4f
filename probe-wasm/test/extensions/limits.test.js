// Whatever the clock shows, and whatever the app and the browser say: no extension makes a report that the collector
// refuses.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, mock, test } from "node:test";

import { arrivals } from "../../js/extensions/arrivals.js";
import { gradio } from "../../js/extensions/gradio.js";
import { marks } from "../../js/extensions/marks.js";
import { networkTiming } from "../../js/extensions/network-timing.js";
import { output } from "../../js/extensions/output.js";
import { paint } from "../../js/extensions/paint.js";
import { probeOverhead } from "../../js/extensions/probe-overhead.js";
import { traceId } from "../../js/extensions/trace-id.js";
import { visits } from "../../js/extensions/visits.js";
import { PAGE_GONE } from "../../js/session/end-reasons.js";
import { Session } from "../../js/session/session.js";
import { CHUNK, CLOSED, HEADERS, OPEN, READ } from "../../js/tap/tap-events.js";
import { problemsOf } from "../report-limits.js";
import { fakeObserver } from "./fake-observer.js";

const { createWatcher } = await import("../dist/watcher.mjs");
const wasm = new WebAssembly.Module(readFileSync(new URL("../../dist/llm-rum.wasm", import.meta.url)));

// One for all runs: it looks for the smallest step of the real clock when it is made.
const watcher = createWatcher(wasm, () => {}, () => {});

/** One of a queue of Gradio, and one of another app. */
const URLS = ["https://llm.example/queue/data", "https://llm.example/chat"];
/** Clocks by name: the time after each time. */
const CLOCKS = {
  "goes on": (time, random) => time + random * 50,
  "stands still": (time) => time,
  "steps back": (time, random) => time - random * 1000,
  "steps back and goes on": (time, random) => time + (random < 0.3 ? -700 : random * 100),
  "jumps by days": (time, random) => time + (random < 0.2 ? 3e8 : random * 100),
  "shows no time": () => NaN,
  "shows no time at times": (time, random) => (random < 0.3 ? NaN : 1e4 + random * 1e4),
};
const NAMES = ["a", "end_of_search", "a-b.c:d", "x".repeat(33), "two words", "\u200b", "", "-", "a.b.c.d.e", 7, null];
const NUMBERS = [0, -1, 0.0004, 17, 1e4, 5e8, 1e300, NaN, Infinity, undefined];
const TRACE = `00-${"4bf92f3577b34da6a3ce929d0e0e4736"}-00f067aa0ba902b7-01`;
const TRACES = [TRACE, TRACE.toUpperCase(), `00-${"0".repeat(32)}-00f067aa0ba902b7-01`, "a secret", ""];

let seed, now, after, url, frames, body, observed, resources, probe, extensions, session, reports;

const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
const oneOf = (list) => list[Math.floor(random() * list.length)];
const tick = () => (now = after(now, random()));

class Element {
  textContent = "";
  isConnected = true;
  childNodes = [];

  constructor(parentNode) {
    this.parentNode = parentNode;
  }

  contains = (other) => other == this || other?.parentNode == this;
  checkVisibility = () => true;
  closest = () => undefined;
  querySelectorAll = () => [];
}

beforeEach(() => {
  seed = 1;
  mock.timers.enable({ apis: ["setTimeout"] });
  performance.now = () => now;
  globalThis.window = new EventTarget();
  Object.defineProperty(globalThis, "navigator", { configurable: true, value: { userAgent: "Mozilla/5.0" } });
  globalThis.getComputedStyle = () => ({ display: "block" });
  globalThis.requestAnimationFrame = (job) => frames.push(job);
  globalThis.sessionStorage = {};
});

afterEach(() => {
  delete performance.now;
  mock.timers.reset();
});

/** A page with these extensions. */
function startPage(used) {
  [now, frames, body, resources, reports, probe] = [1e4, [], new Element(), {}, [], {}];
  const empty = { querySelector: () => null, querySelectorAll: () => [] };
  globalThis.document = Object.assign(new EventTarget(), { hidden: false, onfreeze: null, ...empty });
  globalThis.PerformanceObserver = class {
    static supportedEntryTypes = ["resource", "long-animation-frame"];
    constructor(callback) {
      this.callback = callback;
    }
    observe({ type }) {
      resources[type] = (entry) => this.callback({ getEntries: () => [entry] });
    }
    disconnect() {}
  };
  observed = fakeObserver();
  const keep = (json) => (json && reports.push(JSON.parse(json)), json);
  session = new Session(watcher, {
    describe: () => ({ page: {} }),
    guard: (job) => job(),
    onFirst: (make) => keep(make()),
    onEnd: (make) => keep(make()),
    enrich,
  });
  extensions = used.map((extension) => extension()({ probe, guard: (job) => job(), emit: handle }));
}

/** As `js/page/probe.js` does it. */
function enrich(stream, json, goes) {
  const report = JSON.parse(json);
  for (const { addFields } of extensions) addFields?.(report, stream, goes);
  return report.id ? JSON.stringify(report) : "";
}

function handle(stream, event, value, time) {
  session.take(stream, event, value, time);
  for (const { onEvent } of extensions) onEvent?.(stream, event, value, time, stream.watcher);
}

function send(time, blindly) {
  const sent = session.body(time, blindly);
  if (!sent) return false;
  for (const { onSend } of extensions) onSend?.(sent);
  reports.push(...JSON.parse(sent).reports);
  if (!blindly) session.answered(204, 0, time, 0);
  return true;
}

/** Text grows in the page, and a frame shows it. */
function grow(element) {
  const childNodes = [{ nodeType: 3, data: "word", isConnected: true }];
  const text = Object.assign(new Element(element), { textContent: "word", childNodes });
  element.textContent += text.textContent;
  observed.changed({ type: "childList", target: element, addedNodes: [text], removedNodes: [] });
  tick();
  for (const job of frames.splice(0)) job();
}

function entryOfRequest() {
  const names = ["requestStart", "responseStart", "responseEnd", "connectStart", "connectEnd", "secureConnectionStart"];
  const more = ["domainLookupStart", "domainLookupEnd", "workerStart"];
  const times = Object.fromEntries([...names, ...more].map((name) => [name, oneOf(NUMBERS)]));
  return { name: url, startTime: 1e4, nextHopProtocol: oneOf(["h2", "h9", ""]), ...times };
}

/** What may happen beside the bytes of a stream. */
const INCIDENTS = [
  () => probe.mark?.(oneOf(NAMES)),
  () => probe.userStopped?.(),
  () => document.dispatchEvent(new Event("freeze")),
  () => {
    document.hidden = !document.hidden;
    document.dispatchEvent(new Event("visibilitychange"));
  },
  () => resources["long-animation-frame"]?.({ startTime: oneOf(NUMBERS), duration: oneOf(NUMBERS) }),
  () => resources.resource?.(entryOfRequest()),
  () => grow(body),
  () => send(tick()),
];

function text(word) {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: word } }] })}\n\n`;
}

function readStream() {
  url = oneOf(URLS);
  const stream = { time: tick(), url, bodies_: 1 };
  handle(stream, OPEN, undefined, stream.time);
  const headers = new Headers({ "content-type": "text/event-stream", traceresponse: oneOf(TRACES) });
  handle(stream, HEADERS, { status: 200, url, headers }, tick());
  handle(stream, READ, undefined, tick());
  for (const chunk of [text("a"), text("b"), text("c"), "data: [DONE]\n\n"]) {
    if (random() < 0.8) handle(stream, CHUNK, new TextEncoder().encode(chunk), tick());
    for (let count = random() * 4; count > 1; count--) oneOf(INCIDENTS)();
  }
  if (random() < 0.7) handle(stream, CLOSED, undefined, tick());
}

/** An answer that is seen only as the page grows. */
function growAnswer() {
  const field = Object.assign(new Element(body), { value: "Why?" });
  for (const [type, more] of [["input"], ["keydown", { key: "Enter" }]]) {
    const event = Object.assign(new Event(type), { composedPath: () => [field, body], ...more });
    Object.defineProperty(event, "timeStamp", { value: tick() });
    window.dispatchEvent(event);
  }
  field.value = "";
  mock.timers.tick(1);
  for (let count = random() * 4; count > 0; count--) grow(body);
  if (random() < 0.5) mock.timers.tick(6000);
}

function leavePage() {
  session.flushSoon(tick(), PAGE_GONE, tick());
  while (send(tick(), 1));
  for (const { stop } of extensions) stop?.();
}

/** Lets many streams pass by each clock, and returns the names of all fields that their reports had. */
function checkReports(used, happens) {
  const fields = new Set();
  for (const [name, next] of Object.entries(CLOCKS)) {
    after = next;
    for (let run = 0; run < 300; run++) {
      startPage(used);
      happens();
      leavePage();
      for (const report of reports) {
        assert.deepEqual(problemsOf(report), [], `${name}: ${JSON.stringify(report)}`);
        for (const field in report) fields.add(field);
      }
    }
  }
  return fields;
}

test("no report is refused for a field of an extension", () => {
  const used = [marks, arrivals, visits, traceId, gradio, networkTiming, paint, probeOverhead];
  const fields = checkReports(used, readStream);
  const own = "marks arrivals visit trace_id network_timing page_lifecycle ttfp_ms probe_overhead";
  for (const field of own.split(" ")) assert.ok(fields.has(field), `no report had \`${field}\``);
});

test("no report is refused for an answer that is only seen to grow", () => {
  const fields = checkReports([output, visits, probeOverhead], growAnswer);
  for (const field of ["observed", "ttfp_ms", "e2e_ms", "visit"]) assert.ok(fields.has(field), `no report had \`${field}\``);
});
