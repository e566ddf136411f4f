// Handlers that return a web `Response`: what they get, and what becomes of their responses.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";

import { mark, withLlmRum } from "llm-rum-server";

const BROWSER = { headers: { "sec-fetch-site": "same-origin" } };
const ADDRESS = "https://app.example/chat";

const stream = (source) =>
  new Response(new ReadableStream(source), { headers: { "content-type": "text/event-stream" } });
const once = (text) => ({
  start(controller) {
    controller.enqueue(new TextEncoder().encode(text));
    controller.close();
  },
});

test("the handler is called with its own arguments and this", async () => {
  const app = {
    fetch: withLlmRum(function (...given) {
      return [this, ...given];
    }),
  };
  const environment = {};
  const plain = new Request(ADDRESS);
  assert.deepEqual(app.fetch(plain, environment), [app, plain, environment]);
  assert.throws(
    () =>
      withLlmRum(() => {
        throw new RangeError("own");
      })(new Request(ADDRESS, BROWSER)),
    RangeError,
  );
  await assert.rejects(
    withLlmRum(async () => {
      throw new RangeError("own");
    })(new Request(ADDRESS, BROWSER)),
    RangeError,
  );
});

test("other clients get the response that the handler made", () => {
  const response = stream(once("data: A\n\n"));
  for (const headers of [{}, { "sec-fetch-mode": "cors" }, { "user-agent": "Mozilla/5.0" }])
    assert.equal(withLlmRum(() => response)(new Request(ADDRESS, { headers })), response);
});

test("the request is found in what frameworks pass", async () => {
  const request = new Request(ADDRESS, BROWSER);
  for (const argument of [request, { request }, { req: { raw: request } }]) {
    const response = withLlmRum(() => stream(once("data: A\n\n")))(argument);
    assert.match(await response.text(), /^: llm-rum /);
  }
  const guarded = new Request(ADDRESS, BROWSER);
  Object.defineProperty(guarded, "request", { get: () => assert.fail("as in Next.js's edge runtime") });
  assert.match(await withLlmRum(() => stream(once("data: A\n\n")))(guarded).text(), /^: llm-rum /);
  const none = stream(once("data: A\n\n"));
  for (const argument of [undefined, null, {}, "text"]) assert.equal(withLlmRum(() => none)(argument), none);
});

test("status text and cookies of a commented response stay", () => {
  const headers = [
    ["content-type", "text/event-stream"],
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
  ];
  const response = withLlmRum(() => new Response("data: A\n\n", { statusText: "Fine", headers }))(
    new Request(ADDRESS, BROWSER),
  );
  assert.equal(response.statusText, "Fine");
  assert.deepEqual(response.headers.getSetCookie(), ["a=1", "b=2"]);
});

test("a response whose body is in use stays as it is", () => {
  const response = stream(once("data: A\n\n"));
  response.body.getReader();
  assert.equal(withLlmRum(() => response)(new Request(ADDRESS, BROWSER)), response);
});

test("the source is asked only for what the client reads", async () => {
  let asked = 0;
  const source = new ReadableStream(
    { pull: (controller) => controller.enqueue(new TextEncoder().encode(`data: ${++asked}\n\n`)) },
    { highWaterMark: 0 },
  );
  const headers = { "content-type": "text/event-stream" };
  const response = withLlmRum(() => new Response(source, { headers }))(new Request(ADDRESS, BROWSER));
  const reader = response.body.getReader();
  for (const expected of [0, 1, 2]) {
    // Streams ask ahead in steps of their own.
    await setImmediate();
    assert.equal(asked, expected);
    await reader.read();
  }
});

test("a response to HEAD stays as it is", () => {
  const response = stream(once("data: A\n\n"));
  assert.equal(withLlmRum(() => response)(new Request(ADDRESS, { ...BROWSER, method: "HEAD" })), response);
});

test("a mark that is not finite is ignored", async () => {
  const response = withLlmRum(() => {
    for (const value of [Infinity, NaN, -0.1]) mark({ queue_ms: value, output_tokens: value });
    return stream(once("data: A\n\n"));
  })(new Request(ADDRESS, BROWSER));
  assert.match(await response.text(), /^: llm-rum \{"ttft_ms":[\d.]+\}\n/);
});

test("a mark with the request needs no context", async () => {
  const request = new Request(ADDRESS, BROWSER);
  const response = withLlmRum(() =>
    stream({
      async start(controller) {
        await null;
        mark({ queue_ms: 2 }, request);
        once("data: A\n\n").start(controller);
      },
    }),
  )(request);
  assert.match(await response.text(), /^: llm-rum \{"ttft_ms":[\d.]+,"queue_ms":2\}/);
});

/** The comment of a handler that marks by `call`, in a process where the package resolves as for Workers. */
function commentInWorkers(setUp, call) {
  const code = `${setUp};
    const { mark, withLlmRum } = await import("llm-rum-server");
    const headers = { "content-type": "text/event-stream" };
    const handler = async (request) => (await null, ${call}, new Response("data: A\\n\\n", { headers }));
    const response = await withLlmRum(handler)(new Request("https://app.example", { headers: { origin: "null" } }));
    console.log((await response.text()).split("\\n", 1)[0].replace(/[\\d.]+,?/, ""));`;
  const options = { cwd: new URL("..", import.meta.url), encoding: "utf8" };
  return execFileSync(process.execPath, ["--conditions=workerd", "--input-type=module", "-e", code], options).trim();
}

const GLOBAL = 'globalThis.AsyncLocalStorage = (await import("node:async_hooks")).AsyncLocalStorage';

for (const [name, setUp, inContext] of [
  ["a global AsyncLocalStorage", `${GLOBAL}; delete process.getBuiltinModule`, true],
  ["the modules of Node", "", true],
  ["neither", "globalThis.process = undefined", false],
])
  test(`marks in a runtime that has ${name}`, () => {
    const marked = ': llm-rum {"ttft_ms":"queue_ms":4}';
    assert.equal(commentInWorkers(setUp, "mark({ queue_ms: 4 }, request)"), marked);
    assert.equal(commentInWorkers(setUp, "mark({ queue_ms: 4 })"), inContext ? marked : ': llm-rum {"ttft_ms":}');
  });
