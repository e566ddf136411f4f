// The built module: options that may change while the probe runs, and options of some calls alone.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.window = globalThis;
globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
globalThis.addEventListener = globalThis.removeEventListener = () => {};
globalThis.location = { pathname: "/chat" };
Object.defineProperty(globalThis, "navigator", { value: { onLine: true }, configurable: true });
globalThis.fetch = async () => new Response("data: 1\n\n", { headers: { "content-type": "text/event-stream" } });

const { start } = await import("../../dist/llm-rum.mjs");

/** What the reports say of the app, in the order of the calls of `ask`. */
async function reported(options, ask) {
  const reports = [];
  const beforeSend = (report) => void reports.push(report);
  const probe = start({ collector: "https://rum.example", site: "s", wasmUrl: false, ...options, beforeSend });
  await ask(probe, async (fetch) => (await fetch("/ask", { body: '{"stream":true}' })).text());
  await probe.flush();
  probe.stop();
  await probe.flush();
  return reports.map(({ use_case, attributes, variant }) => [use_case, attributes, variant]);
}

test("options that are set count from the next stream on", async () => {
  const options = { useCase: "chat", variant: "b", attributes: { plan: "free" } };
  const reports = await reported(options, async (probe, ask) => {
    await ask(fetch);
    probe.set({ attributes: { plan: "pro" } });
    await ask(fetch);
    probe.set({ useCase: "coding", variant: undefined });
    await ask(fetch);
  });
  assert.deepEqual(reports, [
    ["chat", { plan: "free" }, "b"],
    ["chat", { plan: "pro" }, "b"],
    ["coding", { plan: "pro" }, undefined],
  ]);
  assert.deepEqual(options.attributes, { plan: "free" }, "the app's own object is as it was");
});

test("options of a wrapped fetch count for its calls alone", async () => {
  const reports = await reported({ useCase: "chat", attributes: { plan: "pro" } }, async (probe, ask) => {
    const search = probe.wrapFetch(fetch, { useCase: "search", attributes: { plan: "pro", step: "query" } });
    const failing = probe.wrapFetch(() => {
      throw new TypeError("refused");
    }, { useCase: "failing" });
    assert.throws(() => failing("/"), /refused/);
    await Promise.all([ask(search), ask(fetch)]);
    await ask(search);
  });
  assert.deepEqual(reports, [
    ["search", { plan: "pro", step: "query" }, undefined],
    ["chat", { plan: "pro" }, undefined],
    ["search", { plan: "pro", step: "query" }, undefined],
  ]);
});

test("a stream without text for the user is told apart", async () => {
  const reports = [];
  const isBackground = (input, init) => init.body.includes("suggest");
  const beforeSend = (report) => void reports.push(report.background);
  const probe = start({ collector: "https://rum.example", site: "s", wasmUrl: false, isBackground, beforeSend });
  const quiet = probe.wrapFetch(fetch, { background: true });
  for (const [call, name] of [[fetch, "suggest"], [fetch, "answer"], [quiet, "answer"]])
    await (await call("/ask", { body: `{"stream":true,"name":"${name}"}` })).text();
  await probe.flush();
  probe.stop();
  assert.deepEqual(reports, [true, undefined, true]);
});

test("requests of an MCP client are told apart from answers", async () => {
  const reports = [];
  const beforeSend = (report) => void reports.push(report.background);
  const probe = start({ collector: "https://rum.example", site: "s", wasmUrl: false, beforeSend });
  const accept = "text/event-stream";
  const version = { "mcp-protocol-version": "2025-06-18" };
  const call = { ...version, accept: `application/json, ${accept}` };
  for (const headers of [{ accept }, { accept, ...version }, new Headers(call)])
    await (await fetch("/mcp", { headers })).text();
  for (const method of ["tools/call", "message/stream"])
    await (await fetch("/rpc", { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method }) })).text();
  await probe.flush();
  probe.stop();
  assert.deepEqual(reports, [undefined, true, true, true, undefined]);
});
