// What the probe itself costs its page: the time of its own code, its memory, and the bytes that it sends.

import { CHUNK } from "../tap/tap-events.js";
import { roundMs } from "./round-ms.js";

/** Adds `probe_overhead` to reports. It has to be the last of several extensions: its times end before those behind it run. */
export const probeOverhead = () => () => {
  let loadedAt, sentBytes, memory;
  // Another `probeOverhead` in the same page has sums of its own.
  const [timedChunks, tookMs] = [Symbol(), Symbol()];
  // To look up the page's `performance` takes longer than to read the time from it.
  const clock = performance;

  return {
    onEvent(stream, event, value, time, watcher) {
      const now = clock.now();
      // A stream that the probe has given up has no watcher.
      memory = watcher?.memory ?? memory;
      // Events from before the probe had loaded come all at once, and long after their time.
      loadedAt ??= now;
      // Only `fetch` emits events at the very read. A body of another kind has the time of its first part.
      if (event != CHUNK || !stream.bodies_ || time <= loadedAt) return;
      stream[timedChunks] = (stream[timedChunks] ?? 0) + 1;
      stream[tookMs] = (stream[tookMs] ?? 0) + now - time;
    },
    onSend(body) {
      if (body) sentBytes = (sentBytes ?? 0) + new TextEncoder().encode(body).length;
    },
    addFields(report, { [timedChunks]: chunks, [tookMs]: ms, late = 0 }) {
      report.probe_overhead = {
        timed_chunks: chunks,
        chunks_ms: chunks && roundMs(ms + late),
        memory_bytes: memory?.buffer.byteLength,
        sent_bytes: sentBytes,
      };
    },
  };
};
