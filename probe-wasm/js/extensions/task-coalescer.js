// Joins what a page is handed piece by piece in one task: it came in one piece over the network, so it
// has one time, and there are no gaps between its parts.

/** What is to be done after this task, each for one message. */
const waiting = [];
let port;

/** By this much earlier than the part before, a part is told as more of the same read. */
const EARLIER_MS = 0.001;

/** `told(text, time)` gets what was put in during a task, with the time of the first part. */
export function createBurst(told) {
  let text = "";
  let time;
  return { put, flush };

  /** What waits is told after the task; what cannot is told at once, with all that waits. */
  function put(part, waits) {
    if (!time) {
      time = performance.now();
      afterTask(flush);
    }
    text += part;
    if (!waits) tell();
  }

  /** What comes later came by itself. */
  function flush() {
    tell();
    time = 0;
  }

  function tell() {
    if (text) told(text, time);
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
