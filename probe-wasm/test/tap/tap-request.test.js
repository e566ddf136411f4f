// Which requests and answers the tap watches, and that it leaves them as they are.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CHUNK, CLOSED, FORGET, HEADERS, OPEN, READ } from "../../js/tap/tap-events.js";
import { requestExaminer } from "../../js/tap/request-inspector.js";
import { createTap } from "../../js/tap/tap.js";
import { ASK, origin, readAll, watched } from "./watched-fetch.js";

test("arguments go through untouched", async () => {
  const calls = [];
  const native = async (...args) => void calls.push(args);
  const init = { headers: new Headers({ accept: "text/event-stream" }), body: new Uint8Array(1) };
  const input = new URL("http://localhost/");
  await createTap(() => {}).wrap(native)(input, init, "more");
  assert.deepEqual(calls[0].map((arg, at) => arg === [input, init, "more"][at]), [true, true, true]);
});

test("a request is on its way before anything of it is looked at, and counts from before that", async () => {
  const order = [];
  const native = async () => void order.push("called", performance.now());
  const tap = createTap(({ time }) => order.push("told", time));
  tap.examine = () => order.push("looked at");
  await tap.wrap(native)("http://localhost/");
  const [, called, ...then] = order;
  assert.deepEqual(then.slice(0, 2), ["looked at", "told"]);
  assert.ok(then[2] <= called);
});

test("an answer that is no stream is left alone and not told", async () => {
  const { fetch, seen } = watched();
  const response = await fetch("/json");
  assert.equal(Object.getOwnPropertyDescriptor(response, "text"), undefined);
  assert.deepEqual(await response.json(), {});
  await fetch("/204");
  assert.deepEqual(seen.told, []);
});

test("JSON in place of the stream that was asked for is forgotten, a web page is told", async () => {
  const json = watched();
  await (await json.fetch("/json", ASK)).json();
  assert.deepEqual(json.seen.told, [OPEN, FORGET]);
  const page = watched();
  await readAll((await page.fetch("/page", ASK)).body.getReader());
  assert.deepEqual(page.seen.told, [OPEN, HEADERS, READ, CHUNK, CLOSED]);
});

test("a refusal of a stream ends it at once", async () => {
  const { fetch, seen } = watched();
  assert.equal(await (await fetch("/429", ASK)).text(), "{}");
  assert.deepEqual(seen.told, [OPEN, HEADERS, CLOSED]);
  const plain = watched();
  await plain.fetch("/429");
  assert.deepEqual(plain.seen.told, []);
});

test("a request asks for a stream by its body or by what it accepts, and names its model", async () => {
  const prompt = JSON.stringify('"stream":true,"model":"x"'.repeat(500));
  const asks = [
    [{ method: "POST", body: '{"stream" : true, "model" :"gpt"}' }, "gpt"],
    [{ method: "POST", body: `{"model":"gpt","messages":${prompt},"stream":true}` }, "gpt"],
    [{ method: "POST", body: `{"messages":${prompt},"model":"gpt","stream":true}` }, "gpt"],
    [{ headers: { Accept: "text/event-stream" } }, undefined],
    [{ headers: [["accept", "application/x-ndjson"]] }, undefined],
    [{ headers: new Headers({ accept: "text/event-stream" }) }, undefined],
  ];
  for (const [init, model] of asks) {
    const { fetch, seen } = watched();
    await fetch("/json", init);
    assert.equal(seen.told[0], OPEN);
    assert.equal([...seen.streams][0].model, model);
  }
  const upload = { method: "POST", headers: { "content-type": "application/x-ndjson" }, body: "{}" };
  const others = [{}, { method: "POST", body: '{"stream":false}' }, { method: "POST", body: `{"prompt":${prompt}}` }, upload];
  for (const init of others) {
    const { fetch, seen } = watched();
    await fetch("/json", init);
    assert.deepEqual(seen.told, []);
  }
});

test("headers that are no texts are looked at as the browser does", async () => {
  const { tap, fetch, seen } = watched();
  await fetch("/json", { headers: { "x-count": 123n, accept: { toString: () => "text/event-stream" } } });
  assert.deepEqual([tap.broken, seen.told[0]], [0, OPEN]);
});

test("headers that cannot be sent are the app's own fault", async () => {
  const { tap, fetch, seen } = watched();
  for (const headers of [{ "x-name": "\u4e2d" }, { "a b": "c" }, { "x-sign": Symbol() }])
    await assert.rejects(fetch("/json", { headers }), TypeError);
  await fetch("/json", { headers: { accept: "text/event-stream" } });
  assert.deepEqual([tap.broken, seen.told[0]], [0, OPEN]);
});

test("what an app has put in the place of a response is left alone", async () => {
  for (const made of [{ ok: true }, undefined]) {
    const { tap, seen } = watched();
    assert.equal(await tap.wrap(async () => made)("/flags"), made);
    assert.deepEqual([tap.broken, seen.told], [0, []]);
  }
});

test("before the probe has loaded, a request asks for a stream by its body", async () => {
  const { tap, fetch, seen } = watched();
  tap.examine = createTap().examine;
  await (await fetch("/429", ASK)).text();
  await (await fetch("/429", { headers: { accept: "text/event-stream" } })).text();
  await (await fetch("/429", { method: "POST", body: new Blob(["{}"]) })).text();
  assert.deepEqual(seen.told, [OPEN, HEADERS, CLOSED]);
});

test("method and signal are those of the call, where it has none those of its request", async () => {
  const url = `${origin}/sse`;
  const { signal } = new AbortController();
  const head = new Request(url, { method: "HEAD", signal });
  for (const call of [[url, { method: "HEAD", signal }], [head], [new Request(url), { method: "HEAD", signal }]]) {
    const { tap, seen } = watched();
    const options = call[1];
    const called = tap.wrap(globalThis.fetch)(...call);
    // One that is used again for another call.
    if (options) options.signal = undefined;
    await called;
    const [stream] = seen.streams;
    assert.equal(stream.method, "HEAD");
    assert.equal(stream.signal, call[0].signal && !options ? call[0].signal : signal);
  }
});

test("what the app takes for a stream is watched, whatever it is", async () => {
  const { tap, fetch, seen } = watched();
  tap.examine = requestExaminer((input) => `${input}`.endsWith("/json"));
  assert.equal(await readAll((await fetch("/json")).body.getReader()), "{}");
  assert.deepEqual(seen.told, [OPEN, HEADERS, READ, CHUNK, CLOSED]);
});
