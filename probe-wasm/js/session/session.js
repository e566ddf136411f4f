// All streams of a page. The tap's events go to a watcher, compiled or not, which makes the reports; reports go to
// callbacks and, in bodies of requests, to the collector.

import { contentKindOf } from "../tap/content-types.js";
import { ASKED, CANCELLED, CHUNK, CLOSED, FORGET, HEADERS, OPEN, READ, WHOLE } from "../tap/tap-events.js";
import { createChunkBatch } from "./chunk-batch.js";
import * as ends from "./end-reasons.js";
import { DELAY_MS, createOutbox } from "./outbox.js";
import { END_MARKER, FIRST_TOKEN, FIRST_VISIBLE, NEEDS_FULL_WASM } from "./progress-flags.js";
import { since } from "./since.js";

const MAX_OPEN = 100;
/** How often the collector hears of a stream that stays open. */
const INTERIM_MS = 15_000;
/** How long a stream may wait for text before the collector hears of it. Few streams of a healthy chat wait longer. */
const WAITING_MS = 3000;
/** How long a response may lie unread before its stream is given up. */
const UNREAD_MS = 60_000;
/** How long after the end marker more may come: some clients stop there without a cancel. */
const LINGER_MS = 5000;
/** Data this long after `beforeunload` means that the navigation was cancelled. */
const CUT_MS = 1000;

/** How many bytes of a stream are kept for a replay, until it is known that it does not need the full Wasm. */
const REPLAY_BYTES = 262_144;

/** How the page was while a stream ran, a bit each: visible, hidden. */
const VISIBILITY = [, "visible", "hidden", "mixed"];

/** Statuses of responses without a body, whatever their type is; 0 is opaque and shows nothing. */
const BODILESS = [0, 202, 204, 205, 304];

export class Session {
  /** The open streams of the tap, the oldest first. */
  #streams = new Set();
  #outbox = createOutbox();
  answered = this.#outbox.answered;
  #batch = createChunkBatch((stream, time, bytes) => this.#readChunk(stream, time, bytes));
  /** When the batch is read at the latest. */
  #readAt = Infinity;
  #keys = 0;
  #visibilityBits = 0;
  #watcher;
  #replayBytes;
  #page;

  /**
   * `page` has these functions. `describe` returns what a report says of the page and of the model that a request
   * names. `guard` runs jobs of browsers' callbacks. `onFirst` and `onEnd` get a function that makes the JSON of a
   * report. `enrich` returns what a stream's JSON is to be, as late as it can, since some things are known only after
   * the end; with `goes`, what the collector gets of it: an empty text is nothing. `loadFull` calls back with the
   * watcher that reads every stream, or with the fallback where the page cannot have it. `formats` are those that the
   * app describes, in JSON.
   */
  constructor(watcher, page) {
    this.#watcher = watcher;
    this.#page = page;
    this.#replayBytes = page.loadFull ? REPLAY_BYTES : 0;
  }

  /** True where nothing is due earlier than before. */
  take(stream, event, value, time) {
    // After a step back of the clock, the end is not before the text.
    if (event == CHUNK && !(time < stream.read)) stream.read = time;
    // The usual case comes first and goes no further.
    if (event == CHUNK && mayWait(stream, value) && this.#batch.add(stream, time, value)) return this.#isReadDue(time);
    if (event == OPEN) return this.#open(stream);
    if (!this.#streams.has(stream)) return;
    switch (event) {
      case HEADERS:
        return this.#takeHeaders(stream, value, time);
      case READ:
        stream.answered_ = undefined;
        return;
      case CHUNK:
        this.#batch.readAll();
        return this.#readChunk(stream, time, bytesOf(value));
      case WHOLE:
        return this.#readWhole(stream, time, value);
      case ASKED:
        return tell(stream, "context", value.number, value.engineIo, value.question);
      case FORGET:
        // It is no stream.
        return this.#forget(stream);
    }
    this.#end(stream, time, endReasonOf(stream, event, value));
  }

  /** Reports count what had to be dropped before there was a session. */
  countLost(count) {
    this.#outbox.drop("early", count);
  }

  setHidden(hidden) {
    this.#visibilityBits = 1 + hidden;
    for (const stream of this.#streams) stream.visibilityBits_ |= this.#visibilityBits;
  }

  /**
   * Makes everything due, as the page may be on its way out. `how` is the reason why nothing more will be seen; of an
   * unread response nothing ever was. `left` is the time since when the page navigates away: Firefox and WebKit cut
   * its streams then, seconds before `pagehide`.
   */
  flushSoon(time, how, left) {
    for (const stream of this.#streams) {
      stream.left_ = left ?? stream.left_;
      if (how) this.#end(stream, time, stream.answered_ ? ends.UNSEEN : how, true);
      else stream.due_ = time;
    }
    this.#outbox.flushSoon(time);
  }

  /** When something is due to be sent; `Infinity`: not before something happens. */
  next() {
    return this.#outbox.next(Math.min(this.#readAt, ...[...this.#streams].map(({ due_ }) => due_)));
  }

  /**
   * The next body to send, if anything is due. The caller owes `answered` for it, unless it goes `blindly`, as the
   * page is left: then it calls until there is none.
   */
  body(now, blindly) {
    this.#batch.readTimed();
    this.#readAt = Infinity;
    this.#endSilentStreams(now);
    if (!blindly && this.next() > now) return;
    return this.#outbox.body(blindly, (add) => {
      for (const stream of this.#streams)
        if (stream.due_ <= now && add(() => this.#openReport(stream))) stream.due_ = now + INTERIM_MS;
    });
  }

  openReports() {
    return [...this.#streams].map((stream) => this.#openReport(stream));
  }

  #isReadDue(time) {
    if (this.#readAt < Infinity) return true;
    this.#readAt = time + DELAY_MS;
  }

  /** Opens a stream. With too many at once, the oldest is reported as it is, and no more is seen of it. */
  #open(stream) {
    const { time, signal, model, own_, submit } = stream;
    const [oldest] = this.#streams;
    if (this.#streams.size >= MAX_OPEN) this.#end(oldest, time, ends.UNSEEN, true);
    stream.key = ++this.#keys;
    stream.visibilityBits_ = this.#visibilityBits;
    stream.facts_ = { v: 1, id: randomId(), rev: 0, ...this.#page.describe(model, own_) };
    this.#streams.add(stream);
    stream.due_ = time + WAITING_MS;
    stream.watcher = this.#watcher;
    stream.replay_ = [];
    stream.replayBytes_ = this.#replayBytes;
    tell(stream, "open", time, submit);
    // A tap sees an abort only if the app still reads.
    stream.onAbort_ = () => this.#page.guard(() => this.#end(stream, performance.now(), failureOf(signal)));
    signal?.addEventListener?.("abort", stream.onAbort_);
  }

  #takeHeaders(stream, { status, headers, url = stream.url }, time) {
    if (isBodiless(stream.method, status)) return this.#forget(stream);
    // The body lies there unread until the app asks for it.
    stream.answered_ = time;
    tell(stream, "headers", time, status, contentKindOf(headers.get("content-type")));
    const { formats } = this.#page;
    if (formats) tell(stream, "context", 0, false, bytesOf(`${url}\n${formats}`));
  }

  /** Reads a chunk. True where nothing is due earlier than before. */
  #readChunk(stream, time, bytes) {
    const before = stream.seen;
    this.#keepForReplay(stream, time, bytes);
    stream.seen = stream.watcher.chunk(stream.key, time, bytes);
    const news = stream.seen & ~before;
    if (news & NEEDS_FULL_WASM && stream.replay_) this.#page.loadFull((made) => this.#handOver(stream, made));
    const isOver = stream.seen & END_MARKER && !stream.toldAt_;
    if (!(news & FIRST_TOKEN || isOver)) return true;
    stream.due_ = time + DELAY_MS;
    if (news & FIRST_TOKEN) this.#page.onFirst(() => reportOf(stream, true));
  }

  #keepForReplay(stream, time, bytes) {
    stream.replayBytes_ -= bytes.length;
    if (stream.seen & FIRST_TOKEN || stream.replayBytes_ < 0) stream.replay_ = undefined;
    if (!stream.replay_) return;
    const copy = bytes.slice();
    stream.replay_.push(() => this.#readChunk(stream, time, copy));
  }

  /** Reads the rest of a body that came in one piece: another branch of it may have been read in part. */
  #readWhole(stream, time, value) {
    this.#batch.readTimed();
    const { bytes: from } = stream.watcher.report(stream.key);
    // Parsed JSON is written again: other bytes, which do not go on from those of another branch.
    const isParsed = !from && /^(Object|Array)$/.test(value?.constructor.name);
    const bytes = bytesOf(isParsed ? JSON.stringify(value) : value);
    if (bytes) this.#readChunk(stream, time, bytes.subarray(from));
    this.#end(stream, time, bytes ? ends.CLOSED : ends.UNSEEN);
  }

  /** Goes on with a stream that waited for the full watcher, which is there or cannot be had. */
  #handOver(stream, made) {
    const { replay_, ended_ } = stream;
    stream.replay_ = undefined;
    if (made.memory) {
      this.#watcher = made;
      this.#replayBytes = 0;
      if (replay_ && this.#streams.has(stream)) {
        stream.watcher.forget(stream.key);
        stream.watcher = made;
        for (const again of replay_) again();
      }
    }
    if (ended_) this.#end(stream, ended_);
  }

  /** What the collector is to get of an open stream: nothing while its response lies there unread, or is told. */
  #openReport(stream) {
    this.#batch.readTimed();
    return stream.answered_ || isTold(stream) ? "" : this.#page.enrich(stream, reportOf(stream, true), true);
  }

  /** Some streams are never seen to end. */
  #endSilentStreams(now) {
    for (const stream of this.#streams)
      // A body that went elsewhere, to another `Response` or a worker.
      if (now - stream.answered_ > UNREAD_MS) this.#end(stream, now, ends.UNSEEN);
      // Some clients stop at the end marker or an error: they neither read on nor cancel.
      else if (stream.seen & END_MARKER) {
        const { read, time, toldAt_, facts_ } = stream;
        if (now - read >= LINGER_MS) this.#end(stream, read, ends.CANCELLED, true);
        else if (now - read >= DELAY_MS && !toldAt_) {
          // If more comes, a later revision corrects it.
          facts_.close_ms = since(time, read);
          this.#pushEnd(stream, read);
          stream.toldAt_ = read;
          stream.due_ = read + LINGER_MS;
        }
      }
  }

  /**
   * The first end counts. A stream that waits for the full watcher ends later, unless this is the `last` chance: no
   * event brought it, and none will follow.
   */
  #end(stream, time, how, last) {
    if (!this.#streams.has(stream)) return;
    this.#batch.readTimed();
    if (last && isTold(stream)) return this.#forget(stream);
    tell(stream, "end", time, how);
    stream.ended_ = time;
    if (stream.replay_ && stream.seen & NEEDS_FULL_WASM && !last) return;
    this.#pushEnd(stream, time);
    this.#forget(stream);
  }

  #pushEnd(stream, time) {
    const { enrich, onEnd } = this.#page;
    const json = reportOf(stream);
    this.#outbox.push(() => enrich(stream, json, true), time);
    // A page hears of each stream once.
    if (!stream.toldAt_) onEnd(() => enrich(stream, json));
  }

  #forget(stream) {
    stream.signal?.removeEventListener?.("abort", stream.onAbort_);
    this.#streams.delete(stream);
    stream.replay_ = undefined;
    // Chunks that come later are to be turned away.
    stream.seen = 0;
    stream.watcher.forget(stream.key);
  }
}

/**
 * Once text was seen, only the end matters. Extensions look at each chunk of their own streams, which have no
 * `bodies_`, as it comes. A view of other elements than bytes is rare.
 */
function mayWait(stream, value) {
  return stream.seen & FIRST_VISIBLE && stream.bodies_ && value.byteLength == value.length;
}

/** Its end was reported, and nothing has come since. */
function isTold({ toldAt_, read }) {
  return toldAt_ >= read;
}

/** Calls the stream's watcher. The call is kept for a replay until it is known that this watcher can read it. */
function tell(stream, call, time, value, type) {
  stream.replay_?.push(() => tell(stream, call, time, value, type));
  stream.watcher[call](stream.key, time, value, type);
}

/** The stream's JSON as it is now, each a later revision than the one before. */
function reportOf({ key, facts_, visibilityBits_, bodies_, seen, watcher }, isOpen) {
  facts_.open = isOpen;
  facts_.page.visibility = VISIBILITY[visibilityBits_];
  // Of a body with branches, another script may have read one ahead of the app.
  facts_.observed = bodies_ > 1 ? "arrival" : seen & NEEDS_FULL_WASM ? "chunks" : undefined;
  const json = JSON.stringify({ ...facts_, ...watcher.report(key) });
  facts_.rev++;
  return json;
}

function isBodiless(method = "get", status) {
  // A GET that is not allowed only asked whether there is a stream, as clients of MCP do.
  const isRefusedProbe = status == 405 && /^get$/i.test(method);
  return isRefusedProbe || BODILESS.includes(status) || /^head$/i.test(method);
}

/** The reason of `ends` for a stream's last event. */
function endReasonOf({ signal, left_, read = 0 }, event, error) {
  if (event == CLOSED) return ends.CLOSED;
  if (event == CANCELLED) return signal?.aborted ? failureOf(signal) : ends.CANCELLED;
  return left_ + CUT_MS > read ? ends.PAGE_GONE : failureOf(signal, error);
}

function failureOf(signal, error) {
  const name = (signal?.aborted ? signal.reason : error)?.name;
  if (name == "TimeoutError") return ends.TIMED_OUT;
  return signal?.aborted || name == "AbortError" ? ends.ABORTED : ends.FAILED;
}

/** Bytes of a text or of any view: a reader that brings its own buffer may get others than bytes. */
function bytesOf(value) {
  if (typeof value == "string") return new TextEncoder().encode(value);
  if (value?.byteLength >= 0) return new Uint8Array(value.buffer ?? value, value.byteOffset, value.byteLength);
}

function randomId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => (0x100 + byte).toString(16).slice(1)).join("");
}
