// Bodies that the contract has no case for.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CommentWriter } from "../src/comment-writer.js";

/** The body with comments, for chunks that arrive a millisecond apart. */
function commented(chunks) {
  const writer = new CommentWriter(0, {});
  const parts = chunks.map((chunk, at) => writer.feed(Buffer.from(chunk), at + 1));
  return Buffer.concat([...parts, writer.end() ?? Buffer.alloc(0)]).toString();
}

const comment = (values) => `: llm-rum ${JSON.stringify(values)}`;

test("an id line behind a byte order mark is an id line", () => {
  const [first, second] = ["\ufeffid: 1\n\n", "data: A\n\n"];
  assert.equal(commented([first, second]), `${first}${comment({ ttft_ms: 2 })}\n${second}`);
});

test("fields behind a byte order mark are fields", () => {
  assert.equal(commented(["\ufeffdata:\n\n"]), "\ufeffdata:\n\n");
  assert.equal(commented([`\ufeff: ${"x".repeat(20_000)}\ndata:\n\n`]).includes("llm-rum"), false);
  assert.equal(commented(["\ufeffevent: ping\ndata: A\n\n"]), "\ufeffevent: ping\ndata: A\n\n");
});

test("a later event may begin with the bytes of a byte order mark", () => {
  const events = ["data: [1]\n\n", "\ufeffid: 1\n\n", "data: B\n\n"];
  const [first, second, third] = events;
  const expected = `${comment({ ttft_ms: 1 })}\n\n${first}${second}${third}${comment({ generation_ms: 2 })}\n\n`;
  assert.equal(commented(events), expected);
});

test("the app may use its buffer again", () => {
  const writer = new CommentWriter(0, {});
  const buffer = Buffer.from("data: A");
  writer.feed(buffer, 1);
  buffer.fill("x");
  assert.match(Buffer.from(writer.feed(Buffer.from("\n\n"), 2)).toString(), /ttft_ms/);
});

test("a character that chunks cut is one character", () => {
  const event = Buffer.from('data: {"type":"é"}\n\n');
  const cut = event.indexOf("é") + 1;
  assert.match(commented([event.subarray(0, cut), event.subarray(cut)]), /ttft_ms/);
});

test("a long event has data only if one of its lines has", () => {
  const long = `: ${"x".repeat(20_000)}\n`;
  assert.equal(
    commented([`${long}data:\n\n`, `${long}data: \n\n`, `${long}id: data: A\n\n`]).includes("llm-rum"),
    false,
  );
  assert.match(commented([`data: A\n${long}\n`]), /^: llm-rum \{"ttft_ms":1\}/);
  // A later event does not have the data of an earlier one.
  const ping = "event: ping\ndata: A\n\n";
  assert.equal(commented([ping, `${long}data:\n\n`]).includes("llm-rum"), false);
});

test("a long event's name counts only if it is kept whole", () => {
  const name = (kept) => `: ${"x".repeat(16_384 - kept - 3)}\nevent: pingpong\ndata: A\n\n`;
  // The kept bytes end behind `event: ping`.
  assert.match(commented([name("event: ping".length)]), /ttft_ms/);
});

test("fields need no blank behind the colon", () => {
  assert.equal(commented(["data:[DONE]\n\n", "data: A\n\n"]), "data:[DONE]\n\ndata: A\n\n");
  assert.equal(commented(["event:ping\ndata:A\n\n"]), "event:ping\ndata:A\n\n");
});

test("a comment that waits for a line feed is written at the end", () => {
  assert.equal(commented(["data: A", "\r\r"]), `data: A\r\r${comment({ ttft_ms: 2 })}\r\r`);
  const both = `data: A\r\n\r${comment({ ttft_ms: 2 })}`;
  assert.equal(commented(["data: A\r", "\n\r"]).slice(0, both.length), both);
});

test("a comment waits for a byte, not for an empty chunk", () => {
  assert.equal(commented(["data: A", "\r\n\r", "", "\n"]), `data: A\r\n\r\n${comment({ ttft_ms: 2 })}\r\n\r\n`);
});

test("an end event in pieces gets a comment behind lone returns", () => {
  const events = ["data: A\r\r", "data: B\r\r", "data: [DONE", "]\r\r"];
  const body = commented(events);
  assert.equal(body, `${comment({ ttft_ms: 1 })}\r\r${events.join("")}${comment({ generation_ms: 1 })}\r\r`);
  const more = commented([...events, "\ndata: C\r\r"]);
  assert.ok(more.endsWith(`]\r\r\n${comment({ generation_ms: 1 })}\r\rdata: C\r\r`));
});

test("times have whole microseconds", () => {
  const writer = new CommentWriter(0.1, {});
  const body = Buffer.from(writer.feed(Buffer.from("data: A\n\n"), 0.3)).toString();
  assert.equal(body, `${comment({ ttft_ms: 0.2 })}\n\ndata: A\n\n`);
});

test("a body ends once", () => {
  const writer = new CommentWriter(0, { output_tokens: 1 });
  assert.equal(Buffer.from(writer.end()).toString(), `${comment({ output_tokens: 1 })}\n\n`);
  assert.equal(writer.end(), undefined);
});
