// The id of the server's trace of a response, from its headers. Timings that name only a trace find their stream by it.

import { HEADERS } from "../tap/tap-events.js";

/** The form of W3C's trace context. An id of zeros is invalid. */
const TRACE = /\b00-(?!0{32})([\da-f]{32})-[\da-f]{16}-/;
/** `Server-Timing` has a trace under one of two names, beside others. */
const TIMING = /(?:^|,)\s*trace(?:parent)?\s*;\s*desc="?([\w-]+)/;

/** Adds `trace_id` to reports. */
export const traceId = () => () => {
  const ids = new WeakMap();
  return {
    onEvent(stream, event, value) {
      if (event == HEADERS) ids.set(stream, traceOf(value.headers));
    },
    addFields(report, stream) {
      report.trace_id = ids.get(stream);
    },
  };
};

/** `undefined` without one, and where another origin does not expose it. */
function traceOf(headers) {
  const [, timing] = TIMING.exec(headers.get("server-timing")) ?? [];
  const [, id] = TRACE.exec(headers.get("traceresponse")) ?? TRACE.exec(timing) ?? [];
  return id;
}
