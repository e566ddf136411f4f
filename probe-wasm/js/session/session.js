// All streams of a page: the tap's moments come in, reports for callbacks and bodies for the
// collector go out. A watcher, compiled or not, makes the reports.

import * as ends from "./end-reasons.js";
import { contentKindOf } from "../tap/content-types.js";
import { CANCELLED, CHUNK, CLOSED, FAILED, HEADERS, OPEN, READ, WHOLE } from "../tap/tap-events.js";
import { DELAY_MS, createOutbox } from "./outbox.js";
import { NEEDS_FULL_WASM, END_MARKER, FIRST_TOKEN, FIRST_VISIBLE } from "./progress-flags.js";

const MAX_OPEN = 100;
/** How often the collector hears of a stream that stays open. */
const INTERIM_MS = 15_000;
/** How long a response may lie unread before its stream is given up. */
const UNREAD_MS = 60_000;
/** How long after the end marker a server may still close: some clients stop there, and tell nobody. */
const LINGER_MS = 5000;
/** A stream that brings something later than this has outlived the page's setting out. */
const CUT_MS = 1000;

/** How many bytes of chunks may wait to be read together. One by one, each finds cold what reads it. */
const PILE_BYTES = 16_384;

/** How many bytes of a stream are held until it is known that it does not take the larger probe to read it. */
const HELD_BYTES = 262_144;

/** How the page was while a stream ran, a bit each: visible, hidden. */
const VISIBILITY = [, "visible", "hidden", "mixed"];

/**
 * `describe` says what a report has of the page and of the model that a request names. `guard` runs what
 * others call, `onFirst` and `onEnd` get what makes the JSON of a report. `enrich` gives back what a stream's JSON
 * is to be, as late as it can, since some things are known only after the end; and where it `goes` to the
 * collector, what that gets: an empty text is nothing. `enlarge` calls back with the watcher that reads every
 * stream, or with one that does not where the page cannot have it.
 */
export function createSession(watcher, describe, guard, onFirst, onEnd, enrich, enlarge) {
  /** The open streams of the tap, the oldest first. */
  const streams = new Set();
  const outbox = createOutbox();
  let heldBytes = enlarge ? HELD_BYTES : 0;
  /** The chunks that wait, as stream, time and where in `piled` each ends. */
  const pile = [];
  const piled = new Uint8Array(PILE_BYTES);
  let piledBytes = 0;
  /** When they are read at the latest. */
  let readAt = Infinity;
  let keys = 0;
  let shown = 0;

  return {
    take,
    look,
    hurry,
    next,
    body,
    standing: () => [...streams].map(standing),
    answered: outbox.answered,
    lost: (count) => outbox.drop("early", count),
  };

  /** True where nothing is due earlier than before. */
  function take(stream, moment, value, time) {
    // The usual case comes first and goes no further. Once text was seen, all that is awaited is the end: a chunk
    // may wait. Extensions look at each chunk of their own streams as it comes.
    if (
      moment == CHUNK &&
      stream.seen & FIRST_VISIBLE &&
      stream.bodies &&
      value.byteLength == value.length &&
      piledBytes + value.length <= PILE_BYTES
    ) {
      // The page may transfer the buffer.
      piled.set(value, piledBytes);
      pile.push([stream, (stream.read = time), (piledBytes += value.length)]);
      return readAt < Infinity || !(readAt = time + DELAY_MS);
    }
    const { signal } = stream;
    if (moment != OPEN && !streams.has(stream)) return;
    switch (moment) {
      case OPEN:
        return open(stream);
      case HEADERS:
        // Such an answer has no body, whatever its type says: there is nothing to see.
        // One that is opaque, of status 0, shows nothing at all. And a GET that is not allowed asked whether there
        // is a stream, as clients of MCP do.
        if (/head|^(get)?,405|20[245]|304|,0/i.test([stream.method, value.status])) break;
        // It lies there unread, until the app asks for it.
        stream.answered = time;
        return tell(stream, "headers", time, value.status, contentKindOf(value.headers.get("content-type")));
      case READ:
        stream.answered = undefined;
        return;
      case CHUNK:
        stream.read = time;
        readPile();
        return chunk(stream, time, bytesOf(value));
      case CLOSED:
        return end(stream, time, ends.CLOSED);
      case CANCELLED:
        return end(stream, time, signal?.aborted ? whyFailed(signal) : ends.CANCELLED);
      case FAILED:
        return end(stream, time, stream.left + CUT_MS > (stream.read | 0) ? ends.PAGE_GONE : whyFailed(signal, value));
      case WHOLE:
        readLate();
        const bytes = typeof value == "string" ? new TextEncoder().encode(value) : bytesOf(value);
        // Of a body with branches another one may have been read in part.
        if (bytes) chunk(stream, time, bytes.subarray(stream.watcher.report(stream.key).bytes));
        return end(stream, time, bytes ? ends.CLOSED : ends.UNSEEN);
    }
    // It is no stream: `FORGET` says so as well.
    forget(stream);
  }

  /** Too many at once: the oldest is reported as it is, and no more is seen of it. */
  function open(stream) {
    const { time, signal, model, submit } = stream;
    for (const oldest of streams) if (streams.size >= MAX_OPEN) end(oldest, time, ends.UNSEEN, true);
    stream.key = ++keys;
    stream.shown = shown;
    stream.facts = { v: 1, id: randomId(), rev: 0, open: true, ...describe(model) };
    stream.due = time + INTERIM_MS;
    streams.add(stream);
    stream.watcher = watcher;
    stream.told = [];
    stream.room = heldBytes;
    tell(stream, "open", time, submit);
    // An app that has stopped reading learns of an abort nowhere else.
    stream.onAbort = () => guard(() => end(stream, performance.now(), whyFailed(signal)));
    signal?.addEventListener?.("abort", stream.onAbort);
  }

  /** Until it is known that the watcher can read a stream, what it was told is held for another one. */
  function tell(stream, call, time, value, type) {
    stream.told?.push(() => tell(stream, call, time, value, type));
    return stream.watcher[call](stream.key, time, value, type);
  }

  /** Reads a chunk. True where nothing is due earlier than before. */
  function chunk(stream, time, bytes) {
    const before = stream.seen;
    if (before & FIRST_TOKEN || (stream.room -= bytes.length) < 0) stream.told = undefined;
    const copy = stream.told && bytes.slice();
    stream.told?.push(() => chunk(stream, time, copy));
    stream.seen = stream.watcher.chunk(stream.key, time, bytes);
    const news = stream.seen & ~before;
    if (news & NEEDS_FULL_WASM && stream.told) enlarge((made) => enlarged(stream, made));
    if (!(news & (FIRST_TOKEN | END_MARKER))) return true;
    // What follows an end marker follows soon.
    stream.due = time + (news & END_MARKER ? LINGER_MS + DELAY_MS : DELAY_MS);
    if (news & FIRST_TOKEN) onFirst(() => report(stream));
  }

  function readPile() {
    let from = (piledBytes = 0);
    for (const [stream, time, to] of pile.splice(0)) chunk(stream, time, piled.subarray(from, (from = to)));
  }

  /** The same where no chunk comes, before anything else is asked of a watcher or told to it; `late` is how long it took. */
  function readLate() {
    if (!piledBytes) return;
    const begun = performance.now();
    const [newest] = pile.at(-1);
    readPile();
    newest.late = (newest.late ?? 0) + performance.now() - begun;
  }

  /** The larger watcher is there, or cannot be: what waited for it goes on. */
  function enlarged(stream, made) {
    const { told, ended } = stream;
    stream.told = undefined;
    if (made.memory) {
      watcher = made;
      heldBytes = 0;
      if (told && streams.has(stream)) {
        stream.watcher.forget(stream.key);
        stream.watcher = made;
        for (const again of told) again();
      }
    }
    if (ended) end(stream, ended);
  }

  /** The stream's JSON as it is now, each a later revision than the one before. */
  function report({ key, facts, shown, bodies, seen, watcher }) {
    facts.page.visibility = VISIBILITY[shown];
    // Of a body with branches, another script may have read one ahead of the app.
    facts.observed = bodies > 1 ? "arrival" : seen & NEEDS_FULL_WASM ? "chunks" : undefined;
    const json = JSON.stringify({ ...facts, ...watcher.report(key) });
    facts.rev++;
    return json;
  }

  /** The first end counts. What waits to be read by the larger probe waits no longer where it is the `last` chance. */
  function end(stream, time, how, last) {
    if (!streams.has(stream)) return;
    readLate();
    tell(stream, "end", time, how);
    stream.ended = time;
    if (stream.told && stream.seen & NEEDS_FULL_WASM && !last) return;
    stream.facts.open = undefined;
    const json = report(stream);
    const toString = () => enrich(stream, json, true);
    forget(stream);
    outbox.push({ toString }, time);
    onEnd(() => enrich(stream, json));
  }

  function forget(stream) {
    stream.signal?.removeEventListener?.("abort", stream.onAbort);
    streams.delete(stream);
    stream.told = undefined;
    // What comes later is to be turned away.
    stream.seen = 0;
    stream.watcher.forget(stream.key);
  }

  /** The page is seen, or hidden. */
  function look(hidden) {
    shown = hidden ? 2 : 1;
    for (const stream of streams) stream.shown |= shown;
  }

  /**
   * Makes everything due: the page may be on its way out. `how` says why nothing more will be seen; of an
   * answer that nobody read nothing ever was. `left`: since when it sets out for another; Firefox and WebKit cut
   * its streams then, seconds before `pagehide`.
   */
  function hurry(time, how, left) {
    for (const stream of streams) {
      stream.left = left ?? stream.left;
      if (how) end(stream, time, stream.answered ? ends.UNSEEN : how, true);
      else stream.due = time;
    }
    outbox.hurry(time);
  }

  /** What the collector is to get of an open stream: nothing while an answer lies there unread. */
  function standing(stream) {
    readLate();
    return stream.answered ? "" : enrich(stream, report(stream), true);
  }

  /** When something is due to be sent; `Infinity`: not before something happens. */
  function next() {
    return outbox.next(Math.min(readAt, ...[...streams].map(({ due }) => due)));
  }

  /**
   * The next body to send, if anything is due. `answered` is owed for it, unless it goes `blindly`,
   * as the page is left: then call until there is none.
   */
  function body(now, blindly) {
    readLate();
    readAt = Infinity;
    for (const stream of streams)
      // A body that went elsewhere, to another `Response` or a worker, is never seen to end.
      if (now - stream.answered > UNREAD_MS) end(stream, now, ends.UNSEEN);
      // Some clients stop at the end marker: they neither read on nor cancel.
      else if (stream.seen & END_MARKER && now - stream.read >= LINGER_MS) end(stream, stream.read, ends.CANCELLED);
    if (!blindly && next() > now) return;
    return outbox.body(blindly, (add) => {
      for (const stream of streams) if (stream.due <= now && add(standing(stream))) stream.due = now + INTERIM_MS;
    });
  }
}

function whyFailed(signal, error) {
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
