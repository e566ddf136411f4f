// The probe in a worker: what it puts in the place of the worker's own `close`, for how long, and when not.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const scope = new EventTarget();
let closed, left;

/** What is inherited stays inherited. */
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

const { start } = await import("../dist/llm-rum-worker.mjs");
const native = globalThis.close;
const OPTIONS = { collector: "https://rum.example", site: "demo" };

beforeEach(() => ([closed, left] = [0, 0]));

test("a worker that closes itself sends what it has first, by a method of the same name", () => {
  const probe = start(OPTIONS);
  assert.deepEqual([close.name, close.length], ["close", 0]);
  close();
  assert.deepEqual([left, closed, probe.faults], [1, 1, 0]);
  probe.stop();
});

test("started twice it leaves once, and stopped it is gone", () => {
  const probe = start(OPTIONS);
  start(OPTIONS);
  close();
  probe.stop();
  close();
  assert.deepEqual([left, closed], [1, 2]);
  assert.deepEqual([close, Object.hasOwn(globalThis, "close")], [native, false]);
});

test("what another script has wrapped since stays, and does no more than the worker's own", () => {
  const probe = start(OPTIONS);
  const { close: ours } = globalThis;
  globalThis.close = () => ours();
  probe.stop();
  close();
  assert.deepEqual([left, closed], [0, 1]);
  delete globalThis.close;
});

test("a probe that is off changes nothing", () => {
  const probe = start({ ...OPTIONS, consent: "denied" });
  assert.equal(close, native);
  probe.stop();
});
