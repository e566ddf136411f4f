// When the user could see the first text: the first frame after it is in the page. The output is an
// element that the app names, or the one in which most of the text grows while the answer begins.

import { CHUNK, CLOSED } from "../moments.js";
import { END_MARKER, FIRST_TOKEN, FIRST_VISIBLE } from "../seen.js";
import { frameOfGrowth, record } from "./growth.js";
import { thousandths } from "./thousandths.js";

/** Text that is not in the page by then was not shown as it came. */
const LOOK_MS = 3000;
/** A stream that is told later than this began while nobody looked. */
const TOLD_MS = 20;
/** How late a stream's first visible text may be told: what changed the page before it is forgotten. */
const LATE_MS = 250;

/** Adds `ttfp_ms` to reports, and `watchOutput(element)` to the probe. */
export const paint = () => (core) => {
  // A worker shows nothing.
  if (!globalThis.document) return {};
  const outputs = new Set();
  const looks = new Set();
  const observer = new MutationObserver((changes) => core.guard(() => changed(changes)));
  const { port1, port2 } = new MessageChannel();
  /** The next frame, once something has changed, and those that have begun and are being presented. */
  let frame;
  const begun = [];
  /** Until the page was hidden: a frame that comes after that was awaited by nobody. */
  let sight = {};

  // A frame's own time is its start, before the text was there. What is posted in it comes after it.
  port1.onmessage = () => {
    const presented = begun.shift();
    if (presented.sight == sight) presented.at = performance.now();
  };
  document.addEventListener("visibilitychange", hide, true);
  core.probe.watchOutput = (element) => {
    outputs.add(element);
    return () => outputs.delete(element);
  };

  return {
    saw(stream, moment, value, time) {
      if (moment == CHUNK && stream.seen & FIRST_TOKEN) stream.paint ??= begin(performance.now() - time < TOLD_MS);
      const { paint: look, seen } = stream;
      if (!look) return;
      if (moment == CHUNK && seen & FIRST_VISIBLE) look.from ??= time;
      // Some apps stop reading at the end marker, and tell nobody.
      if (moment < CLOSED && !(seen & END_MARKER)) return;
      look.over = true;
      if (!look.from) finish(look);
    },
    add(report, { paint: look, time }) {
      // A stream that was under way already began while nobody looked.
      if (!look || !(Math.abs(look.from - time - report.ttfv_ms) < 1)) return;
      const at = (look.records ? paintOf(look) : look.frame)?.at;
      if (at) report.ttfp_ms = thousandths(at - time);
    },
    stop() {
      document.removeEventListener("visibilitychange", hide, true);
      looks.forEach(finish);
    },
  };

  function begin(inTime) {
    if (!inTime) return {};
    const look = { records: [], watched: outputs.size > 0 };
    for (const other of looks)
      if (other.over) finish(other);
      // Two answers at once: only the app can say which text is whose.
      else other.mixed = look.mixed = true;
    looks.add(look);
    if (looks.size == 1) observe(document);
    if (look.watched) outputs.forEach(observe);
    return look;
  }

  /** Observing again what is observed changes nothing. An output may lie where the document does not see. */
  function observe(target) {
    observer.observe(target, { subtree: true, childList: true, characterData: true, characterDataOldValue: true });
  }

  function changed(changes) {
    const now = performance.now();
    if (!frame) {
      frame = { sight: !document.hidden && sight };
      requestAnimationFrame(() => {
        begun.push(frame);
        frame = undefined;
        port2.postMessage(0);
      });
    }
    for (const look of looks) {
      const { records, watched, from } = look;
      if (now - from > LOOK_MS) {
        finish(look);
        continue;
      }
      while (!from && records[0]?.time < now - LATE_MS) records.shift();
      record(records, changes, frame, (element) => !watched || [...outputs].some((output) => output.contains(element)));
    }
  }

  function hide() {
    if (document.hidden) sight = {};
  }

  function paintOf({ records, watched, mixed, from }) {
    const after = records.filter(({ time }) => time >= from);
    if (watched) return after.find(({ chars }) => chars > 0)?.frame;
    return mixed ? undefined : frameOfGrowth(after);
  }

  /** Nothing is kept of the page. */
  function finish(look) {
    if (look.records) look.frame = paintOf(look);
    look.records = undefined;
    looks.delete(look);
    if (!looks.size) observer.disconnect();
  }
};
