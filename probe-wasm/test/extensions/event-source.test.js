// Streams over EventSource: the events of the tap for what a page does with its sources.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { eventSource } from "../../js/extensions/event-source.js";
import { CANCELLED, CHUNK, HEADERS, OPEN, READ } from "../../js/tap/tap-events.js";
import { FIRST_TOKEN } from "../../js/session/progress-flags.js";

class Source extends EventTarget {
  url = "https://chat.example/events";
  close() {}
}

let faults;
let told;
let times;
let opened;

beforeEach(() => {
  [faults, told, times, opened] = [0, [], [], []];
  globalThis.self = { EventSource: Source };
  // A real channel keeps Node running.
  globalThis.MessageChannel = class {
    port1 = {};
    port2 = { postMessage: () => queueMicrotask(() => this.port1.onmessage()) };
  };
});

function guard(job) {
  try {
    return job();
  } catch {
    faults++;
  }
}

/** The class of a watched page. */
function watched(options) {
  const emit = (stream, moment, value, time) => {
    if (moment == OPEN) opened.push(stream);
    if (moment == CHUNK) {
      stream.seen = FIRST_TOKEN;
      times.push(time);
    }
    told.push(moment == CHUNK ? new TextDecoder().decode(value) : moment);
  };
  eventSource(options)({ emit, guard, attempt: guard });
  return self.EventSource;
}

/** The server sends `data` in an event of this name. */
const say = (source, type, data) => source.dispatchEvent(Object.assign(new Event(type), { data, lastEventId: "" }));

test("named events are reported once the app listens to them", () => {
  const source = new (watched())();
  source.dispatchEvent(new Event("open"));
  say(source, "delta", "unheard");
  source.addEventListener("delta", () => {});
  say(source, "delta", "one");
  say(source, "message", "two");
  source.close();
  assert.deepEqual(told, [OPEN, HEADERS, READ, "event: delta\ndata: one\n\n", "data: two\n\n", CANCELLED]);
});

test("a name that is no text is read by the browser alone, once", () => {
  const source = new (watched())();
  let reads = 0;
  source.addEventListener({ toString: () => `${reads++}` }, () => {});
  assert.throws(() => source.addEventListener(Symbol("delta"), () => {}), TypeError);
  assert.deepEqual([reads, faults], [1, 0]);
});

test("a subclass with its own `addEventListener` is observed", () => {
  class Mine extends watched() {
    handlers = new Map();
    addEventListener(type, listener) {
      this.handlers.set(type, listener);
      super.addEventListener(type, listener);
    }
  }
  const source = new Mine();
  source.addEventListener("delta", () => {});
  say(source, "delta", "one");
  source.close();
  assert.deepEqual([faults, [...source.handlers.keys()]], [0, ["delta"]]);
  assert.deepEqual(told, [OPEN, "event: delta\ndata: one\n\n", CANCELLED]);
});

test("the events of one task are reported with one time", async () => {
  const source = new (watched())();
  for (const data of ["one", "two", "three"]) {
    say(source, "message", data);
    for (const end = performance.now() + 2; performance.now() < end; );
  }
  await null;
  say(source, "message", "four");
  await null;
  assert.deepEqual(told, [OPEN, "data: one\n\n", "data: two\n\ndata: three\n\n", "data: four\n\n"]);
  const [first, more, later] = times;
  assert.ok(more < first && first - more < 0.01, "more of the same read");
  assert.ok(later > first);
});

test("the app gives options to the streams of an address", () => {
  const optionsOf = (url) => ({ useCase: url.split("/").at(-1) });
  const source = new (watched({ optionsOf }))();
  source.dispatchEvent(new Event("open"));
  source.dispatchEvent(new Event("error"));
  source.dispatchEvent(new Event("open"));
  assert.deepEqual(opened.map(({ own_ }) => own_), [{ useCase: "events" }, { useCase: "events" }], "each response has them");
  const optionsOfNone = () => {
    throw new Error("a mistake of the app");
  };
  new (watched({ optionsOf: optionsOfNone }))();
  assert.deepEqual([opened.length, opened[2].own_], [3, undefined], "without options it is watched all the same");
});
