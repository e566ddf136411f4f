// The sender: a request that the browser does not keep alive is sent again without keepalive.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createSender } from "../../js/page/send.js";

/** A page whose browser has `room` bytes left for requests that outlive it, and its sender. */
function page({ room, onLine = true, answer = { status: 204 }, sendBeacon, userAgent }) {
  const requests = [];
  globalThis.window = {};
  Object.defineProperty(globalThis, "navigator", { configurable: true, value: { onLine, sendBeacon, userAgent } });
  const browser = { room };
  const fetch = async (url, { method, body, keepalive, signal, ...alone }) => {
    signal.throwIfAborted();
    assert.deepEqual([url, method], ["https://rum.example/v1/beacons?site=pk%201", "POST"]);
    assert.deepEqual(alone, { credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" });
    requests.push(keepalive);
    if (keepalive && body.length > browser.room) throw new TypeError("Failed to fetch");
    return { status: answer.status, headers: new Headers(answer.headers) };
  };
  return { requests, browser, sender: createSender("https://rum.example/", " pk 1 ", fetch) };
}

test("a body over the keepalive quota is retried without keepalive", async () => {
  const { requests, browser, sender } = page({ room: 3 });
  assert.equal((await sender.post("four"))[0], 0, "no answer: the outbox tries again");
  assert.equal((await sender.post("four"))[0], 204);
  browser.room = 4;
  assert.equal((await sender.post("four"))[0], 204);
  assert.deepEqual(requests, [true, false, true]);
});

test("without a network no report is dropped", async () => {
  const { sender } = page({ room: 0, onLine: false });
  assert.deepEqual(await sender.post("four"), [503, 0]);
});

test("a collector that never answers counts as none", async (context) => {
  let patience;
  context.mock.method(AbortSignal, "timeout", (ms) => ((patience = ms), AbortSignal.abort()));
  const { sender } = page({ room: 9 });
  assert.equal((await sender.post("four"))[0], 0);
  assert.equal(patience, 30_000);
});

test("a collector says in seconds or by a date when it wants more", async () => {
  for (const [after, least, most] of [
    ["7", 7000, 7000],
    [new Date(Date.now() + 60_000).toUTCString(), 58_000, 60_000],
    [new Date(0).toUTCString(), -Infinity, 0],
    ["soon", 0, 0],
  ]) {
    const { sender } = page({ room: 9, answer: { status: 429, headers: { "retry-after": after } } });
    const [status, retryAfterMs] = await sender.post("four");
    assert.equal(status, 429);
    assert.ok(retryAfterMs >= least && retryAfterMs <= most, `${after}: ${retryAfterMs}`);
  }
});

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0";
const SAFARI = "Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15";

test("a leaving page sends a kept request, and in Firefox a beacon", () => {
  for (const [userAgent, unloads, beacons] of [
    [SAFARI, 5, []],
    [FIREFOX, undefined, []],
    [FIREFOX, 5, ["four"]],
  ]) {
    const sent = [];
    const { requests, sender } = page({ room: 9, userAgent, sendBeacon: (url, body) => sent.push(body) });
    sender.lastPost("four", unloads);
    assert.deepEqual([requests, sent], [[true], beacons]);
  }
});

test("a user may have turned beacons off", () => {
  const { requests, sender } = page({ room: 9, userAgent: FIREFOX });
  sender.lastPost("four", 5);
  assert.deepEqual(requests, [true]);
});

test("a leaving page over the keepalive quota sends without", async () => {
  const { requests, sender } = page({ room: 3 });
  sender.lastPost("four", 5);
  await new Promise(setImmediate);
  assert.deepEqual(requests, [true, undefined]);
});
