// The watcher for pages that forbid Wasm. It sees chunks and their times, and does not judge what it cannot read.

import { ABORTED, FAILED, PAGE_GONE, TIMED_OUT } from "../session/end-reasons.js";
import { since } from "../session/since.js";

const OUTCOMES = { [FAILED]: "network_error", [TIMED_OUT]: "timeout", [PAGE_GONE]: "abandoned", [ABORTED]: "aborted" };

/** @returns {import("./watcher.d.ts").Watcher} */
export function createFallbackWatcher(wake, later) {
  const streams = {};
  let timer;

  return {
    open(key, request, submit) {
      streams[key] = {
        observed: "chunks",
        outcome: "abandoned",
        submit_delay_ms: since(submit, request),
        chunks: 0,
        events: 0,
        deltas: 0,
        bytes: 0,
        request,
      };
    },

    context() {},

    headers(key, time, status) {
      const report = streams[key];
      report.status = status;
      report.headers_ms = since(report.request, time);
    },

    chunk(key, time, { length }) {
      const report = streams[key];
      if (!length) return;
      report.first_byte_ms ??= since(report.request, time);
      report.chunks++;
      report.bytes += length;
    },

    end(key, time, reason) {
      const report = streams[key];
      report.close_ms = since(report.request, time);
      // Only content tells a whole response from a cut one, or from one that the app has read to its end marker.
      report.outcome =
        report.status >= 400 ? "http_error" : (OUTCOMES[reason] ?? (reason || report.bytes ? "unobserved" : "empty"));
    },

    report(key) {
      const { request, ...report } = streams[key];
      return report;
    },

    forget: (key) => delete streams[key],

    wake_in(ms) {
      clearTimeout(timer);
      timer = later(wake, ms);
    },
  };
}
