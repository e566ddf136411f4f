// All streams of a page. The tap's events go to a watcher, compiled or not, which makes the reports; reports go to
// callbacks and, in bodies of requests, to the collector.

import { contentKindOf } from "../tap/content-types.js";
import { CANCELLED, CHUNK, CLOSED, FAILED, HEADERS, OPEN, READ, WHOLE } from "../tap/tap-events.js";
import * as ends from "./end-reasons.js";
import { DELAY_MS, createOutbox } from "./outbox.js";
import { END_MARKER, FIRST_TOKEN, FIRST_VISIBLE, NEEDS_FULL_WASM } from "./progress-flags.js";

const MAX_OPEN = 100;
/** How often the collector hears of a stream that stays open. */
const INTERIM_MS = 15_000;
/** How long a response may lie unread before its stream is given up. */
const UNREAD_MS = 60_000;
/** How long after the end marker a server may still close: some clients stop there without a cancel. */
const LINGER_MS = 5000;
/** Data this long after `beforeunload` means that the navigation was cancelled. */
const CUT_MS = 1000;

/** How many bytes of chunks may wait to be read together. One by one, each finds the code that reads it cold. */
const BATCH_BYTES = 16_384;

/** How many bytes of a stream are kept for a replay, until it is known that it does not need the full Wasm. */
const REPLAY_BYTES = 262_144;

/** How the page was while a stream ran, a bit each: visible, hidden. */
const VISIBILITY = [, "visible", "hidden", "mixed"];

/** Statuses of responses without a body, whatever their type is; 0 is opaque and shows nothing. */
const BODILESS = [0, 202, 204, 205, 304];

/**
 * `describe` returns what a report says of the page and of the model that a request names. `guard` runs jobs of
 * browsers' callbacks. `onFirst` and `onEnd` get a function that makes the JSON of a report. `enrich` returns what a
 * stream's JSON is to be, as late as it can, since some things are known only after the end; with `goes`, what the
 * collector gets of it: an empty text is nothing. `loadFull` calls back with the watcher that reads every stream, or
 * with the fallback where the page cannot have it.
 */
export function createSession(watcher, describe, guard, onFirst, onEnd, enrich, loadFull) {
  /** The open streams of the tap, the oldest first. */
  const streams = new Set();
  const outbox = createOutbox();
  let replayBytes = loadFull ? REPLAY_BYTES : 0;
  /** The chunks that wait, as stream, time and where in `batchBytes` each ends. */
  const batch = [];
  const batchBytes = new Uint8Array(BATCH_BYTES);
  let batchLength = 0;
  /** When they are read at the latest. */
  let readAt = Infinity;
  let keys = 0;
  let visibilityBits = 0;

  return {
    take,
    setHidden,
    flushSoon,
    next,
    body,
    openReports: () => [...streams].map(openReport),
    answered: outbox.answered,
    countLost: (count) => outbox.drop("early", count),
  };

  /** True where nothing is due earlier than before. */
  function take(stream, event, value, time) {
    // The usual case comes first and goes no further. Once text was seen, only the end matters: a chunk may wait.
    // Extensions look at each chunk of their own streams as it comes.
    if (
      event == CHUNK &&
      stream.seen & FIRST_VISIBLE &&
      stream.bodies_ &&
      value.byteLength == value.length &&
      batchLength + value.length <= BATCH_BYTES
    ) {
      // The page may transfer the buffer.
      batchBytes.set(value, batchLength);
      batch.push([stream, (stream.read = time), (batchLength += value.length)]);
      return readAt < Infinity || !(readAt = time + DELAY_MS);
    }
    const { signal } = stream;
    if (event != OPEN && !streams.has(stream)) return;
    switch (event) {
      case OPEN:
        return open(stream);
      case HEADERS:
        if (isBodiless(stream.method, value.status)) break;
        // The body lies there unread until the app asks for it.
        stream.answered = time;
        return tell(stream, "headers", time, value.status, contentKindOf(value.headers.get("content-type")));
      case READ:
        stream.answered = undefined;
        return;
      case CHUNK:
        stream.read = time;
        readBatch();
        return chunk(stream, time, bytesOf(value));
      case CLOSED:
        return end(stream, time, ends.CLOSED);
      case CANCELLED:
        return end(stream, time, signal?.aborted ? failureOf(signal) : ends.CANCELLED);
      case FAILED:
        return end(stream, time, stream.left + CUT_MS > (stream.read | 0) ? ends.PAGE_GONE : failureOf(signal, value));
      case WHOLE:
        return readWhole(stream, time, typeof value == "string" ? new TextEncoder().encode(value) : bytesOf(value));
    }
    // It is no stream: `FORGET` says so as well.
    forget(stream);
  }

  /** Opens a stream. With too many at once, the oldest is reported as it is, and no more is seen of it. */
  function open(stream) {
    const { time, signal, model, submit } = stream;
    for (const oldest of streams) if (streams.size >= MAX_OPEN) end(oldest, time, ends.UNSEEN, true);
    stream.key = ++keys;
    stream.visibilityBits = visibilityBits;
    stream.facts = { v: 1, id: randomId(), rev: 0, open: true, ...describe(model) };
    stream.due = time + INTERIM_MS;
    streams.add(stream);
    stream.watcher = watcher;
    stream.replay = [];
    stream.replayBytes = replayBytes;
    tell(stream, "open", time, submit);
    // A tap sees an abort only if the app still reads.
    stream.onAbort = () => guard(() => end(stream, performance.now(), failureOf(signal)));
    signal?.addEventListener?.("abort", stream.onAbort);
  }

  /** Calls the stream's watcher. The call is kept for a replay until it is known that this watcher can read it. */
  function tell(stream, call, time, value, type) {
    stream.replay?.push(() => tell(stream, call, time, value, type));
    return stream.watcher[call](stream.key, time, value, type);
  }

  /** Reads a chunk. True where nothing is due earlier than before. */
  function chunk(stream, time, bytes) {
    const before = stream.seen;
    if (before & FIRST_TOKEN || (stream.replayBytes -= bytes.length) < 0) stream.replay = undefined;
    const copy = stream.replay && bytes.slice();
    stream.replay?.push(() => chunk(stream, time, copy));
    stream.seen = stream.watcher.chunk(stream.key, time, bytes);
    const news = stream.seen & ~before;
    if (news & NEEDS_FULL_WASM && stream.replay) loadFull((made) => handOver(stream, made));
    if (!(news & (FIRST_TOKEN | END_MARKER))) return true;
    // What follows an end marker follows soon.
    stream.due = time + (news & END_MARKER ? LINGER_MS + DELAY_MS : DELAY_MS);
    if (news & FIRST_TOKEN) onFirst(() => report(stream));
  }

  /** Reads the rest of a body that came in one piece: another branch of it may have been read in part. */
  function readWhole(stream, time, bytes) {
    flushBatch();
    if (bytes) chunk(stream, time, bytes.subarray(stream.watcher.report(stream.key).bytes));
    end(stream, time, bytes ? ends.CLOSED : ends.UNSEEN);
  }

  function readBatch() {
    let from = (batchLength = 0);
    for (const [stream, time, to] of batch.splice(0)) chunk(stream, time, batchBytes.subarray(from, (from = to)));
  }

  /** Reads the batch before a watcher is asked or told anything else. `late` is the time that this takes. */
  function flushBatch() {
    if (!batchLength) return;
    const begun = performance.now();
    const [newest] = batch.at(-1);
    readBatch();
    newest.late = (newest.late ?? 0) + performance.now() - begun;
  }

  /** Goes on with a stream that waited for the full watcher, which is there or cannot be had. */
  function handOver(stream, made) {
    const { replay, ended } = stream;
    stream.replay = undefined;
    if (made.memory) {
      watcher = made;
      replayBytes = 0;
      if (replay && streams.has(stream)) {
        stream.watcher.forget(stream.key);
        stream.watcher = made;
        for (const again of replay) again();
      }
    }
    if (ended) end(stream, ended);
  }

  /** The stream's JSON as it is now, each a later revision than the one before. */
  function report({ key, facts, visibilityBits, bodies_, seen, watcher }) {
    facts.page.visibility = VISIBILITY[visibilityBits];
    // Of a body with branches, another script may have read one ahead of the app.
    facts.observed = bodies_ > 1 ? "arrival" : seen & NEEDS_FULL_WASM ? "chunks" : undefined;
    const json = JSON.stringify({ ...facts, ...watcher.report(key) });
    facts.rev++;
    return json;
  }

  /** The first end counts. A stream that waits for the full watcher ends later, unless this is the `last` chance. */
  function end(stream, time, how, last) {
    if (!streams.has(stream)) return;
    flushBatch();
    tell(stream, "end", time, how);
    stream.ended = time;
    if (stream.replay && stream.seen & NEEDS_FULL_WASM && !last) return;
    stream.facts.open = undefined;
    const json = report(stream);
    forget(stream);
    outbox.push(lazyReport(() => enrich(stream, json, true)), time);
    onEnd(() => enrich(stream, json));
  }

  function forget(stream) {
    stream.signal?.removeEventListener?.("abort", stream.onAbort);
    streams.delete(stream);
    stream.replay = undefined;
    // Chunks that come later are to be turned away.
    stream.seen = 0;
    stream.watcher.forget(stream.key);
  }

  function setHidden(hidden) {
    visibilityBits = hidden ? 2 : 1;
    for (const stream of streams) stream.visibilityBits |= visibilityBits;
  }

  /**
   * Makes everything due, as the page may be on its way out. `how` is the reason why nothing more will be seen; of an
   * unread response nothing ever was. `left` is the time since when the page navigates away: Firefox and WebKit cut
   * its streams then, seconds before `pagehide`.
   */
  function flushSoon(time, how, left) {
    for (const stream of streams) {
      stream.left = left ?? stream.left;
      if (how) end(stream, time, stream.answered ? ends.UNSEEN : how, true);
      else stream.due = time;
    }
    outbox.flushSoon(time);
  }

  /** What the collector is to get of an open stream: nothing while its response lies there unread. */
  function openReport(stream) {
    flushBatch();
    return stream.answered ? "" : enrich(stream, report(stream), true);
  }

  /** When something is due to be sent; `Infinity`: not before something happens. */
  function next() {
    return outbox.next(Math.min(readAt, ...[...streams].map(({ due }) => due)));
  }

  /**
   * The next body to send, if anything is due. The caller owes `answered` for it, unless it goes `blindly`, as the
   * page is left: then it calls until there is none.
   */
  function body(now, blindly) {
    flushBatch();
    readAt = Infinity;
    for (const stream of streams)
      // A body that went elsewhere, to another `Response` or a worker, is never seen to end.
      if (now - stream.answered > UNREAD_MS) end(stream, now, ends.UNSEEN);
      // Some clients stop at the end marker: they neither read on nor cancel.
      else if (stream.seen & END_MARKER && now - stream.read >= LINGER_MS) end(stream, stream.read, ends.CANCELLED);
    if (!blindly && next() > now) return;
    return outbox.body(blindly, (add) => {
      for (const stream of streams) if (stream.due <= now && add(openReport(stream))) stream.due = now + INTERIM_MS;
    });
  }
}

/** A GET that is not allowed (405) only asked whether there is a stream, as clients of MCP do. */
function isBodiless(method = "get", status) {
  return BODILESS.includes(status) || /^head$/i.test(method) || (status == 405 && /^get$/i.test(method));
}

function failureOf(signal, error) {
  const name = (signal?.aborted ? signal.reason : error)?.name;
  if (name == "TimeoutError") return ends.TIMED_OUT;
  return signal?.aborted || name == "AbortError" ? ends.ABORTED : ends.FAILED;
}

/** A reader that brings its own buffer may get other views than bytes. */
function bytesOf(value) {
  if (value?.byteLength >= 0) return new Uint8Array(value.buffer ?? value, value.byteOffset, value.byteLength);
}

function randomId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => (byte + 256).toString(16).slice(1)).join("");
}

/** A report for the outbox that turns into its JSON when it is sent. */
function lazyReport(toString) {
  return { toString };
}
