// Which streams the extension `gradio` makes of one queue with several calls, and what each gets of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { gradio } from "../../js/extensions/gradio.js";
import { END_MARKER } from "../../js/session/progress-flags.js";
import { ASKED, CHUNK, CLOSED, FAILED, HEADERS, OPEN } from "../../js/tap/tap-events.js";

const QUEUE = "https://app.example/gradio_api/queue/data?session_hash=1";

const message = (msg, id) => `data: {"msg":"${msg}","event_id":"${id}","output":{"data":[]}}\n\n`;

/** The extension as a probe calls it, a stream of the queue, and the events of the streams that it opens. */
function watching() {
  const opened = [];
  const told = [];
  const stream = { bodies_: 1, own_: { useCase: "chat" } };
  const { onEvent, addFields } = gradio()({ emit });
  function emit(target, event, value, time) {
    const text = value?.question ?? (event == CHUNK ? value : undefined);
    if (event == OPEN) opened.push(target);
    told.push([target == stream ? 0 : opened.indexOf(target) + 1, event, text && new TextDecoder().decode(text)]);
    onEvent(target, event, value, time);
  }
  const send = (text, time = 1) => {
    told.length = 0;
    for (const part of [text].flat()) onEvent(stream, CHUNK, new TextEncoder().encode(part), time);
    return told.slice();
  };
  onEvent(stream, HEADERS, { url: QUEUE }, 0);
  return { stream, opened, told, onEvent, addFields, send };
}

test("a queue with one call has one stream", () => {
  const { send, stream, told } = watching();
  assert.deepEqual(told, [[0, ASKED, "call:"]], "the first call is the stream's");
  stream.seen = END_MARKER;
  for (const msg of ["estimation", "process_starts", "process_generating", "process_completed"])
    assert.deepEqual(send(message(msg, "a")), [], "its end is that of the response");
  assert.equal(stream.bodies_, 1, "its chunks may still wait");
});

test("a later call has a stream from its first message on", () => {
  const { send, opened, stream } = watching();
  send(message("process_starts", "a"));
  const both = message("process_generating", "a") + message("estimation", "b");
  assert.deepEqual(send(both, 7), [
    [1, OPEN, undefined],
    [1, ASKED, "call:b"],
    [1, CHUNK, message("estimation", "b")],
  ]);
  assert.deepEqual([opened[0].time, opened[0].own_, stream.bodies_], [7, { useCase: "chat" }, 0]);
  const next = message("process_generating", "a");
  assert.deepEqual(send(next), [[1, CHUNK, next]], "the watcher leaves out events of other calls");
});

test("a message that comes in two chunks opens one stream", () => {
  const text = message("process_starts", "b");
  for (let cut = 1; cut < text.length; cut++) {
    const { send, opened } = watching();
    send(message("process_starts", "a"));
    const told = send([text.slice(0, cut), text.slice(cut)]);
    assert.equal(opened.length, 1, `cut at ${cut}`);
    const chunks = told.filter(([target, event]) => target && event == CHUNK).map(([, , chunk]) => chunk);
    assert.equal(chunks.join(""), text);
  }
});

test("a call ends with its own last message, and the others go on", () => {
  const { send, opened, stream, told, onEvent } = watching();
  send(message("process_starts", "a") + message("process_starts", "b") + message("process_starts", "c"));
  opened[0].seen = END_MARKER;
  assert.deepEqual(send(message("process_completed", "b")).at(-1), [1, CLOSED, undefined]);
  stream.seen = END_MARKER;
  assert.deepEqual(send(message("process_completed", "a")).at(-1), [0, CLOSED, undefined]);
  const next = message("process_generating", "c");
  assert.deepEqual(send(next), [[2, CHUNK, next]], "streams that have ended get nothing");
  told.length = 0;
  onEvent(stream, FAILED, new Error("cut"), 9);
  assert.deepEqual(told, [[2, FAILED, undefined]]);
});

test("a later call without text is reported only if it fails", () => {
  const { send, opened, stream, addFields } = watching();
  send(message("process_starts", "a") + message("process_starts", "b"));
  const isKept = (about, target = opened[0]) => {
    const report = { id: "1", ...about };
    addFields(report, target);
    return !!report.id;
  };
  assert.ok(!isKept({ outcome: "complete" }));
  assert.ok(isKept({ outcome: "complete", ttft_ms: 0 }));
  assert.ok(isKept({ outcome: "provider_error" }));
  assert.ok(isKept({ outcome: "complete" }, stream), "the first call is reported as without the extension");
});

test("other streams are left alone", () => {
  const { onEvent, told } = watching();
  const other = {};
  told.length = 0;
  onEvent(other, HEADERS, { url: "https://app.example/api/chat" }, 0);
  for (const id of ["a", "b"]) onEvent(other, CHUNK, new TextEncoder().encode(message("process_starts", id)), 1);
  assert.deepEqual(told, []);
});
