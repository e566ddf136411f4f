// What is left where the page forbids Wasm: a session of the same shape as the compiled one, which
// sees chunks and their times, and does not judge what it cannot read.

import { CANCELLED, FAILED, PAGE_GONE, TIMED_OUT, UNSEEN } from "./ends.js";

const DELAY_MS = 1000;
const INTERIM_MS = 15000;
const RETRY_MS = 5000;
const MAX_TRIES = 4;
const MAX_OPEN = 100;
const MAX_WAITING = 100;
const MAX_REPORTS = 50;

const ENDED = { [FAILED]: "network_error", [CANCELLED]: "aborted", [TIMED_OUT]: "timeout", [PAGE_GONE]: "abandoned" };

export function createChunkSession({ useCase, provider, release }) {
  const streams = new Map();
  /** Final reports that the collector has not answered for, and when they should go. */
  let waiting = [];
  let due = Infinity;
  let underWay = [];
  let tries = 0;
  let early = 0;

  return { open, headers, read, chunk, end, forget, report, lost_early, set_visible, page_gone, hurry, due_in, batch, last_words, answered };

  function open(key, id, request, submit, model, route) {
    if (streams.size >= MAX_OPEN) end(streams.keys().next().value, request, PAGE_GONE);
    const submit_delay_ms = submit == null ? undefined : request - submit;
    const about = { v: 1, id, rev: 0, open: true, use_case: useCase, observed: "chunks", provider, model };
    const seen = { outcome: "abandoned", submit_delay_ms, chunks: 0, events: 0, deltas: 0, bytes: 0 };
    const page = release && { release };
    streams.set(key, { report: { ...about, ...seen, page }, request, interim: request + INTERIM_MS });
  }

  function headers(key, time, status) {
    const stream = streams.get(key);
    if (stream) Object.assign(stream.report, { status, headers_ms: time - stream.request });
  }

  function read(key) {
    const stream = streams.get(key);
    if (stream) stream.read = true;
  }

  function chunk(key, time, { length }) {
    const stream = streams.get(key);
    if (!stream || !length) return false;
    stream.report.first_byte_ms ??= time - stream.request;
    stream.report.chunks++;
    stream.report.bytes += length;
    return false;
  }

  function end(key, time, how) {
    const stream = streams.get(key);
    if (!stream) return;
    streams.delete(key);
    Object.assign(stream.report, { open: undefined, outcome: outcome(stream, how), close_ms: time - stream.request });
    if (waiting.push(stream.report) > MAX_WAITING) waiting.shift();
    due = Math.min(due, time + DELAY_MS);
    return JSON.stringify(stream.report);
  }

  function outcome({ report, read }, how) {
    if (report.status >= 400) return "http_error";
    if (how == PAGE_GONE && report.status && !read) return "unobserved";
    // Content is what tells a whole answer from a cut one.
    return ENDED[how] ?? (how == UNSEEN || report.bytes ? "unobserved" : "empty");
  }

  function forget(key) {
    streams.delete(key);
  }

  function report(key) {
    return JSON.stringify(streams.get(key)?.report);
  }

  function lost_early(count) {
    early += count;
  }

  function set_visible() {}

  function page_gone() {
    for (const key of [...streams.keys()]) end(key, performance.now(), PAGE_GONE);
  }

  function hurry() {
    due = 0;
    for (const stream of streams.values()) stream.interim = 0;
  }

  function due_in() {
    if (underWay.length) return;
    const first = Math.min(waiting.length ? due : Infinity, ...Array.from(streams.values(), ({ interim }) => interim));
    return first < Infinity ? Math.max(first - performance.now(), 0) : undefined;
  }

  function batch() {
    if (due_in() !== 0) return;
    underWay = waiting.splice(0, MAX_REPORTS);
    return body(underWay);
  }

  function last_words() {
    return body(waiting.splice(0, MAX_REPORTS));
  }

  function body(finals) {
    const now = performance.now();
    const reports = [...finals];
    for (const stream of streams.values())
      if (stream.interim <= now && reports.length < MAX_REPORTS) {
        stream.interim = now + INTERIM_MS;
        reports.push({ ...stream.report });
        stream.report.rev++;
      }
    if (!reports.length) return;
    if (early) reports[0] = { ...reports[0], dropped: { early } };
    early = 0;
    return JSON.stringify({ reports });
  }

  function answered(status, retryAfterMs) {
    const failed = !status || status == 429 || status >= 500;
    const again = failed && ++tries < MAX_TRIES;
    if (!again) tries = 0;
    if (again) waiting = underWay.concat(waiting);
    underWay = [];
    due = performance.now() + (failed ? Math.max(RETRY_MS << tries, retryAfterMs) : 0);
  }
}
