// Time that the middleware adds to a chunk: `npm run bench`. Prints percentiles for chunks of one event, for short and
// long ones, and for a body whose every event is cut.

import { CommentWriter } from "../src/comment-writer.js";

const STREAMS = 2000;
const EVENTS = 100;
const FRAME = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };

const event = (text) =>
  `data: ${JSON.stringify({ ...FRAME, choices: [{ index: 0, delta: { content: text }, finish_reason: null }] })}\n\n`;

/** The chunks of one body. */
const BODIES = {
  "an event of 160 bytes": Array.from({ length: EVENTS }, () => event("Hi")),
  "an event of 4 kB": Array.from({ length: EVENTS }, () => event("x".repeat(4000))),
  "half an event of 160 bytes": Array.from({ length: EVENTS }, () => [
    event("Hi").slice(0, 70),
    event("Hi").slice(70),
  ]).flat(),
};

for (const [name, texts] of Object.entries(BODIES)) {
  const chunks = [...texts, "data: [DONE]\n\n"].map((text) => Buffer.from(text));
  const times = new Float64Array(STREAMS * chunks.length);
  let at = 0;
  for (let stream = 0; stream < STREAMS; stream++) {
    const writer = new CommentWriter(0, {});
    for (const chunk of chunks) {
      const before = process.hrtime.bigint();
      writer.feed(chunk, performance.now());
      times[at++] = Number(process.hrtime.bigint() - before) / 1000;
    }
  }
  times.sort();
  const percentile = (share) => times[Math.floor(times.length * share)].toFixed(1);
  console.log(`${name}: p50 ${percentile(0.5)} µs, p99 ${percentile(0.99)} µs of ${times.length} chunks`);
}
