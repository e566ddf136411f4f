// What the probe itself costs its page: the time of its own code, its memory, and what it sends.

import { CHUNK } from "../moments.js";
import { thousandths } from "./thousandths.js";

/** Adds `cost` to reports. Of several extensions the last: what those behind it do is not in its times. */
export const cost = () => () => {
  let loaded, sentBytes, memory, latest;

  return {
    saw(stream, moment, value, time, watcher) {
      const now = performance.now();
      memory = watcher.memory;
      // What came before the probe had loaded is all told at once, and long after its time.
      loaded ??= now;
      // Only `fetch` is told of at the very read. A body of another kind is told with the time of its first part.
      if (moment != CHUNK || !stream.bodies || time <= loaded) return;
      stream.timed = -~stream.timed;
      stream.took = (stream.took ?? 0) + now - time;
      latest = stream;
    },
    sent(body, begun) {
      if (body) sentBytes = (sentBytes ?? 0) + new TextEncoder().encode(body).length;
      // What chunks had waited was read, and nothing else was done.
      else if (latest) latest.took += performance.now() - begun;
    },
    add(report, { timed, took }) {
      report.cost = {
        timed_chunks: timed,
        chunks_ms: timed && thousandths(took),
        memory_bytes: memory?.buffer.byteLength,
        sent_bytes: sentBytes,
      };
    },
  };
};
