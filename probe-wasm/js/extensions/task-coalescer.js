// Joins what a page gets piece by piece in one task: it came over the network in one piece, so it has one time, and
// there are no gaps between its parts.

/** Jobs to do after this task, one for each message. */
const waiting = [];
let port;

/** A part of the same read is passed on with a time that much earlier than the part before. */
const EARLIER_MS = 0.001;

/** `emit(text, time)` gets the text of a task, with the time of its first part. */
export function createTaskCoalescer(emit) {
  let text = "";
  let time;
  return { put, flush };

  /** A part that `waits` is passed on after the task, any other at once, with all that waits. */
  function put(part, waits) {
    if (!time) {
      time = performance.now();
      afterTask(flush);
    }
    text += part;
    if (!waits) pass();
  }

  /** Passes on what waits. Parts that come later came by themselves. */
  function flush() {
    pass();
    time = 0;
  }

  function pass() {
    if (text) emit(text, time);
    text = "";
    time -= EARLIER_MS;
  }
}

/** Hidden pages slow timers down, but not messages. One channel for all: browsers keep what an open one refers to. */
function afterTask(job) {
  if (!port) {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => waiting.shift()();
    port = port2;
  }
  waiting.push(job);
  port.postMessage(0);
}
