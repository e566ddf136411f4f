// When the user could see the first text: the first frame after it is in the page. The output is an
// element that the app names, or the one in which most of the text grows while the answer begins.

import { CHUNK, CLOSED } from "../tap/tap-events.js";
import { NEEDS_FULL_WASM, END_MARKER, FIRST_TOKEN, FIRST_VISIBLE } from "../session/progress-flags.js";
import { firstGrowth, firstGrowthIn, isSeen, record } from "./text-growth.js";
import { thousandths } from "./round-ms.js";

/** Text that is not in the page by then was not shown as it came. */
const LOOK_MS = 3000;
/** A stream that is told later than this began while nobody looked. */
const TOLD_MS = 20;
/**
 * How late a stream's first visible text may be told: what changed the page before it is forgotten. And how soon
 * a page that is not busy shows it.
 */
const LATE_MS = 250;

/** Adds `ttfp_ms` to reports, and `watchOutput(element)` to the probe. */
export const paint = () => (core) => {
  // A worker shows nothing.
  if (!globalThis.document) return {};
  const outputs = new Set();
  /** Of the streams that are under way, and of those whose output is still looked for, which have `records`. */
  const looks = new Set();
  /** Whose text grew in an output. */
  const owners = new WeakMap();
  const observer = new MutationObserver((changes) => core.guard(() => changed(changes)));
  const { port1, port2 } = new MessageChannel();
  /** The next frame, once something has changed, and those that have begun and are being presented. */
  let frame;
  const begun = [];
  /** Until the page was hidden: a frame that comes after that was awaited by nobody. */
  let sight = {};

  // A frame's own time is its start, before the text was there. What is posted in it comes after it.
  port1.onmessage = () => core.guard(presented);
  document.addEventListener("visibilitychange", hide, true);
  core.probe.watchOutput = (element) => {
    outputs.add(element);
    core.guard(() => looks.forEach((look) => look.records && watch(look, element, element.textContent)));
    return () => outputs.delete(element);
  };

  return {
    saw(stream, moment, value, time) {
      const { seen } = stream;
      if (moment == CHUNK && seen & (FIRST_TOKEN | NEEDS_FULL_WASM)) stream.paint ??= begin(stream, time);
      const { paint: look } = stream;
      if (!look) return;
      if (seen & FIRST_VISIBLE && !look.since) expect(look, (look.since = time));
      if (moment < CLOSED && !(seen & END_MARKER)) return;
      look.over = time;
      if (!look.since) finish(look);
    },
    add(report, { paint: look, time }) {
      const from = time + report.ttfv_ms;
      // A stream that was under way already began while nobody looked.
      if (!(from > look?.since - 1)) return;
      if (!look.from) expect(look, from);
      const at = (look.records ? firstOf(look)?.frame : look.frame)?.at;
      if (at) report.ttfp_ms = thousandths(at - time);
    },
    stop() {
      document.removeEventListener("visibilitychange", hide, true);
      looks.forEach(finish);
    },
  };

  /**
   * Begins to look at `time`, as a stream's first text comes. Where what reads it is still to come, any text `since`
   * then may be its first, and a report tells `from` when on it was.
   */
  function begin(stream, time) {
    const now = performance.now();
    const records = now - time < TOLD_MS ? [] : undefined;
    const look = { records, stream, known: new WeakMap(), since: stream.seen & NEEDS_FULL_WASM ? time : undefined };
    for (const other of looks) {
      const { seen, read } = other.stream;
      // Some apps stop reading at the end marker, or before, and tell nobody.
      if (other.over || seen & END_MARKER || now - read > LOOK_MS) {
        other.over = true;
        finish(other);
      } else {
        // Two answers at once: only the app can say which text is whose. Where one has begun to grow is known.
        look.mixed = true;
        other.mixed ||= !(other.outputs && firstOf(other));
      }
    }
    looks.add(look);
    if (records) {
      observe(document);
      outputs.forEach((output) => watch(look, output));
    }
    return look;
  }

  /** It is an output of that answer, unless it is another's. */
  function watch(look, element, full) {
    look.outputs ??= new Map();
    if (look.outputs.has(element) || looks.has(owners.get(element))) return;
    look.outputs.set(element, !!full);
    observe(element);
  }

  /** Observing again what is observed changes nothing. An output may lie where the document does not see. */
  function observe(target) {
    observer.observe(target, { subtree: true, childList: true, characterData: true, characterDataOldValue: true });
  }

  function expect(look, time) {
    look.from = time;
    look.records?.forEach((change) => (change.late ||= change.time > time + LATE_MS));
    // A page that is busy until then is not idle.
    setTimeout(() => (window.requestIdleCallback ?? setTimeout)(() => (look.late = true)), LATE_MS);
  }

  function changed(changes) {
    const now = performance.now();
    if (!frame) {
      frame = { moment: !document.hidden && sight };
      requestAnimationFrame(() => {
        begun.push(frame);
        frame = undefined;
        port2.postMessage(0);
      });
    }
    for (const look of looks) {
      const { records, since, from, over, late } = look;
      if (now - (from || over) > LOOK_MS) finish(look);
      else if (records) {
        while (!from && records[0]?.time < now - (since ? LOOK_MS : LATE_MS)) records.shift();
        record(records, changes, { frame, late });
      }
    }
  }

  function presented() {
    const latest = begun.shift();
    if (latest.moment == sight) latest.at = performance.now();
    for (const look of looks)
      look.records = look.records?.filter((change) => change.frame != latest || isSeen(change, look.known));
  }

  function hide() {
    if (document.hidden) sight = {};
  }

  /** The change that brought the first text of that answer. */
  function firstOf(look) {
    const { records, outputs, mixed, from } = look;
    const after = records.filter(({ time }) => time >= from);
    if (!outputs) return mixed ? undefined : firstGrowth(after);
    const found = firstGrowthIn(outputs, after, mixed);
    if (found) owners.set(found.output, look);
    return found;
  }

  /** Nothing is kept of the page. */
  function finish(look) {
    if (look.records) look.frame = firstOf(look)?.frame;
    look.records = look.outputs = undefined;
    if (look.over) looks.delete(look);
    if (![...looks].some(({ records }) => records)) observer.disconnect();
  }
};
