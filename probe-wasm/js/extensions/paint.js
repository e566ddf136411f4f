// When the user could see the first text: the first frame after it is in the page. The output is an element that the
// app names, or the one in which most of the text grows while the response begins.

import { END_MARKER, FIRST_TOKEN, FIRST_VISIBLE, NEEDS_FULL_WASM } from "../session/progress-flags.js";
import { CHUNK, CLOSED } from "../tap/tap-events.js";
import { roundMs } from "./round-ms.js";
import { firstGrowth, firstGrowthIn, isSeen, record } from "./text-growth.js";

/** Text that is not in the page by then was not shown as it came. */
const SEARCH_MS = 3000;
/** A stream whose first text is reported later than this began before the search. */
const REPORTED_MS = 20;
/**
 * How late a stream's first visible text may be reported: changes of the page before it are forgotten. And how soon a
 * page that is not busy shows it.
 */
const LATE_MS = 250;

/** Adds `ttfp_ms` to reports, and `watchOutput(element)` to the probe. */
export const paint = () => (core) => {
  // A worker shows nothing.
  if (!globalThis.document) return {};
  const outputs = new Set();
  /** The searches of open streams, and of those whose output is not found yet; these have `records`. */
  const searches = new Set();
  /** The search whose text grew in an output. */
  const owners = new WeakMap();
  const observer = new MutationObserver((changes) => core.guard(() => onChanges(changes)));
  const { port1, port2 } = new MessageChannel();
  /** The next frame, once something has changed, and those that have begun and are being presented. */
  let frame;
  const begun = [];
  /** Another object each time the page is hidden: no user waited for a frame of the time before. */
  let sight = {};

  // A frame's own time is its start, before the text was there. What is posted in it comes after it.
  port1.onmessage = () => core.guard(onPresented);
  document.addEventListener("visibilitychange", onVisibilityChange, true);
  core.probe.watchOutput = (element) => {
    outputs.add(element);
    core.guard(() => searches.forEach((search) => search.records && watch(search, element, element.textContent)));
    return () => outputs.delete(element);
  };

  return {
    onEvent(stream, event, value, time) {
      const { seen } = stream;
      if (event == CHUNK && seen & (FIRST_TOKEN | NEEDS_FULL_WASM)) stream.paint ??= begin(stream, time);
      const { paint: search } = stream;
      if (!search) return;
      if (seen & FIRST_VISIBLE && !search.since) expect(search, (search.since = time));
      if (event < CLOSED && !(seen & END_MARKER)) return;
      search.over = time;
      if (!search.since) finish(search);
    },
    addFields(report, { paint: search, time }) {
      const from = time + report.ttfv_ms;
      // A stream that was open already began before the search.
      if (!(from > search?.since - 1)) return;
      if (!search.from) expect(search, from);
      const at = (search.records ? firstOf(search)?.frame : search.frame)?.at;
      if (at) report.ttfp_ms = roundMs(at - time);
    },
    stop() {
      document.removeEventListener("visibilitychange", onVisibilityChange, true);
      searches.forEach(finish);
    },
  };

  /**
   * Begins to search at `time`, as a stream's first text comes. Where the full Wasm is still to come, any text `since`
   * then may be the first, and a report tells `from` when on it was.
   */
  function begin(stream, time) {
    const now = performance.now();
    const records = now - time < REPORTED_MS ? [] : undefined;
    const since = stream.seen & NEEDS_FULL_WASM ? time : undefined;
    const search = { records, stream, known: new WeakMap(), since };
    for (const other of searches) {
      const { seen, read } = other.stream;
      // Some apps stop reading at the end marker, or before, without a cancel.
      if (other.over || seen & END_MARKER || now - read > SEARCH_MS) {
        other.over = true;
        finish(other);
      } else {
        // Two streams at once: only the app can say which text is whose, unless one has begun to grow.
        search.mixed = true;
        other.mixed ||= !(other.outputs && firstOf(other));
      }
    }
    searches.add(search);
    if (records) {
      observe(document);
      outputs.forEach((output) => watch(search, output));
    }
    return search;
  }

  /** The element is an output of that stream, unless it is another's. */
  function watch(search, element, full) {
    search.outputs ??= new Map();
    if (search.outputs.has(element) || searches.has(owners.get(element))) return;
    search.outputs.set(element, !!full);
    observe(element);
  }

  /** To observe again what is observed changes nothing. An output may lie where the document does not see. */
  function observe(target) {
    observer.observe(target, { subtree: true, childList: true, characterData: true, characterDataOldValue: true });
  }

  function expect(search, time) {
    search.from = time;
    search.records?.forEach((change) => (change.late ||= change.time > time + LATE_MS));
    // A page that is busy until then is not idle.
    setTimeout(() => (window.requestIdleCallback ?? setTimeout)(() => (search.late = true)), LATE_MS);
  }

  function onChanges(changes) {
    const now = performance.now();
    if (!frame) {
      frame = { sight: !document.hidden && sight };
      requestAnimationFrame(() => {
        begun.push(frame);
        frame = undefined;
        port2.postMessage(0);
      });
    }
    for (const search of searches) {
      const { records, since, from, over, late } = search;
      if (now - (from || over) > SEARCH_MS) finish(search);
      else if (records) {
        while (!from && records[0]?.time < now - (since ? SEARCH_MS : LATE_MS)) records.shift();
        record(records, changes, { frame, late });
      }
    }
  }

  function onPresented() {
    const latest = begun.shift();
    if (latest.sight == sight) latest.at = performance.now();
    for (const search of searches)
      search.records = search.records?.filter((change) => change.frame != latest || isSeen(change, search.known));
  }

  function onVisibilityChange() {
    if (document.hidden) sight = {};
  }

  /** The change that brought the first text of that stream. */
  function firstOf(search) {
    const { records, outputs, mixed, from } = search;
    const after = records.filter(({ time }) => time >= from);
    if (!outputs) return mixed ? undefined : firstGrowth(after);
    const found = firstGrowthIn(outputs, after, mixed);
    if (found) owners.set(found.output, search);
    return found;
  }

  /** Ends the search, and keeps nothing of the page. */
  function finish(search) {
    if (search.records) search.frame = firstOf(search)?.frame;
    search.records = search.outputs = undefined;
    if (search.over) searches.delete(search);
    if (![...searches].some(({ records }) => records)) observer.disconnect();
  }
};
