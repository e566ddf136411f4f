// Searches the changes of the page for the first text of each open stream.

import { END_MARKER, NEEDS_FULL_WASM } from "../session/progress-flags.js";
import { FrameClock } from "./frame-clock.js";
import { firstGrowth, firstGrowthIn, isSeen, record, TEXT_CHANGES } from "./text-growth.js";

/** Text that is not in the page by then was not shown as it came. */
const SEARCH_MS = 3000;
/** A stream whose first text is reported later than this began before the search. */
const REPORTED_MS = 20;
/**
 * Longest delay between a stream's first visible text and the report of it: older changes of the page are forgotten. A
 * page that is not busy shows the text within the same time.
 */
const LATE_MS = 250;

export class PaintSearches {
  /** Elements in which the app shows responses. */
  #outputs = new Set();
  /** Searches of open streams, and of ended ones whose output is not found yet. Only these have `records`. */
  #searches = new Set();
  /** The search whose text grew in an output. */
  #owners = new WeakMap();
  #observer;
  #frames;

  constructor(guard) {
    this.#observer = new MutationObserver((changes) => guard(() => this.#onChanges(changes)));
    this.#frames = new FrameClock(guard, (frame) => this.#onPresented(frame));
  }

  stop() {
    this.#frames.stop();
    this.#searches.forEach((search) => this.finish(search));
  }

  addOutput(element) {
    this.#outputs.add(element);
    for (const search of this.#searches) if (search.records) this.#watch(search, element, element.textContent);
  }

  removeOutput(element) {
    this.#outputs.delete(element);
  }

  /**
   * Begins a search at `time`, when a stream's first text arrives. While the full Wasm is still loading, any text
   * `since` then may be the first visible one.
   */
  begin(stream, time) {
    const now = performance.now();
    const records = now - time < REPORTED_MS ? [] : undefined;
    const since = stream.seen & NEEDS_FULL_WASM ? time : undefined;
    const search = { records, stream, known: new WeakMap(), since };
    for (const other of this.#searches) this.#separate(search, other, now);
    this.#searches.add(search);
    if (records) {
      this.#observe(document);
      for (const output of this.#outputs) this.#watch(search, output);
    }
    return search;
  }

  /** Notes the time `from` which the stream's first visible text can be in the page. */
  expect(search, from) {
    search.from = from;
    search.records?.forEach((change) => (change.late ||= change.time > from + LATE_MS));
    // A page that is busy until then is not idle.
    setTimeout(() => (window.requestIdleCallback ?? setTimeout)(() => (search.late = true)), LATE_MS);
  }

  /** The time of the frame that showed the stream's first text. `undefined` if none is known. */
  paintedAt(search) {
    return (search.records ? this.#firstChange(search)?.frame : search.frame)?.at;
  }

  /** Ends the search, and keeps nothing of the page. */
  finish(search) {
    if (search.records) search.frame = this.#firstChange(search)?.frame;
    search.records = search.outputs = undefined;
    if (search.over) this.#searches.delete(search);
    if (![...this.#searches].some(({ records }) => records)) this.#observer.disconnect();
  }

  /** Finishes the older search if its stream is over. Otherwise two streams are open, whose texts may be mixed up. */
  #separate(search, other, now) {
    const { seen, read } = other.stream;
    // Some apps stop reading at the end marker, or before, without a cancel.
    if (other.over || seen & END_MARKER || now - read > SEARCH_MS) {
      other.over = true;
      this.finish(other);
    } else {
      // Only the app can say which text is whose, unless one has begun to grow.
      search.mixed = true;
      other.mixed ||= !(other.outputs && this.#firstChange(other));
    }
  }

  /** Takes the element as an output of this stream, unless it is that of another one. */
  #watch(search, element, hasText) {
    search.outputs ??= new Map();
    if (search.outputs.has(element) || this.#searches.has(this.#owners.get(element))) return;
    search.outputs.set(element, !!hasText);
    this.#observe(element);
  }

  /** Observing a target again changes nothing. An output may be in a shadow tree, which the document does not see. */
  #observe(target) {
    this.#observer.observe(target, TEXT_CHANGES);
  }

  #onChanges(changes) {
    const now = performance.now();
    const frame = this.#frames.next();
    for (const search of this.#searches) {
      const { records, since, from, over, late } = search;
      if (now - (from || over) > SEARCH_MS) this.finish(search);
      else if (records) {
        while (!from && records[0]?.time < now - (since ? SEARCH_MS : LATE_MS)) records.shift();
        record(records, changes, { frame, late });
      }
    }
  }

  /** Drops changes of the frame that no user could see. */
  #onPresented(frame) {
    for (const search of this.#searches)
      search.records = search.records?.filter((change) => change.frame != frame || isSeen(change, search.known));
  }

  /** The change that brought the first text of the stream. */
  #firstChange(search) {
    const { records, outputs, mixed, from } = search;
    const after = records.filter(({ time }) => time >= from);
    if (!outputs) return mixed ? undefined : firstGrowth(after);
    const found = firstGrowthIn(outputs, after, mixed);
    if (found) this.#owners.set(found.output, search);
    return found;
  }
}
