// The tap in its page: what stays as it is, and what the tap does not touch.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CHUNK, CLOSED, HEADERS, OPEN, READ, WHOLE } from "../../js/tap/tap-events.js";
import { createTap } from "../../js/tap/tap.js";
import { ASK, TEXT, names, origin, readAll, watched } from "./watched-fetch.js";

test("the response is the native one, and looks like it", async () => {
  const { fetch } = watched();
  const response = await fetch("/sse", ASK);
  assert.ok(response instanceof Response);
  assert.deepEqual([response.url, response.type, response.redirected], [`${origin}/sse`, "basic", false]);
  assert.equal(response.body, response.body);
  assert.deepEqual(Object.keys(response), Object.keys(new Response()));
  assert.deepEqual(Object.keys(response.body), []);
  assert.equal(Object.prototype.toString.call(response), "[object Response]");
  await response.body.cancel();
});

test("fetch keeps its name, length and source text", () => {
  const { wrap_: wrap } = createTap(() => {});
  const fetch = wrap(globalThis.fetch);
  assert.deepEqual([fetch.name, fetch.length], [globalThis.fetch.name, globalThis.fetch.length]);
  assert.match(Function.prototype.toString.call(fetch), /\[native code\]/);
});

test("the tap does not touch a body before the app reads it", async () => {
  const native = Object.getOwnPropertyDescriptor(Response.prototype, "body");
  let looks = 0;
  const get = function () {
    looks++;
    return native.get.call(this);
  };
  Object.defineProperty(Response.prototype, "body", { ...native, get });
  try {
    const { fetch, seen } = watched();
    const response = await fetch("/sse", ASK);
    const copy = response.clone();
    assert.deepEqual([await response.text(), await copy.text(), looks], [TEXT, TEXT, 0]);
    assert.equal(names(seen.told), "OPEN HEADERS READ WHOLE");
  } finally {
    Object.defineProperty(Response.prototype, "body", native);
  }
});

test("a response that the app freezes has its body still", async () => {
  const { fetch, tap } = watched();
  const response = Object.freeze(await fetch("/sse", ASK));
  assert.equal(response.body, response.body);
  assert.equal(await readAll(response.body.getReader()), TEXT);
  assert.equal(tap.broken_, 0);
});

test("promises stay native if Zone.js has replaced `then`", async () => {
  const { then } = Promise.prototype;
  class Zoned {
    constructor(promise) {
      this.then = then.bind(promise);
    }
  }
  Promise.prototype.__zone_symbol__then = then;
  Promise.prototype.then = function (...reactions) {
    return new Zoned(then.apply(this, reactions));
  };
  try {
    const { fetch, seen } = watched();
    const called = fetch("/sse", ASK);
    assert.ok(called instanceof Promise);
    const reader = (await called).body.getReader();
    const read = reader.read();
    assert.ok(read instanceof Promise);
    assert.equal(new TextDecoder().decode((await read).value) + (await readAll(reader)), TEXT);
    assert.equal(names(seen.told), "OPEN HEADERS READ CHUNK CLOSED");
  } finally {
    Promise.prototype.then = then;
    delete Promise.prototype.__zone_symbol__then;
  }
});

test("an answer without a body has none, and that is no fault", async () => {
  const { fetch, tap } = watched();
  const response = await fetch("/sse", { method: "HEAD" });
  assert.deepEqual([response.body, await response.text(), tap.broken_], [null, "", 0]);
});

test("a response that an inner wrapper observes is reported once", async () => {
  const { tap, seen } = watched();
  const twice = tap.wrap_(tap.wrap_(globalThis.fetch));
  assert.equal(await readAll((await twice(`${origin}/sse`)).body.getReader()), TEXT);
  assert.deepEqual(seen.told, [OPEN, HEADERS, READ, CHUNK, CLOSED]);
  assert.equal(seen.streams.size, 1);
});

test("a fault of the sink disables the tap, not the app's call", async () => {
  const [whole, read] = [(response) => response.text(), (response) => readAll(response.body.getReader())];
  for (const [fault, all] of [[OPEN, read], [HEADERS, read], [CHUNK, read], [CLOSED, read], [WHOLE, whole]]) {
    const told = [];
    const tap = createTap((stream, moment) => {
      told.push(moment);
      if (moment == fault) throw new Error("ours");
    });
    assert.equal(await all(await tap.wrap_(globalThis.fetch)(`${origin}/sse`, ASK)), TEXT);
    assert.deepEqual([told.at(-1), tap.broken_], [fault, 1]);
  }
});

test("a clock that throws turns the tap off, not the app", async () => {
  const reads = {
    "before the request": (fetch, breakClock) => (breakClock(), fetch("/sse", ASK).then((response) => response.text())),
    "before the body": async (fetch, breakClock) => {
      const response = await fetch("/sse", ASK);
      breakClock();
      return readAll(response.body.getReader());
    },
    "in the middle of the body": async (fetch, breakClock) => {
      const reader = (await fetch("/sse", ASK)).body.getReader();
      const { value } = await reader.read();
      breakClock();
      return new TextDecoder().decode(value) + (await readAll(reader));
    },
  };
  for (const [when, read] of Object.entries(reads)) {
    const { fetch, seen, tap } = watched();
    const now = () => {
      throw new Error("the page's clock");
    };
    // Node's own fetch reads the page's clock, so only the tap's is broken.
    assert.equal(await read(fetch, () => (tap.clock_ = { now })), TEXT, when);
    assert.ok(tap.broken_ > 0, when);
    tap.clock_ = performance;
    const told = seen.told.length;
    assert.equal(await (await fetch("/sse", ASK)).text(), TEXT, when);
    assert.equal(seen.told.length, told, `${when}: the tap stays off`);
  }
});

test("a clock without time or order leaves the app as it is", async () => {
  for (const times of [[NaN], [300, NaN, 100], [9e9, 8, 7, -6]]) {
    const { fetch, seen, tap } = watched();
    const left = [...times];
    tap.clock_ = { now: () => (left.length > 1 ? left.shift() : left[0]) };
    const reader = (await fetch("/sse", ASK)).body.getReader();
    assert.equal(await readAll(reader), TEXT, `${times}`);
    assert.deepEqual([tap.broken_, seen.told.at(-1)], [0, CLOSED], `${times}`);
  }
});

test("an unread body keeps its backpressure", async () => {
  const { fetch, seen } = watched();
  const response = await fetch("/endless", ASK);
  await new Promise(setImmediate);
  assert.deepEqual(seen.told, [OPEN, HEADERS]);
  await response.body.cancel();
});
