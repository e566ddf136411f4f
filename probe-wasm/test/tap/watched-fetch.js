// A watched fetch on a server of its own: what the app gets, and the events that the sink gets.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before } from "node:test";

import * as moments from "../../js/tap/tap-events.js";
import { createRequestInspector } from "../../js/tap/request-inspector.js";
import { createTap } from "../../js/tap/tap.js";

const { CHUNK } = moments;
const NAMES = Object.fromEntries(Object.entries(moments).map(([name, number]) => [number, name]));
export const TEXT = "data: one\n\ndata: two\n\ndata: three\n\n";
export const ASK = { method: "POST", body: '{"model":"m-1","stream":true}' };

export let origin;
/** Resolves when the server sees that the client has gone. */
export let gone;
let server;

before(async () => {
  server = createServer(async ({ url }, response) => {
    const { pathname: path } = new URL(url, "http://localhost");
    if (path == "/json") return response.writeHead(200, { "content-type": "application/json" }).end("{}");
    if (path == "/page") return response.writeHead(200, { "content-type": "text/html" }).end("<p>");
    if (path == "/429") return response.writeHead(429, { "content-type": "application/json" }).end("{}");
    if (path == "/204") return response.writeHead(204).end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    const [first, ...rest] = TEXT.split(/(?<=\n\n)/);
    await new Promise((written) => response.write(first, written));
    if (path == "/cut") return response.destroy();
    if (path == "/endless") return (gone = new Promise((resolve) => response.on("close", resolve)));
    for (const event of rest) {
      await new Promise(setImmediate);
      await new Promise((written) => response.write(event, written));
    }
    response.end();
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  origin = `http://127.0.0.1:${server.address().port}`;
});

after(() => server.closeAllConnections() ?? server.close());

/** A watched fetch, the events that its sink got, and the text of the chunks. */
export function watched() {
  const told = [];
  const decoder = new TextDecoder();
  const seen = { told, text: "", values: [], streams: new Set() };
  const tap = createTap((stream, moment, value, time) => {
    assert.equal(typeof time, "number");
    seen.streams.add(stream);
    if (moment == CHUNK) seen.text += decoder.decode(value, { stream: true });
    if (moment != told.at(-1)) told.push(moment);
    seen.values.push(value);
  });
  tap.inspect_ = createRequestInspector();
  const fetch = tap.wrap_(globalThis.fetch);
  return { tap, seen, fetch: (path, init) => fetch(origin + path, init) };
}

export function names(told) {
  return told.map((moment) => NAMES[moment]).join(" ");
}

export async function readAll(reader) {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += typeof value == "string" ? value : decoder.decode(value, { stream: true });
  }
}

/** A watched response whose body has ended before the first read. */
export function endedResponse() {
  const native = async () => new Response(TEXT, { headers: { "content-type": "text/event-stream" } });
  return createTap(() => {}).wrap_(native)("http://localhost/");
}

/** Every way of reading a body to its end. */
export const WAYS = {
  "a reader": async (response) => readAll(response.body.getReader()),
  "a reader with its own buffer": async (response) => {
    const reader = response.body.getReader({ mode: "byob" });
    let text = "";
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(7));
      if (done) return text;
      text += new TextDecoder().decode(value);
    }
  },
  "two readers in turn": async (response) => {
    const first = response.body.getReader();
    const { value } = await first.read();
    first.releaseLock();
    return new TextDecoder().decode(value) + (await readAll(response.body.getReader()));
  },
  iteration: async (response) => {
    let text = "";
    for await (const chunk of response.body) text += new TextDecoder().decode(chunk);
    return text;
  },
  "values()": async (response) => {
    let text = "";
    for await (const chunk of response.body.values()) text += new TextDecoder().decode(chunk);
    return text;
  },
  pipeThrough: async (response) => readAll(response.body.pipeThrough(new TextDecoderStream()).getReader()),
  pipeTo: async (response) => {
    let text = "";
    const decoder = new TextDecoder();
    await response.body.pipeTo(new WritableStream({ write: (chunk) => void (text += decoder.decode(chunk)) }));
    assert.equal(response.body.locked, false);
    return text;
  },
  tee: async (response) => {
    const [one, two] = response.body.tee();
    const texts = await Promise.all([readAll(one.getReader()), readAll(two.getReader())]);
    assert.equal(texts[0], texts[1]);
    return texts[0];
  },
  "tee, the second branch first": async (response) => {
    const [one, two] = response.body.tee();
    await readAll(two.getReader());
    return readAll(one.getReader());
  },
  clone: async (response) => {
    const copy = response.clone();
    const text = await readAll(response.body.getReader());
    assert.equal(await readAll(copy.body.getReader()), text);
    return text;
  },
  "a clone read first": async (response) => {
    const text = await readAll(response.clone().body.getReader());
    assert.equal(await readAll(response.body.getReader()), text);
    return text;
  },
};
