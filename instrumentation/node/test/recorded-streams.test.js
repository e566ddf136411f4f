// The first text on the server is the first token in the browser: recorded streams with the probe's own figure.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { CommentWriter } from "../src/comment-writer.js";
import { canCarryComments } from "../src/eligibility.js";

const folder = new URL("../../../tests/fixtures/streams/", import.meta.url);
const read = (name) => readFileSync(new URL(name, folder), "utf8");

for (const name of readdirSync(folder).filter((file) => file.endsWith(".jsonl"))) {
  const [head, ...steps] = read(name)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const { ttft_ms, dialect } = JSON.parse(read(name.replace(".jsonl", ".expected.json")));
  // The probe learns from several events where the text is, which the middleware cannot wait for.
  if (["inferred", "generic", "gradio", "gradio_call", "mcp", "plain_text"].includes(dialect)) continue;
  if (!canCarryComments(head.status, (it) => head.headers?.[it])) continue;
  test(`first text of ${name.replace(".jsonl", "")}`, () => {
    const comments = new CommentWriter(0, {});
    const chunks = steps.filter((step) => step.text ?? step.b64);
    const bytes = chunks.map(({ t_ms, text, b64 }) =>
      comments.feed(Buffer.from(text ?? b64, text ? "utf8" : "base64"), t_ms),
    );
    const comment = /: llm-rum (\{"ttft_ms".*\})/.exec(Buffer.concat(bytes).toString());
    assert.equal(comment && JSON.parse(comment[1]).ttft_ms, ttft_ms ?? null);
  });
}
