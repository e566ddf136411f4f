// Clients that are programs of their own: curl gets the app's own bytes, and SDKs read the same with comments in their
// streams: `openai` as a caller, and the AI SDK on both sides.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { serve } from "@hono/node-server";
import { DefaultChatTransport, streamText } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import OpenAI from "openai";

import { expressMiddleware, mark, withLlmRum } from "llm-rum-server";

const COMMENT = /: llm-rum \{[^}]*\}\n\n?/g;
const BROWSER = { origin: "https://chat.example", "sec-fetch-site": "cross-site" };

const CHAT = ["A", "B"].map((content) => ({ id: "c1", choices: [{ index: 0, delta: { content } }] }));
const RESPONSE = [
  { type: "response.created", response: { id: "r1" } },
  { type: "response.output_text.delta", delta: "A" },
  { type: "response.output_text.delta", delta: "B" },
  { type: "response.completed", response: { id: "r1" } },
];
const BODIES = {
  "/v1/chat/completions": [...CHAT.map((it) => `data: ${JSON.stringify(it)}\n\n`), "data: [DONE]\n\n"],
  "/v1/responses": RESPONSE.map((it, at) => `id: ${at}\nevent: ${it.type}\ndata: ${JSON.stringify(it)}\n\n`),
};

let server;
before(async () => {
  const middleware = expressMiddleware();
  server = createServer((request, response) => {
    middleware(request, response, () => {
      response.setHeader("content-type", "text/event-stream");
      for (const event of BODIES[request.url]) response.write(event);
      response.end();
    });
  });
  await once(server.listen({ host: "127.0.0.1", port: 0 }), "listening");
});
after(() => server.close());

/** The events that the SDK makes of a stream, and the comments that were in it. */
async function openaiEvents(headers, ask) {
  let body = "";
  const recorded = async (...given) => {
    const response = await fetch(...given);
    body = await response.clone().text();
    return response;
  };
  const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
  const client = new OpenAI({ apiKey: "none", baseURL, defaultHeaders: headers, fetch: recorded });
  const events = [];
  for await (const event of await ask(client)) events.push(event);
  return { events, comments: body.match(COMMENT) ?? [] };
}

for (const [name, ask] of [
  ["chat", (client) => client.chat.completions.create({ model: "m", messages: [], stream: true })],
  ["responses", (client) => client.responses.create({ model: "m", input: "", stream: true })],
])
  test(`openai reads the same ${name} events with comments`, async () => {
    const commented = await openaiEvents(BROWSER, ask);
    const plain = await openaiEvents({}, ask);
    assert.deepEqual(commented.events, plain.events);
    assert.equal(plain.events.length, name === "chat" ? CHAT.length : RESPONSE.length);
    assert.deepEqual([commented.comments.length, plain.comments.length], [2, 0]);
  });

for (const [path, events] of Object.entries(BODIES))
  test(`curl reads the bytes of the app from ${path}`, async () => {
    const url = `http://127.0.0.1:${server.address().port}${path}`;
    const { stdout } = await promisify(execFile)("curl", ["-fsSN", "--max-time", "30", "--data", "{}", url]);
    assert.equal(stdout, events.join(""));
  });

const TEXT = [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "Hel" },
  { type: "text-delta", id: "1", delta: "lo" },
];
const USAGE = { inputTokens: { total: 3 }, outputTokens: { total: 7 } };
const END = [
  { type: "text-end", id: "1" },
  { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: USAGE },
];

/** A model that sends `parts`; after them it ends, or waits until it is aborted. */
function modelOf(parts, { hangs = false } = {}) {
  const rest = [...parts];
  let wasAborted;
  const aborted = new Promise((resolve) => (wasAborted = resolve));
  const doStream = async ({ abortSignal }) => {
    abortSignal?.addEventListener("abort", () => wasAborted(abortSignal.reason));
    const pull = (controller) => {
      const part = rest.shift();
      if (part) controller.enqueue(part);
      else if (hangs) return aborted.then((reason) => controller.error(reason));
      else controller.close();
    };
    return { stream: new ReadableStream({ pull }) };
  };
  return { model: new MockLanguageModelV4({ doStream }), aborted };
}

/** A server with a handler as an app has it, and a client of the AI SDK that sends `headers`. */
async function uiChat(t, model, headers, options = {}) {
  const handler = ({ signal }) =>
    streamText({ model, prompt: "Hi", abortSignal: signal, ...options }).toUIMessageStreamResponse();
  const app = serve({ fetch: withLlmRum(handler), hostname: "127.0.0.1", port: 0 });
  await once(app, "listening");
  t.after(() => app.close());
  const recorded = { body: "" };
  const recordingFetch = async (...given) => {
    const response = await fetch(...given);
    const decoder = new TextDecoder();
    const record = (chunk, controller) => {
      recorded.body += decoder.decode(chunk, { stream: true });
      controller.enqueue(chunk);
    };
    return new Response(response.body.pipeThrough(new TransformStream({ transform: record })), response);
  };
  const transport = new DefaultChatTransport({
    api: `http://127.0.0.1:${app.address().port}/`,
    headers,
    fetch: recordingFetch,
  });
  const send = (abortSignal) =>
    transport.sendMessages({ trigger: "submit-message", chatId: "1", messages: [], abortSignal });
  return { send, recorded };
}

async function chunksOf(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

test("the AI SDK reads the same chunks with comments", async (t) => {
  const options = { onStepEnd: ({ usage }) => mark({ output_tokens: usage.outputTokens }) };
  const commented = await uiChat(t, modelOf([...TEXT, ...END]).model, BROWSER, options);
  const plain = await uiChat(t, modelOf([...TEXT, ...END]).model, {}, options);
  const chunks = await chunksOf(await commented.send());
  assert.deepEqual(chunks, await chunksOf(await plain.send()));
  assert.equal(chunks.filter(({ type }) => type === "text-delta").length, 2);
  assert.equal(commented.recorded.body.replaceAll(COMMENT, ""), plain.recorded.body);
  const [first, second] = commented.recorded.body.match(COMMENT).map((it) => JSON.parse(it.slice(": llm-rum ".length)));
  assert.deepEqual(Object.keys(first), ["ttft_ms"]);
  assert.equal(second.output_tokens, 7);
  // Right before the first text.
  assert.match(
    commented.recorded.body,
    /"text-start","id":"1"}\n\n: llm-rum \{"ttft_ms":[\d.]+\}\n\ndata: \{"type":"text-delta"/,
  );
});

test("an abort by the AI SDK's client reaches the model", async (t) => {
  const { model, aborted } = modelOf(TEXT, { hangs: true });
  const { send, recorded } = await uiChat(t, model, BROWSER);
  const controller = new AbortController();
  const reader = (await send(controller.signal)).getReader();
  let chunk;
  do chunk = (await reader.read()).value;
  while (chunk.delta !== "lo");
  controller.abort();
  await aborted;
  assert.match(recorded.body, COMMENT);
});

test("an abort before the first text reaches the model", async (t) => {
  const { model, aborted } = modelOf([], { hangs: true });
  const { send } = await uiChat(t, model, BROWSER);
  const controller = new AbortController();
  await send(controller.signal);
  controller.abort();
  await aborted;
});
