// Streams over XMLHttpRequest, in a browser that follows the standard for options that the app sets late.

import assert from "node:assert/strict";
import { test } from "node:test";

import { failures } from "../../js/extensions/failures.js";
import { xhr } from "../../js/extensions/xhr.js";
import { CANCELLED, CHUNK, CLOSED, FAILED, FORGET, HEADERS, OPEN, READ, WHOLE } from "../../js/tap/tap-events.js";

class Request extends EventTarget {
  readyState = 0;
  responseType = "";
  status = 200;
  text = "";
  open() {
    this.readyState = 1;
  }
  send() {}
  abort() {
    this.readyState = 0;
  }
  setRequestHeader(name) {
    if (typeof name == "symbol") throw new TypeError("a name is a text");
  }
  getResponseHeader = () => "text/event-stream";
  get responseText() {
    if (!/^(text)?$/.test(this.responseType)) throw new DOMException("no text", "InvalidStateError");
    return this.text;
  }
  comes(readyState, text = "") {
    this.readyState = readyState;
    this.text += text;
    this.dispatchEvent(new Event("readystatechange"));
  }
}

/** A request of a watched page, the events of its streams, and the number of our faults. */
function page(options, probe) {
  const chat = { told: [], moments: [], faults: 0 };
  const guard = (job) => {
    try {
      return job();
    } catch {
      chat.faults++;
    }
  };
  globalThis.self = { XMLHttpRequest: Request };
  const emit = (stream, moment, value, time) => {
    chat.moments.push(moment);
    chat.told.push([stream, moment, value, time]);
  };
  const extension = xhr(options)({ probe, emit, guard, attempt: guard });
  return Object.assign(chat, extension, { request: new self.XMLHttpRequest() });
}

const ASK = '{"stream":true}';

/** The events of a response. */
function told(choose) {
  const { request, moments, stop } = page();
  request.open("POST", "/chat");
  request.send(ASK);
  choose(request);
  request.comes(2);
  request.comes(3, "data: one\n\n");
  request.comes(3, "data: two\n\n");
  request.dispatchEvent(new Event("load"));
  stop();
  return moments;
}

test("growing text is reported chunk by chunk", () => {
  assert.deepEqual(told(() => {}), [OPEN, HEADERS, READ, CHUNK, CHUNK, CLOSED]);
});

test("a response type other than text hides the chunks", () => {
  assert.deepEqual(told((request) => (request.responseType = "blob")), [OPEN, HEADERS, READ, WHOLE]);
});

test("a request reopened before its headers is a new stream", (t) => {
  const { request, told } = page();
  for (const time of [10, 500]) {
    t.mock.method(performance, "now", () => time);
    request.open("POST", "/chat");
    request.send(ASK);
  }
  const [one, , other] = told.map(([stream]) => stream);
  assert.deepEqual(
    told.map(([stream, moment, , time]) => [stream, moment, time]),
    [[one, OPEN, 10], [one, CANCELLED, 500], [other, OPEN, 500]],
  );
  assert.equal(other.time, 500);
});

test("an abort without an event ends the stream", () => {
  const { request, told } = page();
  // As in Chromium: the probe's own listener comes first.
  request.addEventListener("progress", () => request.abort());
  request.open("POST", "/chat");
  request.send(ASK);
  request.comes(2);
  request.text = "data: [DONE]\n\n";
  request.dispatchEvent(new Event("progress"));
  const moments = told.map(([, moment]) => moment);
  assert.deepEqual(moments, [OPEN, HEADERS, READ, CHUNK, FAILED], "the text came before the abort");
  assert.equal(told.at(-1)[2].name, "AbortError");
});

test("an abort after the end, or before a request, is no event", () => {
  const { request, moments } = page();
  request.abort();
  request.open("POST", "/chat");
  request.abort();
  request.open("POST", "/chat");
  request.send(ASK);
  request.comes(2);
  request.dispatchEvent(new Event("load"));
  request.abort();
  request.dispatchEvent(new Event("abort"));
  assert.deepEqual(moments, [OPEN, HEADERS, READ, CLOSED]);
});

test("only asynchronous requests are observed", () => {
  for (const [rest, expected] of [[[], [OPEN]], [[true], [OPEN]], [[undefined], []], [[false], []]]) {
    const { request, moments } = page();
    request.open("POST", "/chat", ...rest);
    request.send(ASK);
    assert.deepEqual(moments, expected, `${rest}`);
  }
});

test("`isStream` gets each address as a string", () => {
  const asked = [];
  const { request, moments, faults } = page({ isStream: (url) => asked.push(url) && url.includes("/chat") });
  for (const address of ["/chat", new URL("https://rum.example/chat")]) {
    request.open("GET", address);
    request.send();
    request.comes(2);
  }
  assert.deepEqual([asked, faults], [["/chat", "https://rum.example/chat"], 0]);
  assert.deepEqual(moments, [OPEN, HEADERS, READ, CANCELLED, OPEN, HEADERS, READ]);
});

test("header names are checked and converted by the browser alone", () => {
  const chat = page();
  chat.request.open("GET", "/chat");
  const set = () => chat.request.setRequestHeader(Symbol("accept"), "text/event-stream");
  assert.throws(set, { message: "a name is a text" });
  let reads = 0;
  chat.request.setRequestHeader({ toString: () => `${reads++}` }, "text/event-stream");
  chat.request.setRequestHeader("Accept", "text/event-stream");
  chat.request.send();
  assert.deepEqual([chat.faults, reads, chat.moments], [0, 0, [OPEN]]);
});

test("the headers time comes from Resource Timing only", () => {
  const { request, told, addFields } = page();
  request.open("POST", "/chat");
  request.send(ASK);
  const [[stream]] = told;
  const added = (report, of) => {
    addFields(report, of);
    return report.headers_ms;
  };
  assert.equal(added({ headers_ms: 605.5 }, stream), undefined);
  assert.equal(added({ headers_ms: 2.7, network_timing: { wait_ms: 2 } }, stream), 2.7);
  assert.equal(added({ headers_ms: 4.5 }, { bodies_: 1 }), 4.5);
});

test("a response that is no stream is discarded", () => {
  const { request, moments } = page();
  request.getResponseHeader = () => "application/json";
  request.open("POST", "/other");
  request.send("{}");
  request.comes(2);
  assert.deepEqual(moments, []);
});

test("the app gives options to the streams of an address", () => {
  const asked = [];
  const optionsOf = (url) => {
    asked.push(url);
    return { useCase: "coding" };
  };
  const { request, told } = page({ optionsOf });
  request.open("POST", new URL("https://chat.example/code"));
  request.send(ASK);
  assert.deepEqual([told[0][0].own_, asked], [{ useCase: "coding" }, ["https://chat.example/code"]]);
});

test("calls of tools by MCP are background requests", () => {
  const { request, told } = page({ optionsOf: () => ({ useCase: "coding" }) });
  request.getResponseHeader = () => "text/event-stream";
  request.open("POST", "/mcp");
  request.send('{"jsonrpc":"2.0","id":1,"method":"tools/call"}');
  assert.deepEqual(told, []);
  request.comes(2);
  assert.deepEqual(told[0][0].own_, { useCase: "coding", background: true });
});

test("options are asked for streams alone", () => {
  const { request, told, faults } = page({ optionsOf: () => assert.fail() });
  request.getResponseHeader = () => "application/json";
  request.open("GET", "/orders");
  request.send();
  request.comes(2);
  assert.deepEqual([told, faults], [[], 0]);
});

test("failures of requests of LLM clients are told with `failures`", () => {
  globalThis.location = { href: "https://app.example/" };
  const probe = {};
  const chat = page(undefined, probe);
  failures()({ probe, emit() {} });
  const ask = JSON.stringify({ id: "c1", messages: [{ role: "user", content: "hi" }] });
  const toldOf = (body, { type = "application/json", status = 200, failed } = {}) => {
    const request = new self.XMLHttpRequest();
    Object.assign(request, { status, getResponseHeader: () => type });
    request.open("POST", "/api/chat");
    request.send(body);
    if (failed) request.dispatchEvent(new Event("error"));
    else request.comes(2);
    return chat.moments.splice(0);
  };
  assert.deepEqual(toldOf(ask, { status: 429 }), [OPEN, HEADERS, READ, CLOSED]);
  assert.deepEqual(toldOf(ask, { failed: true }), [OPEN, FAILED]);
  assert.deepEqual(toldOf(ask, { type: "text/event-stream" }), [OPEN, HEADERS, READ]);
  assert.deepEqual(toldOf(ask), [OPEN, FORGET], "a whole response");
  assert.deepEqual(toldOf('{"email":"a"}', { status: 429 }), [], "a login");
  assert.equal(chat.faults, 0);
});
