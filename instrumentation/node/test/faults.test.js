// An internal fault reaches neither the app nor its client. It is logged once for the process.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { withLlmRum } from "llm-rum-server";
import { CommentWriter } from "../src/comment-writer.js";

const logged = mock.method(console, "error", () => {});
const fault = () => {
  throw new Error("fault");
};
const bytes = (text) => new TextEncoder().encode(text);

test("a fault leaves the rest of the body as it is", () => {
  const failing = mock.method(JSON, "stringify", fault);
  const writer = new CommentWriter(0, {});
  const chunks = ["data: A\n\n", "data: B\n\n", "data: [DONE]\n\n"].map(bytes);
  assert.equal(writer.feed(chunks[0], 1), chunks[0]);
  failing.mock.restore();
  assert.deepEqual(
    chunks.slice(1).map((chunk) => writer.feed(chunk, 2)),
    chunks.slice(1),
  );
  assert.equal(writer.end(), undefined);
});

test("a fault before the handler and after it leaves its response", async () => {
  const response = new Response("data: A\n\n", { headers: { "content-type": "text/event-stream" } });
  const request = { headers: { get: fault } };
  assert.equal(withLlmRum(() => response)(request), response);
  Object.defineProperty(response, "status", { get: fault });
  const browser = new Request("https://app.example", { headers: { origin: "null" } });
  assert.equal(await withLlmRum(async () => response)(browser), response);
});

test("chunks that are no bytes are passed on", async () => {
  const writer = new CommentWriter(0, {});
  for (const chunk of ["data: A\n\n", undefined, 7]) assert.equal(writer.feed(chunk, 1), chunk);
});

test("all faults of the process are one line in the log", () => {
  assert.equal(logged.mock.callCount(), 1);
});
