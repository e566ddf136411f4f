// The built module with the extension `failures`: what goes to the collector of a client that does not say that it asks
// for a stream.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.window = globalThis;
globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
globalThis.addEventListener = globalThis.removeEventListener = () => {};
globalThis.location = { pathname: "/chat", href: "https://app.example/chat" };
Object.defineProperty(globalThis, "navigator", { value: { onLine: true }, configurable: true });

const { start } = await import("../../dist/llm-rum.mjs");
const { failures } = await import("../../dist/llm-rum-more.mjs");

const CHAT = JSON.stringify({ id: "c1", messages: [{ role: "user", parts: [{ type: "text", text: "hi" }] }] });
const JSON_TYPE = { "content-type": "application/json" };

/** The outcome and status of each report of a request that `native` answers, as the page and the collector get them. */
async function reported(extensions, native, body = CHAT, init = {}) {
  const sent = [];
  const ended = [];
  globalThis.fetch = native;
  const beforeSend = (report) => void sent.push([report.outcome, report.status]);
  const probe = start({ collector: "https://rum.example", site: "s", wasmUrl: false, beforeSend }).use(...extensions);
  probe.onStreamEnd((report) => ended.push([report.outcome, report.status]));
  const answered = await fetch("/api/chat", { method: "POST", body, ...init }).then((response) => response.text(), String);
  await probe.flush();
  probe.stop();
  await probe.flush();
  assert.equal(probe.faults, 0);
  assert.deepEqual(ended, sent);
  return { sent, answered };
}

test("a refusal of a chat is reported, and read by the app", async () => {
  const refuse = async () => new Response('{"error":1}', { status: 429, headers: JSON_TYPE });
  assert.deepEqual(await reported([failures()], refuse), { sent: [["http_error", 429]], answered: '{"error":1}' });
  assert.deepEqual((await reported([], refuse)).sent, [], "without the extension");
  assert.deepEqual((await reported([failures()], refuse, '{"email":"a"}')).sent, [], "a login");
});

test("a chat without a server is a network error", async () => {
  const fail = async () => {
    throw new TypeError("Failed to fetch");
  };
  const { sent, answered } = await reported([failures()], fail);
  assert.deepEqual([sent, answered], [[["network_error", undefined]], "TypeError: Failed to fetch"]);
});

test("a chat that is aborted, or is no stream, is not reported", async () => {
  const answer = async () => new Response('{"text":"hi"}', { headers: JSON_TYPE });
  assert.deepEqual(await reported([failures()], answer), { sent: [], answered: '{"text":"hi"}' });
  const abort = async (url, { signal }) => {
    throw signal.reason;
  };
  assert.deepEqual((await reported([failures()], abort, CHAT, { signal: AbortSignal.abort() })).sent, []);
});

test("a chat that streams is reported once", async () => {
  const stream = async () => new Response("data: 1\n\n", { headers: { "content-type": "text/event-stream" } });
  assert.deepEqual((await reported([failures()], stream)).sent, [["unobserved", 200]]);
  assert.deepEqual((await reported([], stream)).sent, [["unobserved", 200]]);
});
