// Answers over XMLHttpRequest, of a browser that does as the standard says with what the app chooses late.

import assert from "node:assert/strict";
import { test } from "node:test";

import { xhr } from "../js/more/xhr.js";
import { CHUNK, CLOSED, HEADERS, OPEN, READ, WHOLE } from "../js/moments.js";

class Request extends EventTarget {
  static OPENED = 1;
  static HEADERS_RECEIVED = 2;
  readyState = 0;
  responseType = "";
  status = 200;
  text = "";
  open() {
    this.readyState = 1;
  }
  send() {}
  setRequestHeader() {}
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

/** The moments that an answer is told by, and what was told with them. */
function told(choose) {
  const moments = [];
  globalThis.self = { XMLHttpRequest: Request };
  globalThis.XMLHttpRequest = Request;
  const { stop } = xhr()({ tell: (stream, moment) => moments.push(moment), guard: (job) => job(), attempt: (job) => job() });
  const request = new self.XMLHttpRequest();
  request.open("POST", "/chat");
  request.send('{"stream":true}');
  choose(request);
  request.comes(2);
  request.comes(3, "data: one\n\n");
  request.comes(3, "data: two\n\n");
  request.dispatchEvent(new Event("load"));
  stop();
  return moments;
}

test("a text that grows is told as it grows", () => {
  assert.deepEqual(told(() => {}), [OPEN, HEADERS, READ, CHUNK, CHUNK, CLOSED]);
});

test("where the app chooses after it has asked that it wants no text, nothing is seen", () => {
  assert.deepEqual(told((request) => (request.responseType = "blob")), [OPEN, HEADERS, READ, WHOLE]);
});
