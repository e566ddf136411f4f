// The session with the fallback watcher: when reports are due, how streams end, and what chunks cannot show.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createFallbackWatcher } from "../../js/watcher/fallback-watcher.js";
import { CANCELLED, CHUNK, CLOSED, FAILED, FORGET, HEADERS, OPEN, READ, WHOLE } from "../../js/tap/tap-events.js";
import { END_MARKER, FIRST_TOKEN, FIRST_VISIBLE } from "../../js/session/progress-flags.js";
import { Session } from "../../js/session/session.js";
import { CLOSED as CLOSED_END, PAGE_GONE, UNSEEN } from "../../js/session/end-reasons.js";

const BYTES = new Uint8Array(5);
const END = new Uint8Array(6);

/** A page's session, and the reports that its callbacks got. */
function watched(enrich = (stream, json) => json, watcher = createFallbackWatcher()) {
  const ends = [];
  const describe = (model) => ({ use_case: "chat", model, page: { release: "1.2" } });
  const session = new Session(watcher, {
    describe,
    guard: (job) => job(),
    onFirst() {},
    onEnd: (make) => ends.push(JSON.parse(make())),
    enrich,
  });
  return { session, ends };
}

function open(session, { status = 200, read = true, ...stream } = {}) {
  stream = { time: 100, submit: undefined, ...stream };
  session.take(stream, OPEN);
  session.take(stream, HEADERS, { status, headers: new Headers() }, 140);
  if (read) session.take(stream, READ);
  return stream;
}

function outcome(moment, value, stream) {
  const { session, ends } = watched();
  session.take(open(session, stream), moment, value, 200);
  return ends[0].outcome;
}

const reports = (body) => (body ? JSON.parse(body).reports : []);

test("a chunk watcher's report has chunk times only", () => {
  const { session, ends } = watched();
  const stream = open(session, { submit: 90, model: "m" });
  session.take(stream, CHUNK, BYTES, 150);
  session.take(stream, CHUNK, BYTES, 160);
  session.take(stream, CLOSED, undefined, 170);
  const [{ id, ...report }] = ends;
  assert.match(id, /^[0-9a-f]{32}$/);
  assert.deepEqual(report, {
    v: 1,
    rev: 0,
    use_case: "chat",
    observed: "chunks",
    model: "m",
    status: 200,
    outcome: "unobserved",
    submit_delay_ms: 10,
    headers_ms: 40,
    first_byte_ms: 50,
    close_ms: 70,
    chunks: 2,
    events: 0,
    deltas: 0,
    bytes: 10,
    page: { release: "1.2" },
  });
  assert.equal(session.next(), 1170);
  assert.deepEqual(reports(session.body(1170)), ends);
});

test("an outcome is reported only if chunks show it", () => {
  const aborted = (name) => ({ signal: { aborted: true, reason: { name } } });
  assert.equal(outcome(CLOSED), "empty");
  assert.equal(outcome(FAILED, new TypeError()), "network_error");
  assert.equal(outcome(FAILED, { name: "AbortError" }), "aborted");
  assert.equal(outcome(FAILED, {}, aborted("AbortError")), "aborted");
  assert.equal(outcome(FAILED, {}, aborted("TimeoutError")), "timeout");
  assert.equal(outcome(WHOLE, new Blob()), "unobserved");
  assert.equal(outcome(WHOLE, "text"), "unobserved");
  assert.equal(outcome(CLOSED, undefined, { status: 429 }), "http_error");
});

test("a cancel without a signal leaves the outcome unobserved", () => {
  assert.equal(outcome(CANCELLED), "unobserved");
  assert.equal(outcome(CANCELLED, undefined, { signal: AbortSignal.abort() }), "aborted");
});

test("a signal ends a stream that is no longer read, once", () => {
  const { session, ends } = watched();
  const controller = new AbortController();
  const stream = open(session, { signal: controller.signal });
  controller.abort();
  session.take(stream, FAILED, {}, 200);
  assert.deepEqual(ends.map(({ outcome }) => outcome), ["aborted"]);
});

test("a stream without text is reported after 3 s, then every 15 s", () => {
  const { session } = watched();
  open(session);
  assert.equal(session.next(), 3100);
  assert.equal(session.body(3099), undefined);
  const [first] = reports(session.body(3100));
  assert.deepEqual([first.open, first.rev, first.outcome], [true, 0, "abandoned"]);
  assert.equal(session.next(), Infinity, "an answer is awaited");
  session.answered(204, 0, 3110, 0.5);
  assert.equal(session.next(), 18_100);
  assert.equal(reports(session.body(18_100))[0].rev, 1);
});

test("visibility is that of the whole stream", () => {
  const { session } = watched();
  session.setHidden(false);
  open(session);
  session.setHidden(true);
  open(session);
  const seen = () => {
    session.flushSoon(200);
    return reports(session.body(200, true)).map(({ page }) => page.visibility);
  };
  assert.deepEqual(seen(), ["mixed", "hidden"]);
  session.setHidden(false);
  assert.deepEqual(seen(), ["mixed", "mixed"]);
});

test("values from the content override those of the page", () => {
  const chunks = createFallbackWatcher();
  const watcher = { ...chunks, report: (key) => ({ ...chunks.report(key), use_case: "proven" }) };
  const { session, ends } = watched(undefined, watcher);
  session.take(open(session), CLOSED, undefined, 200);
  assert.equal(ends[0].use_case, "proven");
});

test("a page that may go away sends every report once", () => {
  const { session } = watched();
  open(session);
  session.take(open(session), FAILED, {}, 150);
  session.countLost(2);
  session.flushSoon(160);
  const told = reports(session.body(160, true));
  assert.deepEqual(told.map(({ open, outcome, dropped }) => [open, outcome, dropped]), [
    [undefined, "network_error", { early: 2 }],
    [true, "abandoned", undefined],
  ]);
  assert.equal(session.body(160, true), undefined);
});

test("a closed page abandons the streams that it read", () => {
  const { session, ends } = watched();
  open(session);
  open(session, { read: false });
  session.take({ time: 100 }, OPEN);
  session.flushSoon(200, PAGE_GONE);
  assert.deepEqual(ends.map(({ outcome }) => outcome), ["abandoned", "unobserved", "abandoned"]);
});

test("a stream that fails during a navigation is abandoned", () => {
  const { session, ends } = watched();
  const stream = open(session);
  session.flushSoon(190, false, 190);
  session.take(stream, FAILED, new TypeError("Load failed"), 200);
  session.take(open(session), FAILED, new TypeError("Load failed"), 210);
  assert.deepEqual(ends.map(({ outcome }) => outcome), ["abandoned", "network_error"]);
});

test("a navigation sends open streams and abandons later failures", () => {
  const { session, ends } = watched();
  const stream = open(session);
  session.flushSoon(190, false, 190);
  assert.deepEqual(reports(session.body(190, true)).map(({ open }) => open), [true]);
  session.flushSoon(191);
  session.take(stream, FAILED, new TypeError("Load failed"), 200);
  assert.deepEqual(ends.map(({ outcome }) => outcome), ["abandoned"]);
});

test("a stream with chunks after a navigation fails by itself", () => {
  const { session, ends } = watched();
  const [outlives, silent, unread] = [open(session), open(session), open(session, { read: false })];
  session.take(silent, CHUNK, BYTES, 180);
  session.flushSoon(190, false, 190);
  session.take(outlives, CHUNK, BYTES, 1200);
  for (const stream of [outlives, silent, unread]) session.take(stream, FAILED, new TypeError("Load failed"), 5000);
  assert.deepEqual(ends.map(({ outcome }) => outcome), ["network_error", "abandoned", "abandoned"]);
});

test("a response that is not read yet has no report", () => {
  const { session } = watched();
  const stream = open(session, { read: false });
  session.flushSoon(160);
  assert.equal(session.body(160, true), undefined);
  assert.equal(session.next(), 15_160);
  session.take(stream, READ);
  session.flushSoon(170);
  assert.equal(reports(session.body(170, true)).length, 1);
});

test("a stopped probe reports open streams as unobserved", () => {
  const { session, ends } = watched();
  open(session);
  session.flushSoon(200, UNSEEN);
  assert.deepEqual(ends.map(({ open, outcome, close_ms }) => [open, outcome, close_ms]), [[undefined, "unobserved", 100]]);
});

test("an unread response is finalized after a minute", () => {
  const { session, ends } = watched();
  open(session, { read: false });
  open(session);
  session.body(60_140);
  assert.equal(ends.length, 0);
  session.body(60_141);
  assert.deepEqual(ends.map(({ outcome }) => outcome), ["unobserved"]);
});

test("open streams are bounded: the oldest is reported as it is", () => {
  const { session, ends } = watched();
  for (let count = 0; count < 103; count++) open(session, { model: `${count}` });
  assert.deepEqual(ends.map(({ model, outcome }) => [model, outcome]), [
    ["0", "unobserved"],
    ["1", "unobserved"],
    ["2", "unobserved"],
  ]);
});

test("a discarded or ended stream is not reported again", () => {
  const { session, ends } = watched();
  const stream = open(session);
  session.take(stream, FORGET);
  session.take(stream, CHUNK, BYTES, 150);
  session.take(stream, CLOSED, undefined, 160);
  assert.equal(ends.length, 0);
  assert.equal(session.next(), Infinity);
});

test("an ended stream keeps no events", () => {
  const { session } = watched();
  const stream = open(session);
  assert.equal(stream.replay_.length, 2);
  session.take(stream, CLOSED, undefined, 160);
  assert.equal(stream.replay_, undefined);
});

test("each byte of a partly read body counts once", () => {
  const { session, ends } = watched();
  const stream = open(session);
  session.take(stream, CHUNK, new TextEncoder().encode("né"), 150);
  session.take(stream, WHOLE, "né plus ultra", 200);
  session.take(open(session), WHOLE, "né plus ultra", 200);
  assert.deepEqual(ends.map(({ bytes, chunks, close_ms }) => [bytes, chunks, close_ms]), [[14, 2, 100], [14, 1, 100]]);
});

test("a response without a body by method or status has no report", () => {
  const { session, ends } = watched();
  // Opaque responses have status 0.
  const opaque = [{ status: 0 }, { method: "POST", status: 0 }];
  const bodiless = [{ method: "HEAD" }, { method: "head" }, { status: 202 }, { status: 204 }, { status: 205 }, { status: 304 }, ...opaque];
  for (const answer of bodiless) {
    session.take(open(session, answer), WHOLE, "", 200);
    open(session, { read: false, ...answer });
  }
  session.flushSoon(60_141, PAGE_GONE);
  assert.deepEqual([ends, session.next()], [[], Infinity]);
  session.take(open(session, { method: "POST", status: 404 }), WHOLE, "", 200);
  assert.equal(ends.length, 1);
});

test("a GET with status 405 is no stream, a POST has failed", () => {
  const { session, ends } = watched();
  for (const method of [undefined, "GET", "get", "POST"])
    session.take(open(session, { method, status: 405, read: false }), CLOSED, undefined, 200);
  assert.deepEqual(ends.map(({ outcome }) => outcome), ["http_error"]);
  assert.equal(session.openReports().length, 0);
});

test("values known after the end are in the report that is sent", () => {
  let timing;
  const { session, ends } = watched((stream, json) => JSON.stringify({ ...JSON.parse(json), url: stream.url, network_timing: timing }));
  const stream = open(session, { url: "/a" });
  session.take(stream, CLOSED, undefined, 200);
  timing = { wait_ms: 5 };
  const [sent] = reports(session.body(1200));
  assert.deepEqual([ends[0].url, ends[0].network_timing, sent.url, sent.network_timing], ["/a", undefined, "/a", { wait_ms: 5 }]);
});

test("a withheld report reaches the page but not the collector", () => {
  const { session, ends } = watched((stream, json, goes) => (goes ? "" : json));
  open(session);
  session.take(open(session), CLOSED, undefined, 200);
  assert.equal(ends.length, 1);
  assert.equal(session.body(20_000), undefined);
  assert.equal(session.next(), 35_000, "the open one is asked about again later");
});

test("an edit of an outgoing report is sent", () => {
  const { session } = watched((stream, json, goes) => JSON.stringify({ ...JSON.parse(json), page: goes && "edited" }));
  session.take(open(session), CLOSED, undefined, 200);
  const [{ page, use_case }] = reports(session.body(20_000));
  assert.deepEqual([page, use_case], ["edited", "chat"]);
});

/** A session whose watcher sees the end marker, or an error, in chunks as long as `END`. */
function endingSession() {
  const chunks = createFallbackWatcher();
  const told = [];
  let seen = 0;
  const watcher = {
    ...chunks,
    chunk(key, time, bytes) {
      chunks.chunk(key, time, bytes);
      return (seen |= bytes.length == END.length && END_MARKER);
    },
    end(key, time, how) {
      told.push([key, time, how]);
      chunks.end(key, time, how);
    },
  };
  return { ...watched(undefined, watcher), told };
}

/** The reports of the body that is due at `time`, and what the session hears of it. */
function sentAt(session, time) {
  const body = session.body(time);
  if (body) session.answered(204, 0, time, 0.5);
  return reports(body);
}

test("a client that stops at the end marker is told of after 1 s", () => {
  const { session, ends, told } = endingSession();
  const stream = open(session);
  session.take(stream, CHUNK, BYTES, 150);
  session.take(stream, CHUNK, END, 160);
  assert.equal(session.next(), 1160, "no other event has to ask for it");
  assert.deepEqual(sentAt(session, 1159), [], "the server may close");
  const [report] = sentAt(session, 1160);
  assert.deepEqual([report.open, report.rev, report.close_ms], [undefined, 0, 60], "by what it read last");
  assert.equal(ends.length, 1);
  assert.deepEqual(sentAt(session, 5160), []);
  assert.deepEqual([session.openReports().length, session.next(), ends.length, told], [0, Infinity, 1, []]);
});

test("a clock that steps back closes no stream before its text", () => {
  const { session } = endingSession();
  const stream = open(session);
  session.take(stream, CHUNK, BYTES, 5000);
  session.take(stream, CHUNK, END, 4000);
  const [report] = sentAt(session, 6000);
  assert.equal(report.close_ms, 4900, "the watcher has text until 5000");
});

test("a close after the report of the end corrects it", () => {
  const { session, ends, told } = endingSession();
  const stream = open(session);
  session.take(stream, CHUNK, END, 160);
  sentAt(session, 1160);
  session.take(stream, CLOSED, undefined, 3000);
  const [report] = sentAt(session, 4000);
  assert.deepEqual([report.open, report.rev, report.close_ms], [undefined, 1, 2900]);
  assert.deepEqual([told, ends.length], [[[1, 3000, CLOSED_END]], 1], "the page heard of it already");
});

test("text after the report of the end opens the stream again", () => {
  const { session, ends } = endingSession();
  const stream = open(session);
  session.take(stream, CHUNK, END, 160);
  sentAt(session, 1160);
  session.take(stream, CHUNK, BYTES, 2000);
  session.flushSoon(2100);
  const [again] = sentAt(session, 2100);
  assert.deepEqual([again.open, again.rev], [true, 1]);
  session.take(stream, CLOSED, undefined, 2200);
  const [last] = sentAt(session, 3200);
  assert.deepEqual([last.open, last.rev, ends.length], [undefined, 2, 1]);
});

test("a stream that goes on after an error has a bounded rate", () => {
  const { session, ends } = endingSession();
  const stream = open(session);
  session.take(stream, CHUNK, END, 160);
  let count = 0;
  for (let time = 2000; time < 62_000; time += 2000) {
    count += sentAt(session, time).length;
    session.take(stream, CHUNK, BYTES, time);
  }
  assert.deepEqual([count <= 6, ends.length], [true, 1], "the end, and a report every 15 s");
  count = sentAt(session, 80_000).length + sentAt(session, 200_000).length;
  assert.deepEqual([count, session.openReports().length], [1, 0]);
});

test("an end that is reported stays when the page is left", () => {
  const { session } = endingSession();
  session.take(open(session), CHUNK, END, 160);
  sentAt(session, 1160);
  session.flushSoon(1200);
  assert.equal(session.body(1200, true), undefined);
  session.flushSoon(1300, PAGE_GONE);
  assert.equal(session.body(1300, true), undefined);
});

test("a page left right after the end marker sends the end", () => {
  const { session } = endingSession();
  session.take(open(session), CHUNK, END, 160);
  session.flushSoon(200);
  assert.equal(reports(session.body(200, true))[0].rev, 0);
  session.flushSoon(300, PAGE_GONE);
  const [{ open: isOpen, rev }] = reports(session.body(300, true));
  assert.deepEqual([isOpen, rev], [undefined, 1]);
});

/** A session whose watcher sees an answer in each chunk, with time and bytes of each chunk that it read. */
function answering() {
  const read = [];
  const watcher = {
    ...createFallbackWatcher(),
    chunk(key, time, bytes) {
      read.push([time, ...bytes]);
      return FIRST_TOKEN | FIRST_VISIBLE | (bytes.length == END.length && END_MARKER);
    },
  };
  return { ...watched(undefined, watcher), read };
}

test("chunks after the first are batched as copies", () => {
  const { session, read } = answering();
  const stream = open(session, { bodies_: 1 });
  session.take(stream, CHUNK, Uint8Array.of(1), 150);
  assert.deepEqual(read.splice(0), [[150, 1]], "the first is waited for");
  const lent = Uint8Array.of(2, 3);
  session.take(stream, CHUNK, lent.subarray(1), 160);
  // The page may overwrite the bytes.
  lent.fill(0);
  session.take(stream, CHUNK, Uint8Array.of(4), 170);
  assert.deepEqual(read, []);
  session.take(stream, CLOSED, undefined, 180);
  assert.deepEqual(read, [[160, 3], [170, 4]]);
});

test("a chunk of another view type is read at once, as bytes", () => {
  const { session, read } = answering();
  const stream = open(session, { bodies_: 1 });
  for (const time of [150, 160]) session.take(stream, CHUNK, BYTES, time);
  session.take(stream, CHUNK, new Uint16Array([258]), 170);
  session.take(stream, CHUNK, new DataView(Uint8Array.of(3, 4, 5).buffer, 1), 180);
  assert.deepEqual(read, [[150, ...BYTES], [160, ...BYTES], [170, 2, 1], [180, 4, 5]]);
});

test("no chunk waits after the end of its stream", () => {
  const { session, read } = answering();
  const [ended, other] = [open(session, { bodies_: 1 }), open(session, { bodies_: 1 })];
  for (const stream of [ended, other]) session.take(stream, CHUNK, BYTES, 150);
  session.take(ended, CLOSED, undefined, 160);
  session.take(ended, CHUNK, BYTES, 170);
  session.take(other, CLOSED, undefined, 180);
  assert.deepEqual(read.map(([time]) => time), [150, 150]);
});

test("chunks wait for a second at most", () => {
  const { session, read } = answering();
  const stream = open(session, { bodies_: 1 });
  session.take(stream, CHUNK, BYTES, 150);
  session.body(1150);
  session.answered(204, 0, 1160, 0.5);
  assert.ok(!session.take(stream, CHUNK, BYTES, 2000), "something is due earlier than before");
  assert.equal(session.take(stream, CHUNK, END, 2500), true);
  assert.equal(session.next(), 3000);
  assert.equal(session.body(3000), undefined);
  assert.equal(read.length, 3);
  assert.equal(session.next(), 3500, "a client that stops at the end marker is told of as without that");
});

test("chunks beyond the batch limit are read at once and in order", () => {
  const { session, read } = answering();
  const [one, other] = [open(session, { bodies_: 1 }), open(session, { bodies_: 1 })];
  const sizes = [1, 1, 16_000, 384, 1, 17_000, 1];
  sizes.forEach((size, number) => session.take(number % 2 ? one : other, CHUNK, new Uint8Array(size), 150 + number));
  session.setHidden(true);
  const seen = read.map(([time, ...bytes]) => [time - 150, bytes.length]);
  assert.deepEqual(seen, sizes.slice(0, 6).map((size, number) => [number, size]));
  assert.equal(session.openReports().length, 2);
  assert.equal(read.length, 7, "what stands is all that came");
});

test("the time to read batched chunks counts once", (context) => {
  const { session } = answering();
  const stream = open(session, { bodies_: 1 });
  let now = 0;
  context.mock.method(performance, "now", () => now++);
  for (const size of [1, 2, 17_000]) session.take(stream, CHUNK, new Uint8Array(size), 150);
  assert.equal(stream.late, undefined, "the third had the second read");
  session.take(stream, CHUNK, BYTES, 160);
  session.body(1160);
  assert.equal(stream.late, 1);
  session.body(1170);
  session.take(stream, CHUNK, BYTES, 1180);
  session.take(stream, CLOSED, undefined, 1190);
  assert.equal(stream.late, 2);
});

test("chunks that an extension has brought are read at once", () => {
  const { session, read } = answering();
  const stream = open(session);
  for (const time of [150, 160]) session.take(stream, CHUNK, BYTES, time);
  assert.equal(read.length, 2);
});
