// Joins what a page is handed piece by piece in one task: it came in one piece over the network, so it
// has one time, and there are no gaps between its parts.

/** What is to be done after this task, each for one message. */
const waiting = [];
let port;

/** `told(text, time)` gets what was put in during a task, with the time of the first part, after it. */
export function createBurst(told) {
  const parts = [];
  let time;
  return { put, flush };

  /** What cannot wait is told with all that does. */
  function put(part, waits) {
    if (!parts.length) {
      time = performance.now();
      if (waits) afterTask(flush);
    }
    parts.push(part);
    if (!waits) flush();
  }

  function flush() {
    if (parts.length) told(parts.splice(0).join(""), time);
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
