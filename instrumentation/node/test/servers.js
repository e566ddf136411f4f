// Real servers of each framework, which answer `POST /chat` as a scripted app says: with the middleware and without.

import { once } from "node:events";
import { createServer } from "node:http";
import { Readable } from "node:stream";

import { serve } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";

import { expressMiddleware, fastifyPlugin, withLlmRum } from "llm-rum-server";

const LOCAL = { host: "127.0.0.1", port: 0 };

/** Each starts a server, whose app `current()` returns. With `isPlain` it has no middleware. */
export const SERVERS = { "node:http": nodeServer, express: expressServer, fastify: fastifyServer, hono: honoServer };

async function nodeServer(current, isPlain) {
  const middleware = expressMiddleware();
  const answer = (request, response) => {
    const { status, headers } = current().response;
    response.writeHead(status, headers);
    return current().writeTo(response);
  };
  const server = createServer((request, response) => {
    if (isPlain) answer(request, response);
    else middleware(request, response, () => answer(request, response));
  });
  await once(server.listen(LOCAL), "listening");
  return server;
}

async function expressServer(current, isPlain) {
  const app = express();
  if (!isPlain) app.use(expressMiddleware());
  app.all("/chat", (request, response) => {
    const { status, headers } = current().response;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.status(status).flushHeaders();
    return current().writeTo(response);
  });
  const server = createServer(app);
  await once(server.listen(LOCAL), "listening");
  return server;
}

async function fastifyServer(current, isPlain) {
  const app = fastify();
  if (!isPlain) app.register(fastifyPlugin);
  app.all("/chat", (request, reply) => {
    const { status, headers } = current().response;
    reply.code(status).headers(headers);
    return reply.send(readable(current()));
  });
  await app.listen(LOCAL);
  return app.server;
}

async function honoServer(current, isPlain) {
  const app = new Hono();
  app.all("/chat", () => {
    const chunks = current().chunks();
    const source = {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(new Uint8Array(value));
      },
      cancel: () => current().leave(),
    };
    return new Response(new ReadableStream(source, { highWaterMark: 0 }), current().response);
  });
  const server = serve({ fetch: isPlain ? app.fetch : withLlmRum(app.fetch), hostname: LOCAL.host, port: 0 });
  await once(server, "listening");
  return server;
}

/** The body of an app as a stream of Node's, which can be destroyed while the app waits for its source. */
function readable(app) {
  const chunks = app.chunks();
  return new Readable({
    async read() {
      try {
        let next = await chunks.next();
        // An empty chunk would not lead to another read.
        while (!next.done && next.value.length === 0) next = await chunks.next();
        this.push(next.done ? null : next.value);
      } catch (error) {
        this.destroy(error);
      }
    },
    destroy(error, callback) {
      app.leave();
      callback(error);
    },
  });
}
