// Which requests the extension `failures` takes for those of an LLM client: by their bodies, and by routes that have
// streamed. Ordinary requests of apps are never among them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { failures } from "../../js/extensions/failures.js";
import { FIRST_TOKEN } from "../../js/session/progress-flags.js";
import { CHUNK, FORGET, HEADERS } from "../../js/tap/tap-events.js";

globalThis.location = { href: "https://app.example/chat" };

const HI = [{ role: "user", content: "hi" }];
const PARTS = [{ id: "m1", role: "user", parts: [{ type: "text", text: "hi" }] }];
const TEXT = { headers: new Headers({ "content-type": "text/event-stream" }), status: 200 };
const JSON_ANSWER = { headers: new Headers({ "content-type": "application/json" }) };

/** The extension, and the events that it sends. */
function watching() {
  const emitted = [];
  const extension = failures()({ probe: {}, emit: (...event) => emitted.push(event) });
  const inspect = (path, body, method = "POST") => {
    const stream = { method };
    const init = { method, body: body && typeof body == "object" ? JSON.stringify(body) : body };
    return extension.inspect(stream, path, init) && stream;
  };
  return { ...extension, inspect, emitted };
}

/** Requests as clients send them: path and body. */
const CHATS = [
  // `useChat` 5 and 4, a tool's result, `useCompletion`.
  ["/api/chat", { id: "c1", messages: PARTS, trigger: "submit-message" }],
  ["/api/chat", { id: "c1", messages: HI }],
  ["/api/chat", { id: "c1", messages: [{ role: "assistant", parts: [{ type: "tool-weather" }] }], trigger: "submit-message" }],
  ["/api/completion", { prompt: "hi" }],
  // assistant-ui, TanStack AI, AG-UI, deep-chat.
  ["/api/chat", { system: "be kind", tools: {}, messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }] }],
  ["/api/tanchat", { messages: HI, data: {} }],
  ["/api/copilotkit/agent", { threadId: "t", runId: "r", state: {}, tools: [], context: [], messages: HI }],
  // @google/genai by its key, langgraph-sdk, LangServe.
  ["https://generativelanguage.googleapis.com/v1beta/models/gemini-3:streamGenerateContent?alt=sse", { contents: [{ role: "user", parts: [{ text: "hi" }] }] }],
  ["/api/gemini", { contents: [{ parts: [{ text: "hi" }] }], generationConfig: {} }],
  ["/threads/5f/runs/stream", { assistant_id: "agent", input: { messages: [{ type: "human", content: "hi" }] }, stream_mode: ["messages"] }],
  ["/chain/stream", { input: { topic: "bears" }, config: {} }],
  // Dify, Flowise, Ollama, an app's own route with a model.
  ["/v1/chat-messages", { query: "hi", inputs: {}, response_mode: "streaming", user: "u" }],
  ["/api/v1/prediction/9", { question: "hi", streaming: true, chatId: "1" }],
  ["http://localhost:11434/api/generate", { model: "llama", prompt: "hi" }],
  ["/ask", { model: "m", messages: [...HI, { role: "assistant", content: "" }, { role: "tool", content: "4" }] }],
];

test("a request of an LLM client is recognised by its body", () => {
  const { inspect } = watching();
  for (const [path, body] of CHATS) assert.ok(inspect(path, body), `${path} ${JSON.stringify(body)}`);
  for (const [path, body] of CHATS) assert.ok(!inspect(path, { ...body, stream: false }), "it asks for a whole response");
  for (const [path, body] of CHATS) assert.ok(!inspect(path, body, "PUT"), "it stores a chat");
});

/** Requests of ordinary apps: method, path and body. */
const EVERYDAY = [
  // Sessions and accounts.
  ["POST", "/login", { email: "a@b.example", password: "x" }],
  ["POST", "/api/auth/session", { id: "s1", token: "x" }],
  ["POST", "/api/auth/callback/credentials", "csrfToken=1&password=x"],
  ["POST", "/oauth/token", { grant_type: "refresh_token", refresh_token: "x" }],
  ["POST", "/logout", undefined],
  ["POST", "/api/register", { name: "a", email: "b" }],
  ["POST", "/api/password/reset", { email: "b" }],
  ["POST", "/api/mfa", { code: "123456", session_id: "s" }],
  ["GET", "/api/me", undefined],
  ["PATCH", "/api/me", { name: "a", model: "dark" }],
  ["DELETE", "/api/sessions/1", undefined],
  ["POST", "/api/invite", { emails: ["a"], message: "hi" }],
  // REST.
  ["GET", "/api/orders?page=2", undefined],
  ["POST", "/api/orders", { id: "1", items: [{ sku: "a", count: 2 }] }],
  ["PUT", "/api/orders/1", { status: "paid" }],
  ["DELETE", "/api/orders/1", undefined],
  ["POST", "/api/cart", { product_id: "1", quantity: 1 }],
  ["POST", "/api/cars", { make: "x", model: "y", year: 2020 }],
  ["POST", "/api/cars/search", { model: "y", input: "red" }],
  ["POST", "/api/devices", { id: "d1", model: "Pixel 9", os: "Android" }],
  ["POST", "/api/comments", { thread_id: "t", content: "hi" }],
  ["POST", "/api/contact", { name: "a", message: "hi" }],
  ["POST", "/api/todos", { title: "a", done: false }],
  ["POST", "/api/notes", { id: "n1", contents: "text" }],
  ["POST", "/api/files/save", { id: "f", contents: ["a", "b"] }],
  ["POST", "/api/forms/7", { id: "7", input: { name: "a", age: 3 } }],
  ["POST", "/api/forms/8", { id: "8", inputs: [{ name: "a", value: 3 }] }],
  ["POST", "/api/calculate", { input: [1, 2, 3] }],
  ["POST", "/api/convert", { id: "1", input: "a.png", output: "b.png" }],
  ["POST", "/api/validate", { input: "x" }],
  ["POST", "/api/settings", { theme: "dark", prompt: true }],
  ["POST", "/api/install-prompt", { id: "p", prompt: { shown: true } }],
  ["POST", "/api/dialogs", { prompt: "Delete?", buttons: ["yes", "no"] }],
  ["POST", "/api/batch", [{ method: "GET", path: "/a" }]],
  ["POST", "/api/search", { q: "shoes", page: 1 }],
  ["POST", "/api/search", { query: "shoes", filters: { size: 42 } }],
  ["POST", "/api/geocode", { address: "x" }],
  ["POST", "/api/payments", { amount: 3, currency: "EUR", session_id: "s" }],
  ["POST", "/api/webhooks/test", { url: "https://a.example", events: ["a"] }],
  ["POST", "/api/jobs", { type: "export", params: {} }],
  ["POST", "/api/runs", { run_id: "1", status: "done" }],
  ["POST", "/api/reports", { from: "2026-01-01", to: "2026-02-01" }],
  ["HEAD", "/api/ping", undefined],
  ["OPTIONS", "/api/ping", undefined],
  ["POST", "/api/ping", "{}"],
  ["POST", "/api/ping", ""],
  ["POST", "/api/ping", "{not json"],
  ["POST", "/api/ping", "null"],
  // Messages between people, and of mail.
  ["POST", "/api/messages", { thread_id: "t", text: "hi" }],
  ["POST", "/api/messages", { id: "1", messages: HI }],
  ["POST", "/api/rooms/1/send", { messages: [{ from: "ann", text: "hi" }] }],
  ["POST", "/api/sync", { id: "s", messages: [{ user: "ann", content: "hi" }] }],
  ["POST", "/api/sync", { id: "s", messages: ["hi"] }],
  ["POST", "/api/sync", { id: "s", messages: [] }],
  ["POST", "/api/mail", { messages: [{ to: "a", subject: "b", content: "c" }] }],
  ["POST", "/api/support", { messages: [{ role: "agent", content: "hi" }] }],
  ["POST", "/api/members", { messages: [{ role: "admin", content: "hi" }] }],
  ["POST", "/api/inbox/read", { messages: ["1", "2"], session_id: "s" }],
  ["POST", "/api/sms", { messages: [{ type: "text", content: "hi" }] }],
  // A chat app's own storage.
  ["PUT", "/api/chat/1", { id: "1", messages: HI }],
  ["POST", "/api/chats", { id: "1", title: "a", messages: HI }],
  ["POST", "/api/history", { id: "1", messages: HI }],
  ["POST", "/api/save", { id: "1", messages: [...HI, { role: "assistant", content: "hello" }] }],
  ["POST", "/api/vote", { chatId: "1", messageId: "2", type: "up" }],
  ["POST", "/api/title", { chatId: "1", title: "a" }],
  ["GET", "/api/chat/1", undefined],
  ["DELETE", "/api/chat?id=1", undefined],
  ["GET", "/api/models", undefined],
  ["POST", "/api/feedback", { run_id: "1", score: 1, comment: "good" }],
  // Calls of models that do not stream.
  ["POST", "https://api.openai.com/v1/embeddings", { model: "e", input: ["a"] }],
  ["POST", "https://api.openai.com/v1/moderations", { model: "m", input: "a" }],
  ["POST", "https://api.openai.com/v1/chat/completions", { model: "m", messages: HI }],
  ["POST", "https://api.openai.com/v1/responses", { model: "m", input: HI }],
  ["POST", "https://api.openai.com/v1/images/generations", { model: "m", prompt: "a cat" }],
  ["POST", "https://api.openai.com/v1/audio/speech", { model: "m", input: "a", voice: "b" }],
  ["POST", "https://api.anthropic.com/v1/messages", { model: "m", messages: HI }],
  ["POST", "https://generativelanguage.googleapis.com/v1beta/models/g:countTokens", { contents: [{ parts: [{ text: "a" }] }] }],
  ["POST", "https://generativelanguage.googleapis.com/v1beta/models/g:generateContent", { contents: [{ parts: [{ text: "a" }] }] }],
  ["POST", "/api/chat", { model: "m", messages: HI, stream: false }],
  // Uploads.
  ["POST", "/upload", new FormData()],
  ["POST", "/upload", new Blob(["{}"])],
  ["PUT", "/upload/part/1", new Uint8Array(3)],
  ["POST", "/upload", new ArrayBuffer(3)],
  ["POST", "/upload", new URLSearchParams("prompt=hi")],
  ["POST", "/upload/init", { id: "u", name: "a.png", size: 3 }],
  ["POST", "/upload/stream", { id: "u", parts: [1, 2] }],
  // GraphQL and RPC.
  ["POST", "/graphql", { query: "{ me { id } }", variables: { id: "1" }, operationName: "Me" }],
  ["POST", "/graphql", { query: "mutation { a }", variables: { input: { messages: [] } } }],
  ["POST", "/graphql", [{ query: "{ me }" }]],
  ["POST", "/rpc", { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "a" } }],
  ["POST", "/trpc/post.add?batch=1", { 0: { json: { title: "a" } } }],
  ["POST", "/_server", { id: "action", args: ["hi"] }],
  // Analytics and monitoring.
  ["POST", "https://api.segment.io/v1/batch", { batch: [{ type: "track", event: "a" }], sentAt: "x" }],
  ["POST", "/collect", { event: "page", session_id: "s", properties: { model: "m" } }],
  ["POST", "https://o1.ingest.sentry.io/api/1/envelope/", '{"event_id":"1"}\n{"type":"event"}\n{}'],
  ["POST", "/v1/traces", { resourceSpans: [] }],
  ["POST", "/rum", { reports: [{ id: "1", model: "m" }] }],
  ["POST", "/e/", { api_key: "x", batch: [], session_id: "s" }],
  ["POST", "/log", { level: "error", messages: ["a"] }],
  ["POST", "/vitals", { id: "v1", name: "LCP", value: 3 }],
  ["GET", "/flags?user=1", undefined],
];

test("a hundred everyday requests are left alone", () => {
  const { inspect } = watching();
  assert.ok(EVERYDAY.length >= 100, `${EVERYDAY.length}`);
  for (const [method, path, body] of EVERYDAY) {
    const isPlain = [Object.prototype, Array.prototype].includes(Object.getPrototypeOf(body ?? ""));
    assert.ok(!inspect(path, isPlain ? JSON.stringify(body) : body, method), `${method} ${path} ${JSON.stringify(body)}`);
  }
});

test("a route that has streamed text is recognised again", () => {
  const { inspect, onEvent } = watching();
  const url = "https://app.example/threads/5f0c2e91-aa11/runs?x=1";
  assert.ok(!inspect(url, { go: 1 }));
  const stream = { method: "POST", seen: 0 };
  onEvent(stream, HEADERS, { ...TEXT, url });
  onEvent(stream, CHUNK);
  assert.ok(!inspect(url, { go: 1 }), "it has shown no text yet");
  stream.seen = FIRST_TOKEN;
  onEvent(stream, CHUNK);
  assert.ok(inspect("/threads/71d0ab32-bb22/runs", { go: 2 }), "another thread");
  assert.ok(inspect(new Request(url, { method: "POST", body: "x" }), undefined));
  assert.ok(!inspect(url, undefined, "GET"));
  assert.ok(!inspect("/threads/71d0ab32-bb22/runs/cancel", { go: 2 }));
});

test("routes are bounded", () => {
  const { inspect, onEvent } = watching();
  for (let at = 0; at < 30; at++)
    onEvent({ method: "POST", seen: FIRST_TOKEN }, HEADERS, { ...TEXT, url: `https://app.example/${"a".repeat(at + 1)}` });
  assert.ok(inspect("/a", ""));
  assert.ok(!inspect(`/${"a".repeat(30)}`, ""));
});

test("only a failure of such a request is reported", () => {
  const { inspect, onEvent, addFields, emitted } = watching();
  const ask = () => inspect(...CHATS[0]);
  const kept = (stream, outcome) => {
    const report = { id: "1", outcome };
    addFields(report, stream);
    return "id" in report;
  };
  const [good, streamed, refused] = [ask(), ask(), ask()];
  onEvent(good, HEADERS, { ...JSON_ANSWER, status: 200, url: "https://app.example/api/chat" });
  assert.deepEqual(emitted, [[good, FORGET]]);
  onEvent(streamed, HEADERS, { ...TEXT, url: "https://app.example/api/chat" });
  onEvent(refused, HEADERS, { ...JSON_ANSWER, status: 429, url: "https://app.example/api/chat" });
  assert.equal(emitted.length, 1);
  assert.ok(kept(streamed, "aborted"), "a stream like any other");
  assert.ok(kept(refused, "http_error"));
  for (const outcome of ["network_error", "timeout"]) assert.ok(kept(ask(), outcome));
  for (const outcome of ["aborted", "abandoned", "unobserved"]) assert.ok(!kept(ask(), outcome), outcome);
});

test("arguments of any kind are no error", () => {
  assert.ok(!watching().inspect("http://[", CHATS[0][1]));
  const extension = failures()({ probe: {} });
  assert.ok(!extension.inspect({ method: "POST" }, undefined, null));
  assert.ok(!extension.inspect({}, Symbol("x"), undefined));
});
