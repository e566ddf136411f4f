// Answers over XMLHttpRequest, whose `responseText` grows while they arrive, as LibreChat's sse.js reads
// them. What is new of the text is encoded again for the probe.

import { CANCELLED, CHUNK, CLOSED, FAILED, FORGET, HEADERS, OPEN, READ, WHOLE } from "../tap/tap-events.js";
import { STREAMS } from "../tap/content-types.js";
import { requestExaminer } from "../tap/request-inspector.js";
import { listen, watchClass } from "./class-patch.js";

const TEXT = /^(text)?$/;

// Of `readyState`. A script in the place of the class may not have its constants.
const OPENED = 1;
const HEADERS_RECEIVED = 2;

/**
 * Watches the requests of the page that are answered by a stream of text. `isStream` takes the addresses
 * of those that neither their content type nor their request shows to be one.
 */
export const xhr = ({ isStream } = {}) => (core) => {
  // An address may be a `URL` as well.
  const examine = requestExaminer(isStream && ((url) => core.attempt(() => isStream(`${url}`))));
  const watch = (request) => watchRequest(core, examine, request);
  return {
    stop: watchClass(core, "XMLHttpRequest", ["send", "open", "setRequestHeader"], watch),
    add(report, { xhr }) {
      // No browser tells of headers before the first byte. `phases` may know when they came.
      if (xhr && !report.phases) delete report.headers_ms;
    },
  };
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
    open(args) {
      // What was under way is dropped, before its headers without a word.
      end(CANCELLED);
      [method, url, later] = args;
      // Only where nothing is said: `undefined` does not wait.
      later ||= args.length < 3;
      accept = "";
    },
    setRequestHeader([name, value]) {
      if (typeof name == "string" && /^accept$/i.test(name)) accept = value;
    },
    send,
  };

  function send([body]) {
    // What is sent already or is no text shows nothing before it is whole.
    if (stream || !later || request.readyState != OPENED || !TEXT.test(request.responseType)) return;
    stream = { time: performance.now(), method, xhr: true };
    told = length = 0;
    asked = examine(stream, url, { body, headers: { accept } });
    if (asked) open();
  }

  function open() {
    told = 1;
    tell(stream, OPEN, undefined, stream.time);
  }

  function changed() {
    if (request.readyState == HEADERS_RECEIVED) answered(request);
    else grown();
  }

  /** As with fetch: see `../tap/tap.js`. */
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
