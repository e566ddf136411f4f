// Reports that the browser holds for a page that is killed: of open streams only, in one request at a time.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { lastWord } from "../../js/extensions/fetch-later.js";
import { CHUNK, CLOSED, OPEN } from "../../js/tap/tap-events.js";

/** The requests that the browser holds, and the reports of open streams. */
let held, open, page;

beforeEach(() => {
  [held, open, page] = [[], [], new EventTarget()];
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.window = page;
  globalThis.fetchLater = hold;
});

function hold(url, { method, body, signal, ...alone }) {
  assert.equal(method, "POST");
  assert.deepEqual(alone, { credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" });
  const request = { url, body };
  signal.addEventListener("abort", () => held.splice(held.indexOf(request), 1));
  held.push(request);
}

function used() {
  return lastWord()({ sender: { url: "/beacons" }, guard: (job) => job(), openReports: () => open });
}

const bodies = () => held.map(({ body }) => body);

test("the pending beacon has the latest state of open streams", () => {
  const extension = used();
  open = ['{"rev":0}'];
  extension.onEvent({}, OPEN);
  mock.timers.tick(0);
  assert.deepEqual(held, [{ url: "/beacons", body: '{"reports":[{"rev":0}]}' }]);
  open = ['{"rev":1}', "", '{"rev":7}'];
  mock.timers.tick(999);
  assert.deepEqual(bodies(), ['{"reports":[{"rev":0}]}']);
  mock.timers.tick(1);
  assert.deepEqual(bodies(), ['{"reports":[{"rev":1},{"rev":7}]}']);
});

test("a start and an end update the beacon at once, chunks do not", () => {
  const extension = used();
  open = ["1"];
  extension.onEvent({}, OPEN);
  mock.timers.tick(0);
  open = ["2"];
  extension.onEvent({}, CHUNK);
  mock.timers.tick(500);
  assert.deepEqual(bodies(), ['{"reports":[1]}']);
  open = [];
  extension.onEvent({}, CLOSED);
  mock.timers.tick(0);
  assert.deepEqual(held, []);
});

test("no beacon is pending while no stream is open", () => {
  const extension = used();
  open = ["{}"];
  extension.onEvent({}, OPEN);
  mock.timers.tick(0);
  open = [];
  mock.timers.tick(1000);
  assert.deepEqual(held, []);
  mock.timers.tick(5000);
  open = ["{}"];
  extension.onEvent({}, OPEN);
  mock.timers.tick(0);
  assert.equal(held.length, 1);
});

test("pagehide and stop() cancel the pending beacon", () => {
  for (const end of [() => page.dispatchEvent(new Event("pagehide")), (extension) => extension.stop()]) {
    const extension = used();
    open = ["{}"];
    extension.onEvent({}, OPEN);
    mock.timers.tick(0);
    assert.equal(held.length, 1);
    end(extension);
    assert.deepEqual(held, []);
    extension.stop();
  }
});

test("the beacon is bounded and survives an exceeded quota", () => {
  const extension = used();
  open = ["a".repeat(16_000), "b".repeat(400), "c".repeat(100)];
  extension.onEvent({}, OPEN);
  mock.timers.tick(0);
  assert.deepEqual(bodies().map((body) => [body.includes("a"), body.includes("bb"), body.includes("cc")]), [[true, false, false]]);
  globalThis.fetchLater = () => {
    throw new DOMException("over quota", "QuotaExceededError");
  };
  mock.timers.tick(1000);
  assert.deepEqual(held, []);
  globalThis.fetchLater = hold;
  mock.timers.tick(1000);
  assert.equal(held.length, 1);
});

test("no beacon is pending without consent and a session", () => {
  const extension = used();
  open = undefined;
  extension.onEvent({}, OPEN);
  mock.timers.tick(0);
  assert.deepEqual(held, []);
});

test("a browser without `fetchLater` has nothing to do", () => {
  delete globalThis.fetchLater;
  assert.deepEqual(used(), {});
});
