// Tells the calls apart that share one stream of a Gradio app's queue. The first call is the stream's own. Each later one
// gets a stream with all messages since its first, of which the watcher reads those of the call. `docs/gradio.md` has the
// rules.

import { END_MARKER } from "../session/progress-flags.js";
import { ASKED, CHUNK, CLOSED, HEADERS, OPEN, WHOLE } from "../tap/tap-events.js";

const QUEUE = /\/queue\/data\b/;
/** The begin of a message, with the id of its call. */
const MESSAGE = /data: ?\{"msg": ?"\w+", ?"event_id": ?"([^"]{1,64})"/g;
/** The begin of a message may come in two chunks. */
const MESSAGE_CHARS = 150;

/** Reports each call of a queue that shows text, where several run at the same time. */
export const gradio = () => ({ emit }) => {
  const queues = new WeakMap();
  const laterCalls = new WeakSet();

  return {
    onEvent(stream, event, value, time) {
      if (event == HEADERS && QUEUE.test(value.url)) {
        queues.set(stream, { calls: new Map(), decoder: new TextDecoder(), tail: "" });
        // The first chunk may have messages of several calls. Without an id it is the first call.
        readOnly(stream, "", time);
      }
      const queue = queues.get(stream);
      if (!queue) return;
      if (event == CHUNK) readChunk(stream, queue, value, time);
      // The response has ended, and with it all calls.
      if (event >= CLOSED && event < WHOLE && !queue.isClosing)
        for (const call of queue.calls.values()) if (call != stream) emit(call, event, value, time);
    },
    addFields(report, stream) {
      // Most calls of a page show no text, such as those that enable a button. A report without an id stays here.
      const isAnswer = report.ttft_ms >= 0 || report.outcome == "provider_error";
      if (laterCalls.has(stream) && !isAnswer) delete report.id;
    },
  };

  function readChunk(stream, queue, bytes, time) {
    const { calls, decoder, tail } = queue;
    const text = tail + decoder.decode(bytes, { stream: true });
    queue.tail = text.slice(-MESSAGE_CHARS);
    for (const call of calls.values()) if (call != stream) emit(call, CHUNK, bytes, time);
    for (const { 0: head, 1: id, index } of text.matchAll(MESSAGE)) {
      if (index + head.length <= tail.length || calls.has(id)) continue;
      calls.set(id, queue.hasFirst ? openCall(stream, queue, id, text.slice(index), time) : stream);
      queue.hasFirst = true;
    }
    if (queue.isShared) closeEnded(queue, time);
  }

  function openCall(stream, queue, id, text, time) {
    queue.isShared = true;
    // Its chunks are read as they come: they show at once that a call has ended.
    stream.bodies_ = 0;
    const call = { time, url: stream.url, own_: stream.own_ };
    laterCalls.add(call);
    emit(call, OPEN, undefined, time);
    readOnly(call, id, time);
    emit(call, CHUNK, new TextEncoder().encode(text), time);
    return call;
  }

  /** The watcher leaves out all messages of other calls. */
  function readOnly(stream, id, time) {
    const question = new TextEncoder().encode(`call:${id}`);
    emit(stream, ASKED, { number: 0, engineIo: false, question, length: question.length }, time);
  }

  function closeEnded(queue, time) {
    queue.isClosing = true;
    for (const [id, call] of queue.calls)
      if (call.seen & END_MARKER && queue.calls.delete(id)) emit(call, CLOSED, undefined, time);
    queue.isClosing = false;
  }
};
