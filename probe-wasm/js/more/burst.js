// Joins what a page is handed piece by piece in one task: it came in one piece over the network, so it
// has one time, and there are no gaps between its parts.

/** `told(text, time)` gets what was put in during a task, with the time of the first part, after it. */
export function createBurst(told) {
  const { port1, port2 } = new MessageChannel();
  const parts = [];
  let time;
  port1.onmessage = flush;
  return { put, flush };

  /** What cannot wait is told with all that does. */
  function put(part, waits) {
    if (!parts.length) {
      time = performance.now();
      // Hidden pages slow timers down, but not messages.
      if (waits) port2.postMessage(0);
    }
    parts.push(part);
    if (!waits) flush();
  }

  function flush() {
    if (parts.length) told(parts.splice(0).join(""), time);
  }
}
