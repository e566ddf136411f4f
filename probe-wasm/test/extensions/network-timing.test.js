// What a page knows of a stream beside its bytes, in browsers that show more or less of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { networkTiming } from "../../js/extensions/network-timing.js";
import { CHUNK, CLOSED, HEADERS, OPEN } from "../../js/tap/tap-events.js";

let see;

/** The extension in a browser of that name. */
function used(userAgent = "") {
  globalThis.document = new EventTarget();
  globalThis.window = new EventTarget();
  Object.defineProperty(globalThis, "navigator", { configurable: true, value: { userAgent } });
  globalThis.PerformanceObserver = class {
    static supportedEntryTypes = ["resource"];
    constructor(callback) {
      see = (...entries) => callback({ getEntries: () => entries });
    }
    observe() {}
  };
  return networkTiming()({ guard: (job) => job(), probe: {} });
}

/** The report of one stream in a browser of that name, with `entry` for the request. */
function reported(userAgent, entry) {
  const extension = used(userAgent);
  const stream = { time: 100 };
  extension.onEvent(stream, OPEN);
  extension.onEvent(stream, HEADERS, { url: "https://llm.example/" }, 900);
  extension.onEvent(stream, CLOSED, undefined, 1000);
  see({ name: "https://llm.example/", startTime: 101, nextHopProtocol: "h2", ...entry });
  const report = { page: { route: "/" }, headers_ms: 800 };
  extension.addFields(report, stream);
  return report;
}

/** The bytes after a click on the innermost of these elements, as the window gets the event. */
function afterClick(...path) {
  const extension = used();
  const stream = { time: 100 };
  extension.onEvent(stream, OPEN);
  window.dispatchEvent(Object.assign(new Event("click"), { composedPath: () => [...path, document, window] }));
  extension.onEvent(stream, CHUNK, new Uint8Array(7), 900);
  const report = {};
  extension.addFields(report, stream);
  return report.page_lifecycle.after_stop_bytes;
}

test("Firefox has a headers time only from Resource Timing", () => {
  const [firefox, other] = ["Mozilla/5.0 (X11; rv:153.0) Gecko/20100101 Firefox/153.0", "Mozilla/5.0 Chrome/156.0.0.0"];
  const hidden = { responseStart: 0 };
  assert.deepEqual([firefox, other].map((agent) => reported(agent, hidden).headers_ms), [undefined, 800]);
  const shown = { responseStart: 350 };
  assert.deepEqual([firefox, other].map((agent) => reported(agent, shown).headers_ms), [250, 250]);
});

test("the times of a service worker are not those of the server", () => {
  const [firefox, other] = ["Mozilla/5.0 (X11; rv:153.0) Gecko/20100101 Firefox/153.0", "Mozilla/5.0 Safari/605.1.15"];
  const shown = (agent, entry) => {
    const { headers_ms, network_timing } = reported(agent, { workerStart: 101, requestStart: 102, ...entry });
    return [headers_ms, network_timing?.wait_ms];
  };
  assert.deepEqual(shown(firefox, { responseStart: 102 }), [undefined, undefined]);
  const hidden = { workerStart: 0, requestStart: 101, responseStart: 101, responseEnd: 101, nextHopProtocol: "" };
  assert.deepEqual(shown(firefox, hidden), [undefined, undefined], "there was a worker all the same");
  assert.deepEqual(shown(other, hidden), [800, undefined]);
  assert.equal(reported(firefox, hidden).page_lifecycle.end_delay_ms, undefined);
  assert.deepEqual(shown(other, { responseStart: 102 }), [800, undefined], "as the page had the headers");
  assert.deepEqual(shown(other, { responseStart: 890 }), [790, 788], "as in Chromium");
  assert.deepEqual(shown(other, { responseStart: 350, workerStart: 0 }), [250, 248], "without a worker");
  assert.deepEqual(shown(firefox, { responseStart: 350, workerStart: 0 }), [250, 248]);
});

test("a click on Stop is found in shadow roots and on its icon", () => {
  const [icon, stop, shadow, host] = [{ dataset: {} }, { dataset: { llmStop: "" } }, {}, { dataset: {} }];
  assert.equal(afterClick(stop, host), 7);
  assert.equal(afterClick(icon, stop, shadow, host), 7);
  assert.equal(afterClick(icon, host), undefined);
});

test("a worker reports no page context", () => {
  delete globalThis.document;
  assert.deepEqual(networkTiming()({}), {});
});
