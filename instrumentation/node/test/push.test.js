// Timings that the middleware sends to a collector of a few lines.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { after, afterEach, before, test } from "node:test";

import { expressMiddleware, mark, sendTimingsTo, withLlmRum } from "llm-rum-server";
import { Push } from "../src/push.js";

const BROWSER = { "sec-fetch-site": "same-origin" };
const STREAM = { "content-type": "text/event-stream" };
const TEXT = 'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n';

/** Requests that the collector took. */
const requests = [];
/** Called after each. */
let heard = () => {};
let status = 200;
const collector = createServer(async (req, res) => {
  const body = Buffer.concat(await req.toArray()).toString();
  res.writeHead(status).end("{}");
  requests.push({ path: req.url, token: req.headers.authorization, facts: JSON.parse(body).facts });
  heard();
});
const servers = [collector];
let url;

before(async () => (url = `http://127.0.0.1:${await listen(collector)}`));
after(() => servers.forEach((server) => server.close()));
afterEach(() => {
  sendTimingsTo(undefined);
  requests.length = 0;
  status = 200;
});

async function listen(server) {
  if (!servers.includes(server)) servers.push(server);
  await once(server.listen({ host: "127.0.0.1", port: 0 }), "listening");
  return server.address().port;
}

/** The only fact of the next request. */
async function nextFact() {
  if (requests.length === 0) await new Promise((resolve) => (heard = resolve));
  const { facts } = requests.shift();
  assert.equal(facts.length, 1);
  return facts[0];
}

const webRequest = (headers = BROWSER) => new Request("http://chat.example/chat", { method: "POST", headers });

function streamOf(parts) {
  return new ReadableStream({
    pull(controller) {
      const part = parts.shift();
      if (part instanceof Error) controller.error(part);
      else if (part === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(part));
    },
  });
}

const idIn = (body) => JSON.parse(/^: llm-rum (.*)$/m.exec(body)[1]).id;

test("a stream that ends is sent with its times and marks", async () => {
  sendTimingsTo({ collector: url, token: "secret", site: "chat" });
  const handler = withLlmRum(() => {
    mark({ queue_ms: 40, output_tokens: 2 });
    return new Response(streamOf([TEXT, TEXT, "data: [DONE]\n\n"]), { headers: STREAM });
  });
  const body = await handler(webRequest()).text();
  const fact = await nextFact();
  assert.match(fact.id, /^[0-9a-f]{24}$/);
  assert.equal(fact.id, idIn(body));
  const { layer, source, starts_from, ended, queue_ms, output_tokens } = fact;
  assert.deepEqual(
    { layer, source, starts_from, ended, queue_ms, output_tokens },
    { layer: "app", source: "llm-rum-server", starts_from: "arrival", ended: "complete", queue_ms: 40, output_tokens: 2 },
  );
  assert.ok(fact.duration_ms >= fact.ttft_ms + fact.generation_ms);
});

test("requests carry the token and the site", async () => {
  sendTimingsTo({ collector: `${url}/`, token: "secret", site: "a chat" });
  await withLlmRum(() => new Response(streamOf([TEXT]), { headers: STREAM }))(webRequest()).text();
  if (requests.length === 0) await new Promise((resolve) => (heard = resolve));
  assert.equal(requests[0].path, "/v1/server-timings?site=a+chat");
  assert.equal(requests[0].token, "Bearer secret");
});

test("a client that leaves and an app that fails are told", async () => {
  sendTimingsTo({ collector: url });
  const left = withLlmRum(() => new Response(streamOf([TEXT, TEXT]), { headers: STREAM }))(webRequest());
  const reader = left.body.getReader();
  await reader.read();
  await reader.cancel();
  assert.equal((await nextFact()).ended, "client_gone");
  const broken = withLlmRum(() => new Response(streamOf([TEXT, new Error("down")]), { headers: STREAM }))(webRequest());
  await assert.rejects(broken.text());
  assert.equal((await nextFact()).ended, "error");
});

test("tokens after the client left follow in a second fact", async () => {
  sendTimingsTo({ collector: url });
  const asked = webRequest();
  const handler = withLlmRum(() => new Response(streamOf([TEXT, TEXT]), { headers: STREAM }));
  const reader = handler(asked).body.getReader();
  await reader.read();
  await reader.cancel();
  const first = await nextFact();
  assert.deepEqual([first.ended, first.output_tokens], ["client_gone", undefined]);
  mark({ tokens_after_gone: -1 }, asked);
  mark({ output_tokens: 40, tokens_after_gone: 31 }, asked);
  mark({ output_tokens: 40, tokens_after_gone: 32 }, asked);
  assert.deepEqual(await nextFact(), { ...first, output_tokens: 40, tokens_after_gone: 31 });
});

test("tokens after gone are absent from a whole stream", async () => {
  sendTimingsTo({ collector: url });
  const handler = withLlmRum(() => {
    mark({ output_tokens: 3, tokens_after_gone: 0 });
    return new Response(streamOf([TEXT, "data: [DONE]\n\n"]), { headers: STREAM });
  });
  assert.doesNotMatch(await handler(webRequest()).text(), /tokens_after_gone/);
  const { ended, output_tokens, tokens_after_gone } = await nextFact();
  assert.deepEqual([ended, output_tokens, tokens_after_gone], ["complete", 3, undefined]);
});

test("a response of Node is sent when it is over", async () => {
  sendTimingsTo({ collector: url });
  const middleware = expressMiddleware();
  let leave;
  const app = (req, res) => {
    res.writeHead(200, STREAM);
    res.write(TEXT);
    if (req.url === "/whole") res.end("data: [DONE]\n\n");
    else leave();
  };
  const port = await listen(createServer((req, res) => middleware(req, res, () => app(req, res))));
  const ask = (path) => request({ host: "127.0.0.1", port, path, headers: BROWSER, agent: false }).end();
  const [response] = await once(ask("/whole"), "response");
  const body = Buffer.concat(await response.toArray()).toString();
  const whole = await nextFact();
  assert.deepEqual([whole.ended, whole.id], ["complete", idIn(body)]);
  const left = ask("/cut");
  left.on("error", () => {});
  leave = () => left.destroy();
  assert.equal((await nextFact()).ended, "client_gone");
});

test("without a collector, comments have no id and nothing is sent", async () => {
  const body = await withLlmRum(() => new Response(streamOf([TEXT]), { headers: STREAM }))(webRequest()).text();
  assert.equal(idIn(body), undefined);
  assert.equal(requests.length, 0);
});

test("other clients get the app's own bytes, and nothing is sent", async () => {
  sendTimingsTo({ collector: url });
  const handler = withLlmRum(() => new Response(streamOf([TEXT]), { headers: STREAM }));
  assert.equal(await handler(webRequest({})).text(), TEXT);
  // The next fact is that of a browser.
  const body = await handler(webRequest()).text();
  assert.equal((await nextFact()).id, idIn(body));
});

test("a Worker is kept alive until the fact is sent", async () => {
  sendTimingsTo({ collector: url });
  const kept = [];
  const context = { waitUntil: (sent) => kept.push(sent) };
  const handler = withLlmRum(() => new Response(streamOf([TEXT]), { headers: STREAM }));
  await handler(webRequest(), {}, context).text();
  assert.equal(kept.length, 1);
  await kept[0];
  assert.equal(requests.length, 1);
});

test("facts that are lost are counted, and the queue is bounded", async (t) => {
  t.mock.method(console, "error", () => {});
  status = 503;
  const refused = new Push({ collector: url });
  await refused.send({ id: "a" });
  assert.equal(refused.dropped, 1);
  const away = new Push({ collector: "http://127.0.0.1:1" });
  const sent = Array.from({ length: 1001 }, (_, number) => away.send({ id: String(number) }));
  assert.equal(away.dropped, 1);
  await Promise.all(sent);
  assert.equal(away.dropped, 1001);
});
