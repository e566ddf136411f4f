// Every way in which apps call the package; checked by `npm run check`, never run.

import express from "express";
import fastify from "fastify";
import { Hono } from "hono";

import { expressMiddleware, fastifyPlugin, mark, withLlmRum, type Marks } from "llm-rum-server";

export const POST = withLlmRum(async (request: Request, { params }: { params: Promise<{ id: string }> }) => {
  mark({ queue_ms: 40 }, request);
  return new Response((await params).id);
});
const answer: Promise<Response> = POST(new Request("https://app.example"), { params: Promise.resolve({ id: "1" }) });

const hono = new Hono();
hono.post(
  "/chat",
  withLlmRum((c) => c.text("")),
);
export default { fetch: withLlmRum(hono.fetch) };

express().use(expressMiddleware());
fastify().register(fastifyPlugin);

const marks: Marks = { output_tokens: 431, tokens_after_gone: 31 };
mark(marks);
// @ts-expect-error: a name that does not exist
mark({ ttft_ms: 1 });
// @ts-expect-error: no number
mark({ queue_ms: "40" });
// @ts-expect-error: no handler
withLlmRum(new Response());

export { answer };
