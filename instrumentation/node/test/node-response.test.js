// Responses of Node's `http` and `http2` in the ways in which apps write them.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
import * as http2 from "node:http2";
import { connect } from "node:net";
import { after, mock, test } from "node:test";
import { gunzipSync } from "node:zlib";

import compression from "compression";
import express from "express";
import fastify from "fastify";

import { expressMiddleware, fastifyPlugin, mark } from "llm-rum-server";

const BROWSER = { "sec-fetch-site": "same-origin" };
const STREAM = { "content-type": "text/event-stream" };
const COMMENTED = /^: llm-rum \{"ttft_ms":[\d.]+\}\n\ndata: A\n\n$/;

const servers = [];
after(() => servers.forEach((server) => server.close()));

async function listen(server) {
  servers.push(server);
  await once(server.listen({ host: "127.0.0.1", port: 0 }), "listening");
  return server.address().port;
}

/** The response of an app behind the middleware. */
async function answerOf(app, headers = BROWSER) {
  const middleware = expressMiddleware();
  const port = await listen(createServer((req, res) => middleware(req, res, () => app(req, res))));
  return get(port, headers);
}

async function get(port, headers = BROWSER) {
  const sent = request({ host: "127.0.0.1", port, path: "/", headers, agent: false }).end();
  const [response] = await once(sent, "response");
  const chunks = await response.toArray();
  return { headers: response.headers, bytes: Buffer.concat(chunks), body: Buffer.concat(chunks).toString() };
}

for (const [name, write] of Object.entries({
  "a text": (res) => res.write("data: A\n\n"),
  "a text with its encoding": (res) => res.write(Buffer.from("data: A\n\n").toString("base64"), "base64"),
  "a Uint8Array": (res) => res.write(new TextEncoder().encode("data: A\n\n")),
}))
  test(`${name} gets its comment`, async () => {
    const { body } = await answerOf((_, res) => {
      res.writeHead(200, STREAM);
      write(res);
      res.end();
    });
    assert.match(body, COMMENTED);
  });

for (const [name, head] of Object.entries({
  "an object": (res) => res.writeHead(200, { ...STREAM, "Content-Length": 9, "x-a": "1" }),
  "a reason and an object": (res) => res.writeHead(200, "OK", { ...STREAM, "Content-Length": 9, "x-a": "1" }),
  "a flat list": (res) => res.writeHead(200, ["Content-Type", "text/event-stream", "content-length", "9", "x-a", "1"]),
  "set headers": (res) => {
    res.setHeader("content-length", 9);
    res.setHeader("content-type", ["text/event-stream"]);
    res.setHeader("x-a", "1");
    res.flushHeaders();
  },
}))
  test(`the length is removed from ${name}`, async () => {
    const { headers, body } = await answerOf((_, res) => {
      head(res);
      res.end("data: A\n\n");
    });
    assert.match(body, COMMENTED);
    assert.equal(headers["content-length"], undefined);
    assert.equal(headers["x-a"], "1");
  });

test("other responses keep the length that their headers name", async () => {
  const { headers, body } = await answerOf((_, res) =>
    res.writeHead(200, { "content-type": "text/plain", "content-length": 9 }).end("data: A\n\n"),
  );
  assert.equal(headers["content-length"], "9");
  assert.equal(body, "data: A\n\n");
});

test("write and end call back and return as without comments", async () => {
  let wasWritten;
  let wasEnded;
  const calls = Promise.all([
    new Promise((resolve) => (wasWritten = resolve)),
    new Promise((resolve) => (wasEnded = resolve)),
  ]);
  let returned;
  const { body } = await answerOf((_, res) => {
    res.writeHead(200, STREAM);
    returned = [res.write("data: A\n\n", "utf8", wasWritten), res.end(wasEnded) === res];
  });
  await calls;
  assert.deepEqual(returned, [true, true]);
  assert.match(body, COMMENTED);
});

test("chunks without a comment are written as the app gave them", async () => {
  const written = [];
  const middleware = expressMiddleware();
  const app = (req, res) => {
    const { write } = res;
    res.write = (...given) => written.push(given) && write.apply(res, given);
    middleware(req, res, () => {
      res.setHeader("content-type", "text/event-stream");
      for (const event of ["data: A\n\n", "data: B\n\n"]) res.write(event, "utf8");
      res.end();
    });
  };
  await get(await listen(createServer(app)));
  assert.match(String(written[0][0]), COMMENTED);
  assert.deepEqual(written.slice(1), [["data: B\n\n", "utf8"]]);
});

test("a length that was sent before the middleware ran stays right", async () => {
  const middleware = expressMiddleware();
  const app = (req, res) => {
    for (const [name, value] of Object.entries({ ...STREAM, "content-length": 9 })) res.setHeader(name, value);
    res.flushHeaders();
    middleware(req, res, () => res.end("data: A\n\n"));
  };
  const { headers, body } = await get(await listen(createServer(app)));
  assert.equal(headers["content-length"], "9");
  assert.equal(body, "data: A\n\n");
});

test("a client that reads slowly still stops the app", async () => {
  let drained;
  const { bytes } = await answerOf(async (_, res) => {
    res.writeHead(200, STREAM);
    while (res.write(`data: ${"x".repeat(100_000)}\n\n`));
    drained = await once(res, "drain").then(() => true);
    res.end();
  });
  assert.ok(drained);
  assert.ok(bytes.length > 100_000);
});

test("other clients' responses keep their own methods", async () => {
  let own;
  await answerOf(
    (_, res) => {
      own = ["write", "end", "writeHead"].filter((name) => Object.hasOwn(res, name));
      res.end();
    },
    { "sec-fetch-mode": "cors" },
  );
  assert.deepEqual(own, []);
});

/** Every byte of a connection's answer, but for the time. */
async function rawAnswer(port, headers) {
  const socket = connect({ host: "127.0.0.1", port });
  const lines = ["GET / HTTP/1.1", "host: app.example", "connection: close", ...headers];
  socket.end(`${lines.join("\r\n")}\r\n\r\n`);
  const answer = Buffer.concat(await socket.toArray()).toString();
  return answer.replace(/date: .*\r\n/i, "");
}

test("other clients get every byte of HTTP as without it", async () => {
  const answer = (_, res) => {
    res.writeHead(200, STREAM);
    for (const event of ["data: A\n\n", "data: B\n", "\ndata: [DONE]\n\n"]) res.write(event);
    res.end();
  };
  const middleware = expressMiddleware();
  const plain = await listen(createServer(answer));
  const port = await listen(createServer((req, res) => middleware(req, res, () => answer(req, res))));
  for (const headers of [[], ["sec-fetch-mode: cors"], ["accept: text/event-stream"]])
    assert.equal(await rawAnswer(port, headers), await rawAnswer(plain, headers));
  assert.notEqual(await rawAnswer(port, ["origin: null"]), await rawAnswer(plain, ["origin: null"]));
});

for (const [place, isFirst] of [
  ["outside", true],
  ["inside", false],
])
  test(`compression ${place} gets what it should`, async () => {
    const app = express();
    const used = [compression({ threshold: 0 }), expressMiddleware()];
    app.use(isFirst ? used : used.reverse());
    app.get("/", (_, res) => {
      res.type("text/event-stream");
      res.write("data: A\n\n");
      res.end();
    });
    const { headers, bytes } = await get(await listen(createServer(app)), { ...BROWSER, "accept-encoding": "gzip" });
    assert.equal(headers["content-encoding"], "gzip");
    const body = gunzipSync(bytes).toString();
    if (isFirst) assert.match(body, COMMENTED);
    else assert.equal(body, "data: A\n\n");
  });

test("HTTP/2 gets each comment once", async () => {
  const middleware = expressMiddleware();
  const port = await listen(
    http2.createServer((req, res) => {
      middleware(req, res, () => {
        res.writeHead(200, { ...STREAM, "content-length": 18 });
        res.write("data: A\n\n");
        mark({ output_tokens: 5 });
        res.end("data: B\n\n");
      });
    }),
  );
  const session = http2.connect(`http://127.0.0.1:${port}`);
  const stream = session.request({ ":path": "/", ...BROWSER });
  const [headers] = await once(stream, "response");
  const body = Buffer.concat(await stream.toArray()).toString();
  session.close();
  assert.equal(headers["content-length"], undefined);
  assert.match(body, /^: llm-rum \{"ttft_ms":[\d.]+\}\n\ndata: A\n\ndata: B\n\n: llm-rum \{.*"output_tokens":5\}\n\n$/);
});

/** The marks of the first comment, after a POST with a JSON body. */
async function marksOf(port, path) {
  const headers = { ...BROWSER, "content-type": "application/json" };
  const sent = request({ host: "127.0.0.1", port, path, method: "POST", headers, agent: false }).end("{}");
  const [response] = await once(sent, "response");
  const body = Buffer.concat(await response.toArray()).toString();
  const { ttft_ms, ...marks } = JSON.parse(/^: llm-rum (.*)/.exec(body)[1]);
  return marks;
}

const PATHS = {
  "/context": () => mark({ queue_ms: 1 }),
  "/request": (req) => mark({ queue_ms: 1 }, req),
  "/raw": (req) => mark({ queue_ms: 1 }, req.raw ?? req),
};

test("marks find their stream after Express read the body", async () => {
  const app = express();
  app.use(expressMiddleware(), express.json());
  for (const [path, markNow] of Object.entries(PATHS))
    app.post(path, async (req, res) => {
      await null;
      markNow(req);
      res.type("text/event-stream").end("data: A\n\n");
    });
  const port = await listen(createServer(app));
  for (const path of Object.keys(PATHS)) assert.deepEqual(await marksOf(port, path), { queue_ms: 1 });
});

test("marks find their stream after Fastify read the body", async (t) => {
  const app = fastify();
  t.after(() => app.close());
  await app.register(fastifyPlugin);
  app.addHook("onRequest", async () => mark({ output_tokens: 4 }));
  for (const [path, markNow] of Object.entries(PATHS))
    app.post(path, async (req, reply) => {
      await null;
      markNow(req);
      return reply.type("text/event-stream").send("data: A\n\n");
    });
  await app.listen({ host: "127.0.0.1", port: 0 });
  for (const path of Object.keys(PATHS))
    assert.deepEqual(await marksOf(app.server.address().port, path), { queue_ms: 1, output_tokens: 4 });
});

test("marks of concurrent streams stay apart", async () => {
  const app = express();
  app.use(expressMiddleware());
  const waiting = [];
  app.post("/:ms", async (req, res) => {
    await new Promise((resolve) => waiting.push(resolve) === 2 && waiting.forEach((go) => go()));
    mark({ queue_ms: Number(req.params.ms) });
    res.type("text/event-stream").end("data: A\n\n");
  });
  const port = await listen(createServer(app));
  const marks = await Promise.all(["/1", "/2"].map((path) => marksOf(port, path)));
  assert.deepEqual(marks, [{ queue_ms: 1 }, { queue_ms: 2 }]);
});

test("a mark outside of a request has no effect", () => {
  mark({ queue_ms: 1 });
  mark({ queue_ms: 1 }, {});
  mark(undefined);
});
