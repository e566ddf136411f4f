// What is left where the page forbids Wasm: a session of the same shape that sees chunks and their
// times, and does not judge what it cannot read.

import { CANCELLED, FAILED, PAGE_GONE, TIMED_OUT, UNSEEN } from "./ends.js";

const DELAY_MS = 1000;
const INTERIM_MS = 15000;
const RETRY_MS = 5000;
const MAX_TRIES = 4;
const MAX_OPEN = 100;
const MAX_WAITING = 100;
const MAX_REPORTS = 50;

const ENDED = { [FAILED]: "network_error", [CANCELLED]: "aborted", [TIMED_OUT]: "timeout", [PAGE_GONE]: "abandoned" };

/** `wake` is called, from the event loop, when `batch` has something to give. */
export function createChunkSession({ useCase, provider, release }, wake) {
  const streams = new Map();
  /** Final reports that the collector has not answered for. */
  let waiting = [];
  let underWay = [];
  let tries = 0;
  let early = 0;
  let timer;

  return { open, headers, read, chunk, end, forget, report, lost_early, set_visible, page_gone, hurry, batch, last_words, answered };

  function open(key, id, request, submit, model) {
    if (streams.size >= MAX_OPEN) end(streams.keys().next().value, request, PAGE_GONE);
    const report = { v: 1, id, rev: 0, open: true, use_case: useCase, observed: "chunks", provider, model, status: undefined };
    const seen = { outcome: "abandoned", chunks: 0, events: 0, deltas: 0, bytes: 0 };
    if (submit != null) seen.submit_delay_ms = request - submit;
    if (release) seen.page = { release };
    streams.set(key, { report: Object.assign(report, seen), request, interim: request + INTERIM_MS });
    wakeIn(INTERIM_MS);
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
    const { report } = stream;
    Object.assign(report, { open: undefined, outcome: outcome(stream, how), close_ms: time - stream.request });
    if (waiting.push(report) > MAX_WAITING) waiting.shift();
    wakeIn(DELAY_MS);
    return { ...report };
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
    const stream = streams.get(key);
    return stream && { ...stream.report };
  }

  function lost_early(count) {
    early += count;
  }

  function set_visible() {}

  function page_gone() {
    for (const key of [...streams.keys()]) end(key, performance.now(), PAGE_GONE);
  }

  function hurry() {
    for (const stream of streams.values()) stream.interim = 0;
  }

  function batch() {
    if (underWay.length) return;
    underWay = waiting.splice(0, MAX_REPORTS);
    return body();
  }

  function last_words() {
    const kept = underWay;
    underWay = waiting.splice(0, MAX_REPORTS);
    const words = body();
    underWay = kept;
    return words;
  }

  function body() {
    const now = performance.now();
    const reports = [...underWay];
    for (const stream of streams.values())
      if (stream.interim <= now && reports.length < MAX_REPORTS) {
        stream.interim = now + INTERIM_MS;
        reports.push({ ...stream.report });
        stream.report.rev++;
      }
    if (streams.size) wakeIn(INTERIM_MS);
    if (early && reports.length) reports[0] = { ...reports[0], dropped: { early: early } };
    early = reports.length ? 0 : early;
    return reports.length ? JSON.stringify({ reports }) : undefined;
  }

  function answered(status) {
    const again = !status || status == 429 || status >= 500;
    if (again && ++tries < MAX_TRIES) waiting = underWay.concat(waiting);
    else tries = 0;
    underWay = [];
    if (waiting.length) wakeIn(again ? RETRY_MS << tries : 0);
  }

  function wakeIn(ms) {
    const due = performance.now() + ms;
    if (timer && timer.due <= due) return;
    clearTimeout(timer?.id);
    const id = setTimeout(() => {
      timer = undefined;
      wake();
    }, ms);
    timer = { due, id };
  }
}
