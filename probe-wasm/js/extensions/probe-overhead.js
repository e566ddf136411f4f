// What the probe itself costs its page: the time of its own code, its memory, and what it sends.

import { CHUNK } from "../tap/tap-events.js";
import { thousandths } from "./round-ms.js";

/** Adds `cost` to reports. Of several extensions the last: what those behind it do is not in its times. */
export const cost = () => () => {
  let loaded, sentBytes, memory;
  // Another one in the same page has sums of its own.
  const [timed, took] = [Symbol(), Symbol()];
  // To ask the page for it takes longer than to ask it for the time.
  const clock = performance;

  return {
    saw(stream, moment, value, time, watcher) {
      const now = clock.now();
      // A stream that the probe has given up has none.
      memory = watcher?.memory ?? memory;
      // What came before the probe had loaded is all told at once, and long after its time.
      loaded ??= now;
      // Only `fetch` is told of at the very read. A body of another kind is told with the time of its first part.
      if (moment != CHUNK || !stream.bodies || time <= loaded) return;
      stream[timed] = -~stream[timed];
      stream[took] = (stream[took] ?? 0) + now - time;
    },
    sent(body) {
      if (body) sentBytes = (sentBytes ?? 0) + new TextEncoder().encode(body).length;
    },
    add(report, { [timed]: chunks, [took]: ms, late = 0 }) {
      report.cost = {
        timed_chunks: chunks,
        chunks_ms: chunks && thousandths(ms + late),
        memory_bytes: memory?.buffer.byteLength,
        sent_bytes: sentBytes,
      };
    },
  };
};
