// The contract for handlers that return a web `Response`.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { mock, test } from "node:test";

import { mark, sendTimingsTo, withLlmRum } from "llm-rum-server";
import { assertBody, assertFact, bytesOf, contract, requestOf, responseOf, withCuts } from "./contract.js";

/** The clock of a case. */
let nowMs = 0;
mock.method(performance, "now", () => 1e6 + nowMs);

for (const contractCase of contract.cases)
  test(`web: ${contractCase.name}`, async () => {
    const [whole, ...cut] = withCuts(contractCase);
    for (const client of contract.clients) await run(whole, client);
    const [browser] = contract.clients;
    const other = contract.clients.find((client) => !client.comments);
    for (const cutCase of cut) for (const client of [browser, other]) await run(cutCase, client);
  });

test("web: the collector gets the facts of the contract", async (t) => {
  const facts = [];
  const collector = createServer(async (request, response) => {
    facts.push(...JSON.parse(Buffer.concat(await request.toArray()).toString()).facts);
    response.end("{}", () => collector.emit("facts"));
  });
  await once(collector.listen({ host: "127.0.0.1", port: 0 }), "listening");
  t.after(() => collector.close());
  sendTimingsTo({ collector: `http://127.0.0.1:${collector.address().port}` });
  t.after(() => sendTimingsTo(undefined));
  const runs = [];
  for (const contractCase of contract.fact_cases)
    for (const client of contract.clients)
      runs.push({ contractCase, client, body: Buffer.concat(await received(contractCase, client)) });
  const hasFact = ({ contractCase, client }) => contractCase.fact && client.comments;
  const count = runs.filter(hasFact).length;
  while (facts.length < count) await once(collector, "facts");
  assert.equal(facts.length, count);
  for (const it of runs) assertFact(it.contractCase, it.client, it.body, hasFact(it) ? facts.shift() : undefined);
});

/** What a client gets of a case with a collector. */
async function received(contractCase, client) {
  nowMs = 0;
  const app = appOf(contractCase);
  const request = new Request("https://app.example/chat", requestOf(contractCase, client));
  return read(await withLlmRum(app.handler)(request), contractCase, app);
}

async function run(contractCase, client) {
  nowMs = 0;
  const request = new Request("https://app.example/chat", requestOf(contractCase, client));
  const app = appOf(contractCase);
  const response = await withLlmRum(app.handler)(request);
  const isWatched = client.comments && contractCase.expect !== "unchanged";
  if (!client.comments) assert.equal(response, app.response);
  assertHead(response, contractCase, isWatched);
  const received = await read(response, contractCase, app);
  assertBody(contractCase, client, Buffer.concat(received));
  const sent = contractCase.steps.filter((step) => "send" in step).map((step) => bytesOf(step.send));
  if (!client.comments) assert.deepEqual(received.map(String), sent.map(String));
}

/** An app whose stream takes one step when it is asked for more. */
function appOf(contractCase) {
  const app = { error: new Error("upstream"), cancelled: undefined };
  const steps = [...contractCase.steps];
  const source = {
    pull(controller) {
      for (let step = steps.shift(); ; step = steps.shift()) {
        if (!step) return controller.close();
        if (step.fail) return controller.error(app.error);
        if (step.client_leaves) return new Promise(() => {});
        nowMs = step.at_ms ?? nowMs;
        if (step.mark) mark(step.mark);
        else return controller.enqueue(new Uint8Array(bytesOf(step.send)));
      }
    },
    cancel(reason) {
      app.cancelled = reason;
    },
  };
  app.handler = async (request) => {
    const body = request.method === "HEAD" ? null : new ReadableStream(source, { highWaterMark: 0 });
    app.response = new Response(body, responseOf(contractCase));
    return app.response;
  };
  return app;
}

function assertHead(response, contractCase, isWatched) {
  const { status, headers } = responseOf(contractCase);
  const expected = (isWatched && contractCase.expect_headers) || headers;
  assert.equal(response.status, status);
  assert.deepEqual(Object.fromEntries(response.headers), Object.fromEntries(new Headers(expected)));
}

/** All chunks. A client that leaves does so after the last one. */
async function read(response, contractCase, app) {
  const leaves = contractCase.steps.some((step) => step.client_leaves);
  const fails = contractCase.steps.some((step) => step.fail);
  const chunks = contractCase.steps.filter((step) => "send" in step).length;
  const received = [];
  const reader = response.body?.getReader();
  if (!reader) return received;
  try {
    for (;;) {
      const next = reader.read();
      if (leaves && received.length === chunks) {
        const reason = new Error("client left");
        await reader.cancel(reason);
        // Cancelled before the cancel of the client is done: no time passes.
        assert.equal(app.cancelled, reason);
      }
      const { done, value } = await next;
      if (done) break;
      received.push(Buffer.from(value));
    }
    assert.ok(!fails);
  } catch (error) {
    if (error !== app.error) throw error;
    assert.ok(fails);
  }
  return received;
}
