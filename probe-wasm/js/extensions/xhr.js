// Watches streams over XMLHttpRequest, whose `responseText` grows while they arrive, as LibreChat's sse.js reads them.
// New text is encoded again for the probe.

import { STREAMS } from "../tap/content-types.js";
import { createRequestInspector } from "../tap/request-inspector.js";
import { CANCELLED, CHUNK, CLOSED, FAILED, FORGET, HEADERS, OPEN, READ, WHOLE } from "../tap/tap-events.js";
import { listen, watchClass } from "./class-patch.js";
import { requestTests } from "./request-tests.js";

const TEXT = /^(text)?$/;

// Of `readyState`. A script in the place of the class may not have its constants.
const OPENED = 1;
const HEADERS_RECEIVED = 2;

/**
 * Watches the requests of the page whose response is a stream of text. `isStream` accepts the addresses of those that
 * neither their content type nor their request shows to be one, and `optionsOf` returns the options of the streams of an
 * address.
 */
export const xhr = ({ isStream, optionsOf } = {}) => (core) => {
  // An address may be a `URL` as well.
  const inspect = createRequestInspector(isStream && ((url) => core.attempt(() => isStream(`${url}`))));
  const watch = (request) => watchRequest(core, inspect, request, optionsOf);
  return {
    stop: watchClass(core, "XMLHttpRequest", ["send", "open", "setRequestHeader", "abort"], watch),
    addFields(report, { xhr }) {
      // Browsers report headers no earlier than the first byte. `networkTiming` may know when they came.
      if (xhr && !report.network_timing) delete report.headers_ms;
    },
  };
};

function watchRequest(core, inspect, request, optionsOf) {
  const { emit } = core;
  /** `asked`: the request asks for a stream. With `suspect`: it may be one of an LLM client, and counts only if it fails. */
  let method, url, isAsync, accept, stream, asked, suspect, opened, length;

  const on = (type, listener) => listen(core, request, type, () => stream && listener());
  on("readystatechange", onStateChange);
  on("progress", readText);
  on("load", () => end(CLOSED));
  on("error", () => end(FAILED, {}));
  on("timeout", () => end(FAILED, { name: "TimeoutError" }));
  on("abort", abort);
  return {
    open(args) {
      // The request before is dropped, until its headers without an event.
      end(CANCELLED);
      [method, url, isAsync] = args;
      // The default holds only for a missing argument: `undefined` is synchronous.
      isAsync ||= args.length < 3;
      accept = "";
    },
    setRequestHeader([name, value]) {
      if (typeof name == "string" && /^accept$/i.test(name)) accept = value;
    },
    send,
    abort,
  };

  // In Chromium an abort in the last `progress` fires no event, as sse.js does it at each `[DONE]`.
  function abort() {
    end(FAILED, { name: "AbortError" });
  }

  function send([body]) {
    // A request that is sent already, or is not for text, shows nothing before it is whole.
    if (stream || !isAsync || request.readyState != OPENED || !TEXT.test(request.responseType)) return;
    stream = { time: performance.now(), method, xhr: true };
    opened = length = 0;
    asked = inspect(stream, url, { body, headers: { accept } });
    suspect = !asked && requestTests.get(core.probe)?.(stream, url, { body });
    if (asked ||= suspect) open();
  }

  function open() {
    opened = 1;
    stream.own_ = { ...stream.own_, ...core.attempt(() => optionsOf?.(`${url}`)) };
    emit(stream, OPEN, undefined, stream.time);
  }

  function onStateChange() {
    if (request.readyState == HEADERS_RECEIVED) inspectResponse(request);
    else readText();
  }

  /** As with fetch: see `../tap/tap.js`. */
  function inspectResponse({ status, responseURL }) {
    const type = request.getResponseHeader("content-type");
    if (!(suspect ? status >= 400 : asked) && !STREAMS.test(type)) return end(FORGET);
    if (!opened) open();
    const response = { status, url: responseURL, headers: { get: () => type } };
    for (const event of [HEADERS, READ]) emit(stream, event, response, performance.now());
    if (asked && status >= 400) end(CLOSED);
  }

  function readText() {
    // Another type was chosen after the request was sent: then nothing shows the text before it is whole.
    if (!TEXT.test(request.responseType)) return end(WHOLE);
    const text = request.responseText.slice(length);
    length += text.length;
    if (text) emit(stream, CHUNK, new TextEncoder().encode(text), performance.now());
  }

  function end(event, error) {
    if (event == CLOSED) readText();
    if (opened && stream) emit(stream, event, error, performance.now());
    stream = undefined;
  }
}
