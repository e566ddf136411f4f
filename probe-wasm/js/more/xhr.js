// Answers over XMLHttpRequest, whose `responseText` grows while they arrive, as LibreChat's sse.js reads
// them. What is new of the text is encoded again for the probe.

import { CANCELLED, CHUNK, CLOSED, FAILED, FORGET, HEADERS, OPEN, READ, WHOLE } from "../moments.js";
import { requestExaminer } from "../request.js";
import { listen, watchClass } from "./constructor.js";

const STREAMS = /event-stream|ndjson|jsonl|stream\+json|json-seq/i;
const TEXT = /^(text)?$/;

/**
 * Watches the requests of the page that are answered by a stream of text. `isStream` takes the addresses
 * of those that neither their content type nor their request shows to be one.
 */
export const xhr = ({ isStream = () => false } = {}) => (core) => {
  const examine = requestExaminer((url) => core.attempt(() => isStream(url)));
  const watch = (request) => watchRequest(core, examine, request);
  return { stop: watchClass(core, "XMLHttpRequest", ["send", "open", "setRequestHeader"], watch) };
};

function watchRequest(core, examine, request) {
  const { tell } = core;
  let method, url, later, accept, stream, asked, told, length;

  const endsBy = (moment, name) => () => end(moment, { name });
  for (const [type, listener] of [
    ["readystatechange", changed],
    ["progress", grown],
    ["load", endsBy(CLOSED)],
    ["error", endsBy(FAILED)],
    ["timeout", endsBy(FAILED, "TimeoutError")],
    ["abort", endsBy(FAILED, "AbortError")],
  ])
    listen(core, request, type, () => stream && listener());
  return {
    open([verb, address, isLater = true]) {
      [method, url, later, accept] = [verb, address, isLater, ""];
    },
    setRequestHeader([name, value]) {
      if (/^accept$/i.test(name)) accept = value;
    },
    send,
  };

  function send([body]) {
    // What is sent already or is no text shows nothing before it is whole.
    if (stream || !later || request.readyState != XMLHttpRequest.OPENED || !TEXT.test(request.responseType)) return;
    stream = { time: performance.now(), method };
    told = length = 0;
    asked = examine(stream, url, { body, headers: { accept } });
    if (asked) open();
  }

  function open() {
    told = 1;
    tell(stream, OPEN, undefined, stream.time);
  }

  function changed() {
    // Opened anew: what was under way is dropped without a word.
    if (request.readyState == XMLHttpRequest.OPENED) end(CANCELLED);
    else if (request.readyState == XMLHttpRequest.HEADERS_RECEIVED) answered(request);
    else grown();
  }

  /** As with fetch: see `../tap.js`. */
  function answered({ status, responseURL }) {
    const type = request.getResponseHeader("content-type");
    const failed = asked && status >= 400;
    if (!(failed || asked > 1 || STREAMS.test(type) || (asked && !/\/json/.test(type)))) return end(FORGET);
    if (!told) open();
    const response = { status, url: responseURL, headers: { get: () => type } };
    for (const moment of [HEADERS, READ]) tell(stream, moment, response, performance.now());
    if (failed) end(CLOSED);
  }

  function grown() {
    // Chosen after the request was sent: then nothing shows it before it is whole.
    if (!TEXT.test(request.responseType)) return end(WHOLE);
    const text = request.responseText.slice(length);
    length += text.length;
    if (text) tell(stream, CHUNK, new TextEncoder().encode(text), performance.now());
  }

  function end(moment, error) {
    if (moment == CLOSED) grown();
    if (told && stream) tell(stream, moment, error, performance.now());
    stream = undefined;
  }
}
