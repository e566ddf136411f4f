// Which requests and responses the tap watches, and that it does not change them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CHUNK, CLOSED, HEADERS, OPEN, READ, WHOLE } from "../../js/tap/tap-events.js";
import { createRequestInspector } from "../../js/tap/request-inspector.js";
import { createTap } from "../../js/tap/tap.js";
import { ASK, origin, readAll, watched } from "./watched-fetch.js";

test("arguments go through untouched", async () => {
  const calls = [];
  const native = async (...args) => void calls.push(args);
  const init = { headers: new Headers({ accept: "text/event-stream" }), body: new Uint8Array(1) };
  const input = new URL("http://localhost/");
  await createTap(() => {}).wrap_(native)(input, init, "more");
  assert.deepEqual(calls[0].map((arg, at) => arg === [input, init, "more"][at]), [true, true, true]);
});

test("a request is sent before its examination and timed before it", async () => {
  const order = [];
  const native = async () => void order.push("called", performance.now());
  const tap = createTap(({ time }) => order.push("told", time));
  tap.inspect_ = () => order.push("looked at");
  await tap.wrap_(native)("http://localhost/");
  const [, called, ...then] = order;
  assert.deepEqual(then.slice(0, 2), ["looked at", "told"]);
  assert.ok(then[2] <= called);
});

test("a response that is no stream is left alone and not reported", async () => {
  const { fetch, seen } = watched();
  const response = await fetch("/json");
  assert.equal(Object.getOwnPropertyDescriptor(response, "text"), undefined);
  assert.deepEqual(await response.json(), {});
  await fetch("/204");
  assert.deepEqual(seen.told, []);
});

test("JSON or HTML instead of a stream is reported", async () => {
  const json = watched();
  await (await json.fetch("/json", ASK)).json();
  assert.deepEqual(json.seen.told, [OPEN, HEADERS, READ, WHOLE]);
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

test("body or `accept` mark a stream request, and body its model", async () => {
  const prompt = JSON.stringify('"stream":true,"model":"x"'.repeat(500));
  const asks = [
    [{ method: "POST", body: '{"stream" : true, "model" :"gpt"}' }, "gpt"],
    [{ method: "POST", body: `{"model":"gpt","messages":${prompt},"stream":true}` }, "gpt"],
    [{ method: "POST", body: `{"messages":${prompt},"model":"gpt","stream":true}` }, "gpt"],
    [{ headers: { Accept: "text/event-stream" } }, undefined],
    [{ headers: [["accept", "application/x-ndjson"]] }, undefined],
    [{ headers: [["accept", "application/json-seq"]] }, undefined],
    [{ headers: new Headers({ accept: "text/event-stream" }) }, undefined],
  ];
  for (const [init, model] of asks) {
    const { fetch, seen } = watched();
    await fetch("/json", init);
    assert.equal(seen.told[0], OPEN);
    assert.equal([...seen.streams][0].model, model);
  }
  const upload = { method: "POST", headers: { "content-type": "application/x-ndjson" }, body: "{}" };
  const both = { headers: { accept: "application/json, text/event-stream" } };
  // A server of MCP without notifications refuses to open a stream of them.
  const notifications = { headers: { accept: "text/event-stream", "mcp-protocol-version": "2025-06-18" } };
  const others = [{}, notifications, { method: "POST", body: '{"stream":false}' }, { method: "POST", body: `{"prompt":${prompt}}` }, upload, both];
  for (const init of others) {
    const { fetch, seen } = watched();
    await fetch("/json", init);
    assert.deepEqual(seen.told, []);
  }
});

/** Bodies of POST requests by JSON-RPC, and whether they are calls of tools by MCP. */
const CALLS = [
  [{ method: "initialize", params: { protocolVersion: "2025-03-26" }, jsonrpc: "2.0", id: 0 }, true],
  [{ jsonrpc: "2.0", id: 1, method: "tools/list" }, true],
  [{ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "a", arguments: { stream: true } } }, true],
  [{ jsonrpc: "2.0", id: 3, method: "resources/read", params: { uri: "file:///a" } }, true],
  [{ jsonrpc: "2.0", id: 4, method: "prompts/get", params: { name: "a" } }, true],
  // A2A, an app's own chat, and requests that only hold such a call.
  [{ jsonrpc: "2.0", id: 5, method: "message/stream", params: { message: { role: "user", parts: [] } } }, false],
  [{ jsonrpc: "2.0", id: 6, method: "chat", params: { prompt: "hi" } }, false],
  [{ method: "tools/call" }, false],
  [{ jsonrpc: "2.0", id: 7, method: { name: "tools/call" } }, false],
  [{ messages: [{ jsonrpc: "2.0", method: "tools/call" }], stream: true }, false],
  [[{ jsonrpc: "2.0", method: "tools/call" }], false],
];

test("calls by MCP without its header are background requests", () => {
  const inspect = createRequestInspector();
  for (const [body, isTool] of CALLS) {
    const stream = { own_: { useCase: "chat" } };
    const asks = inspect(stream, "/mcp", { method: "POST", body: JSON.stringify(body), headers: { accept: "text/event-stream" } });
    const own = isTool ? { useCase: "chat", background: true } : { useCase: "chat" };
    assert.deepEqual([!!asks, stream.own_], [!isTool, own], JSON.stringify(body));
  }
  // The app's own test comes first.
  const stream = {};
  assert.ok(createRequestInspector(() => true)(stream, "/mcp", { body: JSON.stringify(CALLS[0][0]) }));
});

/** Request bodies as clients write them: messages, parts, tools, context and options around the model's name. */
const BODIES = [
  // OpenAI chat, Responses, Anthropic, Ollama, Mistral, Cohere: the app's own order of keys.
  { model: "MODEL", messages: [{ role: "user", content: "hi" }], stream: true },
  { messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }], stream: true, model: "MODEL" },
  { input: [{ role: "user", content: "hi" }], instructions: "be kind", model: "MODEL", stream: true },
  { system: "x", messages: [{ role: "assistant", content: [{ type: "tool_use", input: { model: "hi" } }] }], model: "MODEL", stream: true },
  { tools: [{ type: "function", function: { name: "f", parameters: { model: "string" } } }], stream: true, model: "MODEL" },
  { model: "MODEL", prompt: "hi", options: { stop: ["x"] }, keep_alive: "5m", stream: true },
  // The AI SDK's chat, LangGraph, AG-UI and Gemini name no model, or one of their own.
  { id: "1", messages: [{ id: "2", role: "user", parts: [{ type: "text", text: "hi" }] }], trigger: "submit-message", stream: true },
  { input: { messages: [{ type: "human", content: "hi" }] }, config: { configurable: { model: "hi" } }, stream: true },
  { threadId: "1", runId: "2", state: { model: "hi" }, tools: [], context: [{ value: "hi" }], forwardedProps: {}, stream: true },
  { contents: [{ role: "user", parts: [{ text: "hi" }] }], generationConfig: { stopSequences: ["x"] }, stream: true },
];

const SECRETS = ["secret", 'secret","model":"secret', '"model":"secret"', '\\"model\\":\\"secret', '{"model":"secret"}', "}],\"model\":\"secret\"", { model: "secret" }, ['"', { model: "secret" }]];

/** Every body that has `secret` in the place of one key or value of `value`, but for the model's name. */
function* planted(value, secret) {
  if (value === "MODEL") return;
  yield secret;
  if (typeof value != "object") return;
  for (const [key, inner] of Object.entries(value)) {
    for (const other of planted(inner, secret)) yield Array.isArray(value) ? value.with(key, other) : { ...value, [key]: other };
    if (typeof secret == "string" && key != "model" && !Array.isArray(value)) yield { ...value, [secret]: { ...value } };
  }
}

test("a secret anywhere in a request is never the model", () => {
  const inspect = createRequestInspector();
  let tried = 0;
  for (const body of BODIES)
    for (const secret of SECRETS)
      for (const other of planted(body, secret))
        for (const indent of [undefined, 2]) {
          // A bare string or list is no client's body, and `model` at the top level is the model.
          if (typeof other != "object" || Array.isArray(other) || other.model === "secret") continue;
          const stream = {};
          const text = JSON.stringify(other, null, indent);
          inspect(stream, "/", { body: text });
          assert.equal(stream.model, JSON.parse(text).model === "MODEL" ? "MODEL" : undefined, text);
          tried++;
        }
  assert.ok(tried > 1000, `${tried}`);
});

test("a body that is cut, no JSON or no text gives no model", () => {
  const inspect = createRequestInspector();
  const model = (body) => {
    const stream = {};
    inspect(stream, "/", { body });
    return stream.model;
  };
  const long = JSON.stringify("x".repeat(5000));
  assert.equal(model(`{"a":${long},"messages":[{"model":"secret"}],"b":${long},"model":"gpt"}`), "gpt");
  assert.equal(model(`{"a":[${"[],".repeat(50_000)}[]],"model":"late"}`), "late");
  for (const body of [
    '{"messages":[{"content":"cut',
    '["model", "secret"]',
    '[{"model":"secret"}]',
    'say {"model":"secret"}',
    '{say "model":"secret"}',
    '{"a": please "model":"secret"}',
    '{"a":1.5e3,"b":[true,false,null,-2],"c":maybe,"model":"secret"}',
    '{} {"model":"secret"}',
    '{"model":{"model":"secret"}}',
    '{"model":["secret"]}',
    '{"a":"\\\\\\","model\\":\\"secret"}',
    '{"model":"secret","messages":[',
    "[".repeat(200_000),
    `{"a":${"[".repeat(200_000)}`,
    new TextEncoder().encode('{"model":"secret"}'),
    new URLSearchParams('{"model":"secret"}'),
    null,
  ])
    assert.equal(model(body), undefined, `${body}`.slice(0, 80));
});

test("only a value in the shape of a name is a model", () => {
  const inspect = createRequestInspector();
  const model = (name) => {
    const stream = {};
    inspect(stream, "/", { body: JSON.stringify({ model: name, stream: true }) });
    return stream.model;
  };
  for (const name of ["gpt-5", "@cf/meta/llama-3.1-8b", "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-3-5-v2:0"])
    assert.equal(model(name), name);
  for (const text of ["my secret", "secret?", "\u5bc6", 'a"b', "", "x".repeat(129), "a-".repeat(20) + "a", 7, null])
    assert.equal(model(text), undefined, text);
  // The time is in proportion to the length for any value.
  assert.equal(model("a".repeat(1e6)), undefined);
});

test("headers that are no strings are read as the browser does", async () => {
  const { tap, fetch, seen } = watched();
  await fetch("/json", { headers: { "x-count": 123n, accept: { toString: () => "text/event-stream" } } });
  assert.deepEqual([tap.broken_, seen.told[0]], [0, OPEN]);
});

test("headers that cannot be sent are the app's own fault", async () => {
  const { tap, fetch, seen } = watched();
  for (const headers of [{ "x-name": "\u4e2d" }, { "a b": "c" }, { "x-sign": Symbol() }])
    await assert.rejects(fetch("/json", { headers }), TypeError);
  await fetch("/json", { headers: { accept: "text/event-stream" } });
  assert.deepEqual([tap.broken_, seen.told[0]], [0, OPEN]);
});

test("an object that replaces a response is left alone", async () => {
  for (const made of [{ ok: true }, undefined]) {
    const { tap, seen } = watched();
    assert.equal(await tap.wrap_(async () => made)("/flags"), made);
    assert.deepEqual([tap.broken_, seen.told], [0, []]);
  }
});

test("before the load, only the body marks a stream request", async () => {
  const { tap, fetch, seen } = watched();
  tap.inspect_ = createTap().inspect_;
  await (await fetch("/429", ASK)).text();
  await (await fetch("/429", { headers: { accept: "text/event-stream" } })).text();
  await (await fetch("/429", { method: "POST", body: new Blob(["{}"]) })).text();
  assert.deepEqual(seen.told, [OPEN, HEADERS, CLOSED]);
});

test("the init's method and signal precede those of the Request", async () => {
  const url = `${origin}/sse`;
  const { signal } = new AbortController();
  const head = new Request(url, { method: "HEAD", signal });
  for (const call of [[url, { method: "HEAD", signal }], [head], [new Request(url), { method: "HEAD", signal }]]) {
    const { tap, seen } = watched();
    const options = call[1];
    const called = tap.wrap_(globalThis.fetch)(...call);
    // The app uses the options again for another call.
    if (options) options.signal = undefined;
    await called;
    const [stream] = seen.streams;
    assert.equal(stream.method, "HEAD");
    assert.equal(stream.signal, call[0].signal && !options ? call[0].signal : signal);
  }
});

test("a response that the app declares a stream is observed", async () => {
  const { tap, fetch, seen } = watched();
  tap.inspect_ = createRequestInspector((input) => `${input}`.endsWith("/json"));
  assert.equal(await readAll((await fetch("/json")).body.getReader()), "{}");
  assert.deepEqual(seen.told, [OPEN, HEADERS, READ, CHUNK, CLOSED]);
});
