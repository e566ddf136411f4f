// The built module for development: what it tells in the console, and that it measures as the other build.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.window = globalThis;
globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
globalThis.addEventListener = globalThis.removeEventListener = () => {};
globalThis.location = { pathname: "/chat", origin: "http://127.0.0.1", search: "" };
Object.defineProperty(globalThis, "navigator", { value: { onLine: true }, configurable: true });

const { start } = await import("../../dist/llm-rum-dev.mjs");

const stream = () => new Response("data: 1\n\n", { headers: { "content-type": "text/event-stream" } });

/** Lines of the console while `run` works with a probe and a collector that gives this answer. */
async function told(options, answer, run) {
  const lines = [];
  const { warn, info } = console;
  console.warn = (...line) => lines.push(`warn ${line.join(" ")}`);
  console.info = (...line) => lines.push(`info ${line.join(" ")}`);
  const native = async (url) => (`${url}`.includes("/v1/beacons") ? answer() : stream());
  globalThis.fetch = native;
  try {
    const probe = start({ collector: "https://rum.example", site: "s", wasmUrl: false, ...options });
    await run(probe);
    await probe.flush();
    // Callbacks of streams come later than a flush.
    await new Promise((resolve) => setTimeout(resolve));
    probe.stop();
    await probe.flush();
  } finally {
    Object.assign(console, { warn, info });
  }
  assert.equal(globalThis.fetch, native, "the page has its own fetch again");
  return lines;
}

const ask = async () => (await fetch("/ask", { body: '{"stream":true}' })).text();

test("without a mistake and without debug the console stays empty", async () => {
  const accepted = () => new Response(null, { status: 204 });
  assert.deepEqual(await told({}, accepted, ask), []);
});

test("each mistake is told once, and each stream with debug", async () => {
  const refused = () =>
    Response.json({ error: { code: "unknown_site", message: "no site has this key" } }, { status: 403 });
  const lines = await told({ debug: true, usCase: "chat" }, refused, async (probe) => {
    probe.set({ plan: "pro" });
    probe.set({ plan: "pro" });
    await ask();
    await probe.flush();
    await ask();
  });
  const own = "info llm-rum: unobserved · no known format · only chunks were seen";
  const counted = lines.map((line) => line.replace(/ · (first token|end) \d+ ms| · 0 deltas/g, ""));
  // Streams and answers may be told in either order.
  assert.deepEqual(counted.sort(), [
    own,
    own,
    "warn llm-rum: `plan` is unknown",
    "warn llm-rum: `usCase` is unknown: did you mean `useCase`?",
    "warn llm-rum: the collector refused a beacon: no site has this key (unknown_site)",
  ]);
});

test("each stream is told if the page's address asks for it", async () => {
  const accepted = () => new Response(null, { status: 204 });
  location.search = "?chat=7&llm-rum-debug";
  try {
    const lines = await told({}, accepted, ask);
    assert.equal(lines.length, 1, lines.join("\n"));
    assert.match(lines[0], /^info llm-rum: unobserved/);
    assert.deepEqual(await told({ debug: false }, accepted, ask), [], "the option outranks the address");
  } finally {
    location.search = "";
  }
});

test("a policy that forbids WebAssembly is told if it is used", async () => {
  const accepted = () => new Response(null, { status: 204 });
  const { compile } = WebAssembly;
  WebAssembly.compile = () => Promise.reject(new WebAssembly.CompileError("blocked by CSP"));
  try {
    const wasmUrl = "https://rum.example/llm-rum.wasm";
    const lines = await told({ wasmUrl }, accepted, ask);
    const ofPolicy = lines.filter((line) => line.includes("the page's policy forbids WebAssembly"));
    assert.equal(ofPolicy.length, 1, lines.join("\n"));
    assert.deepEqual(await told({ wasmUrl: false }, accepted, ask), []);
  } finally {
    WebAssembly.compile = compile;
  }
});

test("a collector that cannot be reached is explained", async () => {
  const failed = () => Promise.reject(new TypeError("Failed to fetch"));
  const [line] = await told({ patchFetch: false }, failed, async (probe) => {
    const fetch = probe.wrapFetch(globalThis.fetch, { useCase: "search" });
    await (await fetch("/ask", { body: '{"stream":true}' })).text();
  });
  assert.match(line, /^warn llm-rum: a beacon did not get through to https:\/\/rum\.example: is the collector running/);
});
