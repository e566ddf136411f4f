// Trace ids: the one in the headers of a response, and none where they have no valid one.

import assert from "node:assert/strict";
import { test } from "node:test";

import { traceId } from "../../js/extensions/trace-id.js";
import { HEADERS, OPEN } from "../../js/tap/tap-events.js";

const ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACE = `00-${ID}-00f067aa0ba902b7-01`;

function traceOf(headers) {
  const [extension, stream, report] = [traceId()({}), {}, {}];
  extension.onEvent(stream, OPEN);
  extension.onEvent(stream, HEADERS, new Response("", { headers }));
  extension.addFields(report, stream);
  return report.trace_id;
}

test("the header `traceresponse` names the trace", () => {
  assert.equal(traceOf({ traceresponse: TRACE }), ID);
  assert.equal(traceOf({ traceresponse: TRACE, "server-timing": "trace;desc=00-x" }), ID);
});

test("`Server-Timing` names it by either name, beside others", () => {
  for (const name of ["traceparent", "trace"])
    for (const desc of [TRACE, `"${TRACE}"`]) {
      assert.equal(traceOf({ "server-timing": `${name};desc=${desc}` }), ID);
      assert.equal(traceOf({ "server-timing": `cdn-cache;desc=HIT, ${name}; desc=${desc}, app;dur=5` }), ID);
    }
});

test("a response without a valid id has none", () => {
  const zeros = `00-${"0".repeat(32)}-00f067aa0ba902b7-01`;
  for (const headers of [
    {},
    { traceresponse: "" },
    { traceresponse: zeros },
    { traceresponse: ID },
    { traceresponse: TRACE.toUpperCase() },
    { "server-timing": `db;desc="${TRACE}"` },
    { "server-timing": `backtrace;desc="${TRACE}"` },
  ])
    assert.equal(traceOf(headers), undefined, JSON.stringify(headers));
});

test("a stream whose headers never came has none", () => {
  const report = {};
  traceId()({}).addFields(report, {});
  assert.equal(report.trace_id, undefined);
});

test("the headers of a request by XMLHttpRequest are only a type", () => {
  const [extension, stream, report] = [traceId()({}), {}, {}];
  extension.onEvent(stream, HEADERS, { headers: { get: () => "text/event-stream" } });
  extension.addFields(report, stream);
  assert.equal(report.trace_id, undefined);
});
