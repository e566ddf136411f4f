// Responses and bodies passed to other web APIs: Wasm, caches, constructors, transfer, service workers.

import { check, events } from "../tools.js";

/** An empty Wasm module: the shortest valid one. */
const MODULE = "hex=0061736d01000000";
const WASM = { type: "application/wasm" };

export default [
  check("WebAssembly.compileStreaming accepts the promise of fetch", "[object WebAssembly.Module]", async (t) =>
    `${await WebAssembly.compileStreaming(t.open(MODULE, {}, WASM))}`),
  check("WebAssembly.instantiateStreaming accepts the response", ["instance", "module"], async (t) =>
    Object.keys(await WebAssembly.instantiateStreaming(await t.open(MODULE, {}, WASM))).sort()),
  check("WebAssembly.compileStreaming refuses an event stream", "rejects TypeError", async (t) =>
    t.outcome(() => WebAssembly.compileStreaming(t.open(MODULE)))),
  check("a cache stores the response", [events(2), true], async (t) => {
    const cache = await caches.open(t.id);
    const address = t.play("event event");
    await cache.put(address, await fetch(address));
    const text = await (await cache.match(address)).text();
    return [text, await caches.delete(t.id)];
  }),
  check("a cache refuses a response that is being read", "rejects TypeError", async (t) => {
    const cache = await caches.open(t.id);
    const address = t.play("event hold");
    const response = await fetch(address);
    response.body.getReader();
    const outcome = await t.outcome(() => cache.put(address, response));
    await caches.delete(t.id);
    return outcome;
  }),
  check("a new Response accepts the body", [events(2), true, 201], async (t) => {
    const response = await t.open("event event");
    const other = new Response(response.body, { status: 201 });
    const { locked } = response.body;
    return [await other.text(), locked || response.bodyUsed, other.status];
  }, { differs: { Firefox: [events(2), false, 201] } }),
  check("cancelling a new Response's body closes the connection", "client_closed", async (t) => {
    const other = new Response((await t.open("drip")).body);
    const reader = other.body.getReader();
    await reader.read();
    await reader.cancel();
    return t.connectionEnd();
  }),
  check("a new Request accepts the body", "resolves", async (t) => {
    const { body } = await t.open("event");
    return t.outcome(async () => new Request("/", { method: "POST", body, duplex: "half" }).text());
  }),
  check("a ReadableStream that the app makes stays unchanged", "hi", async (t) => {
    await t.open("event");
    const body = new ReadableStream({ start: (to) => (to.enqueue(new TextEncoder().encode("hi")), to.close()) });
    return new Response(body).text();
  }),
  check("a transferred body carries all bytes", events(2), async (t) => {
    const { body } = await t.open("event event");
    let moved;
    try {
      moved = structuredClone(body, { transfer: [body] });
    } catch (error) {
      return t.errorName(error);
    }
    return t.readAll(moved);
  }, { differs: { WebKit: "DataCloneError" } }),
  check("a transferred body is locked in the page that sent it", true, async (t) => {
    const { body } = await t.open("event event");
    try {
      structuredClone(body, { transfer: [body] });
    } catch (error) {
      return t.errorName(error);
    }
    return body.locked;
  }, { differs: { WebKit: "DataCloneError" } }),
  check("the app can transfer the buffers that it read", [true, 0], async (t) => {
    const { value } = await (await t.open("event hold")).body.getReader().read();
    const { length } = value;
    const moved = structuredClone(value.buffer, { transfer: [value.buffer] });
    return [moved.byteLength >= length, value.byteLength];
  }),
  check("the app can write into the buffers that it read", "XXXX", async (t) => {
    const { value } = await (await t.open("event hold")).body.getReader().read();
    value.fill(88);
    await t.settle();
    return new TextDecoder().decode(value).slice(0, 4);
  }),
  check("one call makes one Resource Timing entry", 1, async (t) => {
    const address = t.play("event");
    await (await fetch(address)).text();
    const known = () => performance.getEntriesByName(location.origin + address).length;
    while (!known()) await t.settle();
    await t.settle();
    return known();
  }),
  check("the app can read a response that a service worker forwards", [events(3), "basic"], async (t) => {
    const response = await fetch(`/worker${t.play("event gate event event")}`);
    const reader = response.body.getReader();
    const { value } = await reader.read();
    await t.openGate();
    return [new TextDecoder().decode(value) + (await t.drain(reader)), response.type];
  }, { scope: "/worker" }),
  check("the app can read a stream that a service worker makes", ["data: one\n\ndata: two\n\n", "basic"], async () => {
    const response = await fetch("/worker/made");
    const copy = response.clone();
    await copy.text();
    return [await response.text(), response.type];
  }, { scope: "/worker" }),
  check("cancelling a service worker's response closes the connection", "client_closed", async (t) => {
    const { body } = await fetch(`/worker${t.play("drip")}`);
    const reader = body.getReader();
    await reader.read();
    await reader.cancel();
    return t.connectionEnd();
  }, { scope: "/worker" }),
  check("an EventSource receives its event", '{"n":1}', async (t) => {
    const source = new EventSource(t.play("event hold"));
    const { data } = await new Promise((resolve) => source.addEventListener("message", resolve, { once: true }));
    source.close();
    return data;
  }),
  check("an XMLHttpRequest receives its response", [200, events(2)], async (t) => {
    const request = new XMLHttpRequest();
    request.open("GET", t.play("event event"));
    request.send();
    await new Promise((resolve) => request.addEventListener("loadend", resolve));
    return [request.status, request.responseText];
  }),
];
