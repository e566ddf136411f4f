// What is left where the page forbids Wasm: a watcher of the same shape as the compiled one, which
// sees chunks and their times, and does not judge what it cannot read.

import { ABORTED, CLOSED, FAILED, PAGE_GONE, TIMED_OUT } from "./ends.js";

const ENDED = { [FAILED]: "network_error", [TIMED_OUT]: "timeout", [PAGE_GONE]: "abandoned", [ABORTED]: "aborted" };

export function createChunkWatcher(wake) {
  const streams = new Map();
  let timer;

  return {
    open(key, request, submit) {
      const submit_delay_ms = submit <= request ? request - submit : undefined;
      streams.set(key, {
        observed: "chunks",
        outcome: "abandoned",
        submit_delay_ms,
        chunks: 0,
        events: 0,
        deltas: 0,
        bytes: 0,
        request,
      });
    },

    headers(key, time, status) {
      const report = streams.get(key);
      Object.assign(report, { status, headers_ms: time - report.request });
    },

    chunk(key, time, { length }) {
      const report = streams.get(key);
      if (!length) return;
      report.first_byte_ms ??= time - report.request;
      report.chunks++;
      report.bytes += length;
    },

    end(key, time, how) {
      const report = streams.get(key);
      // Content is what tells a whole answer from a cut one, or from one that the app had read to
      // its end marker.
      const unread = how == CLOSED && !report.bytes ? "empty" : "unobserved";
      const outcome = report.status >= 400 ? "http_error" : (ENDED[how] ?? unread);
      Object.assign(report, { outcome, close_ms: time - report.request });
    },

    report(key) {
      const { request, ...report } = streams.get(key);
      return report;
    },

    forget: (key) => streams.delete(key),

    wake_in(ms) {
      clearTimeout(timer);
      timer = setTimeout(wake, ms);
    },
  };
}
