// The probe in a worker: its proxy for the worker's own `close`, and the last reports.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const scope = new EventTarget();
let closed, left;

/** `close` is inherited, as in a real worker. */
class Scope {
  close() {
    closed++;
  }
}

const above = Object.getPrototypeOf(globalThis);
Object.setPrototypeOf(globalThis, Object.create(above, Object.getOwnPropertyDescriptors(Scope.prototype)));
for (const name of ["addEventListener", "removeEventListener", "dispatchEvent"])
  globalThis[name] = scope[name].bind(scope);
globalThis.fetch = async () => new Response("no Wasm");
globalThis.navigator ??= {};
globalThis.location = new URL("https://page.example/worker.js");
globalThis.self = globalThis;
scope.addEventListener("pagehide", () => left++);

const { start } = await import("../../dist/llm-rum-worker.mjs");
const native = globalThis.close;
const OPTIONS = { collector: "https://rum.example", site: "demo" };

beforeEach(() => ([closed, left] = [0, 0]));

test("a closing worker waits for the collector in Chromium only", async (context) => {
  const sent = [];
  let now = 5000;
  context.mock.method(performance, "now", () => now);
  globalThis.XMLHttpRequest = class {
    open = (method, url, later) => sent.push([url, method, later]);
    send(body) {
      sent.push([body, this.timeout]);
      now += 1500;
      throw new Error("no network");
    }
  };
  Object.defineProperty(globalThis, "navigator", { value: {}, configurable: true });
  const { waitForLastPost } = await import("../../js/page/worker-send.js");
  const lastPost = () => sent.push("kept alive");
  for (const userAgent of ["Mozilla/5.0 Gecko/20100101 Firefox/153.0", "Mozilla/5.0 Chrome/156.0.0.0 Safari/537.36"]) {
    navigator.userAgent = userAgent;
    const sender = { url: "/v1/beacons", lastPost };
    waitForLastPost(sender);
    sender.lastPost("what it had");
  }
  const sender = { url: "/v1/beacons", lastPost };
  waitForLastPost(sender);
  for (const more of ["more", "and more"]) sender.lastPost(more);
  assert.deepEqual(sent, [
    "kept alive",
    ["/v1/beacons", "POST", false],
    ["what it had", 2000],
    ["/v1/beacons", "POST", false],
    ["more", 500],
    ["/v1/beacons", "POST", false],
    ["and more", 1],
  ]);
});

test("a worker sends its reports before close() closes it", () => {
  const probe = start(OPTIONS);
  assert.deepEqual([close.name, close.length], ["close", 0]);
  close();
  assert.deepEqual([left, closed, probe.faults], [1, 1, 0]);
  probe.stop();
});

test("two starts send once, and stop() restores close()", () => {
  const probe = start(OPTIONS);
  start(OPTIONS);
  close();
  probe.stop();
  close();
  assert.deepEqual([left, closed], [1, 2]);
  assert.deepEqual([close, Object.hasOwn(globalThis, "close")], [native, false]);
});

test("stop() keeps a later wrapper of close() and disables itself", () => {
  const probe = start(OPTIONS);
  const { close: ours } = globalThis;
  globalThis.close = () => ours();
  probe.stop();
  close();
  assert.deepEqual([left, closed], [0, 1]);
  delete globalThis.close;
});

test("reports of a worker do not claim that the page is visible", async () => {
  globalThis.fetch = async () => new Response("data: hi\n\n");
  const reports = [];
  const probe = start({ ...OPTIONS, beforeSend: (report) => void reports.push(report) });
  const response = await fetch("/chat", { method: "POST", body: '{"stream":true}' });
  await response.text();
  await probe.flush();
  probe.stop();
  assert.deepEqual([reports.length, reports[0].page], [1, { route: "/:id" }]);
});

test("a probe that is off changes nothing", () => {
  const probe = start({ ...OPTIONS, consent: "denied" });
  assert.equal(close, native);
  probe.stop();
});
