// The script tag of the extensions beside the tag of the probe: buffering before there is a probe, and the hand-over.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { ASKED, CHUNK, HEADERS, OPEN, READ } from "../../js/tap/tap-events.js";
import { bufferInto } from "../../js/tap/early-buffer.js";

class Source extends EventTarget {
  url = "https://chat.example/events";
  close() {}
}

class Socket extends EventTarget {
  OPEN = 1;
  readyState = 1;
  constructor(url) {
    super();
    this.url = url;
  }
  send() {}
  close() {}
}

globalThis.reportError = assert.ifError;
// Node's own channels keep it running as long as they are open.
globalThis.MessageChannel = class {
  port1 = {};
  port2 = { postMessage: () => setImmediate(() => this.port1.onmessage()) };
};

let loaded, buffered, used, tags = 0;

beforeEach(() => {
  [loaded, buffered, used] = [[], [], 0];
  globalThis.self = globalThis.window = { EventSource: Source, WebSocket: Socket };
});

/** Loads the tag of the extensions. */
async function tag(dataset) {
  globalThis.document = {
    currentScript: { dataset },
    addEventListener: (type, listener) => loaded.push(listener),
    removeEventListener: () => (loaded = []),
  };
  await import(`../../js/entry/extensions-script.js?${tags++}`);
}

/** A probe that still loads its Wasm, and buffers events. */
function probe() {
  const emit = bufferInto(buffered);
  const call = (job) => job();
  return {
    use(...extensions) {
      used++;
      for (const extend of extensions) extend({ emit, guard: call, attempt: call, url: "", openReports: () => [] });
    },
  };
}

/** Loads the other tag, which starts a probe if it names a site. */
function otherTag({ site }) {
  const start = () => (running ??= probe());
  let running;
  window.llmRum = { start, probe: site && start() };
  for (const listener of loaded) listener();
}

/** A response that begins with this event. */
function answer(data = "one") {
  const source = new window.EventSource();
  source.dispatchEvent(new Event("open"));
  source.dispatchEvent(Object.assign(new Event("message"), { data, lastEventId: "" }));
}

const moments = () => buffered.map(([, moment]) => moment);

test("early events reach the probe that the other tag starts", async () => {
  await tag({ with: "eventSource" });
  answer();
  otherTag({ site: "demo" });
  assert.deepEqual(moments(), [OPEN, HEADERS, READ, CHUNK]);
});

test("early events reach a probe that the page starts, once", async () => {
  await tag({ with: "eventSource" });
  answer();
  otherTag({});
  assert.deepEqual(moments(), []);
  const probe = window.llmRum.start({ site: "demo" });
  assert.deepEqual(moments(), [OPEN, HEADERS, READ, CHUNK]);
  assert.equal(window.llmRum.start({ site: "demo" }), probe);
  answer();
  assert.deepEqual([moments().length, used], [8, 1]);
});

test("names may be separated by any blanks", async () => {
  await tag({ with: "\n  eventSource\n  webSocket\t" });
  assert.notEqual(window.EventSource, Source);
  assert.notEqual(window.WebSocket, Socket);
});

test("the probe counts a stream that overflowed the early buffer", async () => {
  await tag({ with: "eventSource" });
  answer("x".repeat(1_200_000));
  otherTag({ site: "demo" });
  assert.deepEqual(buffered.map(([{ overflowed_ }, event]) => [overflowed_, event]), [[true, OPEN]]);
});

test("the tag selects watched sockets and their requests", async () => {
  await tag({ with: "webSocket", socket: "/chat", asks: '"prompt"' });
  otherTag({ site: "demo" });
  new window.WebSocket("wss://page.example/news").send('{"prompt":1}');
  const socket = new window.WebSocket("wss://page.example/chat");
  socket.send('{"type":"ping"}');
  assert.deepEqual(moments(), []);
  socket.send('{"prompt":1}');
  assert.deepEqual(moments(), [OPEN, ASKED, READ]);
});
