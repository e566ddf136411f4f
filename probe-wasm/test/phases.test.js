// What a page knows of a stream beside its bytes, where the browser tells little of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { phases } from "../js/more/phases.js";
import { CLOSED, HEADERS, OPEN } from "../js/moments.js";

/** The report of one stream in a browser of that name, whose entry of the request is `entry`. */
function reported(userAgent, entry) {
  let see;
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
  const extension = phases()({ guard: (job) => job(), probe: {} });
  const stream = { time: 100 };
  extension.saw(stream, OPEN);
  extension.saw(stream, HEADERS, { url: "https://llm.example/" }, 900);
  extension.saw(stream, CLOSED, undefined, 1000);
  see({ name: "https://llm.example/", startTime: 101, ...entry });
  const report = { page: { route: "/" }, headers_ms: 800 };
  extension.add(report, stream);
  return report;
}

test("Firefox tells of headers with the first byte: only the browser's own entry knows better", () => {
  const [firefox, other] = ["Mozilla/5.0 (X11; rv:153.0) Gecko/20100101 Firefox/153.0", "Mozilla/5.0 Chrome/156.0.0.0"];
  const hidden = { responseStart: 0 };
  assert.deepEqual([firefox, other].map((agent) => reported(agent, hidden).headers_ms), [undefined, 800]);
  const shown = { responseStart: 350 };
  assert.deepEqual([firefox, other].map((agent) => reported(agent, shown).headers_ms), [250, 250]);
});
