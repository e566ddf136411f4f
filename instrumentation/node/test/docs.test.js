// Runs the examples of docs/server-timing-node.md and README.md unchanged, except that their ports are free ones.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { convertArrayToReadableStream, MockLanguageModelV4, MockProviderV4 } from "ai/test";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const EVENTS = ["data: A\n\n", "data: B\n\n", "data: [DONE]\n\n"];
const COMMENTED =
  /^: llm-rum \{"ttft_ms":[\d.]+\}\n\ndata: A\n\ndata: B\n\n: llm-rum \{"generation_ms":[\d.]+\}\n\ndata: \[DONE\]\n\n$/;

/** The examples by their headings. */
const examples = new Map();
for (const [, title, section] of readFileSync(here("../../../docs/server-timing-node.md"), "utf8").matchAll(
  /^## (.*)\n((?:(?!^## )[^])*)/gm,
))
  examples.set(title, blocks(section));
examples.set("README", blocks(readFileSync(here("../README.md"), "utf8")));

function blocks(text) {
  return [...text.matchAll(/^```js\n([^]*?)^```/gm)].map(([, code]) => code);
}

let folder;
let llm;
before(async () => {
  // Inside of the package: the examples find its name and what it installed.
  folder = mkdtempSync(here("./examples-"));
  llm = createServer((_, response) => {
    response.setHeader("content-type", "text/event-stream");
    for (const event of EVENTS) response.write(event);
    response.end();
  });
  await once(llm.listen({ host: "127.0.0.1", port: 0 }), "listening");
  process.env.LLM_URL = `http://127.0.0.1:${llm.address().port}/`;
});
after(() => {
  llm.close();
  rmSync(folder, { recursive: true });
});

/** Imports the example of a section. */
async function load(title, at = 0) {
  const code = examples
    .get(title)
    [at].replace("port: 3000", 'port: 0, host: "127.0.0.1"')
    .replace("listen(3000)", "listen(0)");
  const file = join(folder, `${title.replaceAll(" ", "-")}-${at}.mjs`);
  writeFileSync(file, code);
  return import(pathToFileURL(file));
}

const browser = (body = "{}") => ({
  method: "POST",
  body,
  headers: { origin: "https://chat.example", "content-type": "application/json" },
});

for (const title of ["Hono", "Express", "Fastify"])
  test(`the example for ${title} sends comments to browsers`, async (t) => {
    const { server } = await load(title);
    t.after(() => server.close());
    if (!server.listening) await once(server, "listening");
    const url = `http://127.0.0.1:${server.address().port}/chat`;
    assert.match(await (await fetch(url, browser())).text(), COMMENTED);
    const { headers, ...others } = browser();
    assert.equal(
      await (await fetch(url, { ...others, headers: { "content-type": "application/json" } })).text(),
      EVENTS.join(""),
    );
  });

test("the example of the README sends comments to browsers", async () => {
  const { POST } = await load("README");
  assert.match(await (await POST(new Request("https://app.example/", browser()))).text(), COMMENTED);
});

test("the examples for the AI SDK send text times and tokens", async (t) => {
  const part = (type, more) => ({ type, id: "1", ...more });
  const usage = { inputTokens: { total: 3 }, outputTokens: { total: 7 } };
  const finish = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage };
  const parts = [
    part("text-start"),
    part("text-delta", { delta: "A" }),
    part("text-delta", { delta: "B" }),
    part("text-end"),
    finish,
  ];
  const model = new MockLanguageModelV4({ doStream: async () => ({ stream: convertArrayToReadableStream(parts) }) });
  globalThis.AI_SDK_DEFAULT_PROVIDER = new MockProviderV4({ languageModels: { "openai/gpt-5": model } });
  t.after(() => delete globalThis.AI_SDK_DEFAULT_PROVIDER);
  const { POST } = await load("Next.js and the AI SDK");
  await load("Next.js and the AI SDK", 1);
  const message = { id: "1", role: "user", parts: [{ type: "text", text: "Hi" }] };
  const response = await POST(new Request("https://app.example/", browser(JSON.stringify({ messages: [message] }))));
  const body = await response.text();
  assert.match(body, /: llm-rum \{"ttft_ms":[\d.]+\}\n\ndata: \{"type":"text-delta"/);
  assert.match(body, /: llm-rum \{"generation_ms":[\d.]+,"output_tokens":7\}\n\ndata: \{"type":"finish"/);
});

test("every example of the docs is run", () => {
  const counts = Object.fromEntries(
    [...examples].map(([title, found]) => [title, found.length]).filter(([, count]) => count > 0),
  );
  assert.deepEqual(counts, { "Next.js and the AI SDK": 2, Hono: 1, Express: 1, Fastify: 1, README: 1 });
});
