// Moments of a stream that the app names, such as the end of a retrieval before the first token.

import { END_MARKER } from "../session/progress-flags.js";
import { CLOSED, OPEN } from "../tap/tap-events.js";
import { roundMs } from "./round-ms.js";

/** Most marks of one stream. */
const MAX_MARKS = 8;
/** More streams are never open at once. */
const MAX_STREAMS = 100;
/** A name as the collector accepts it (`NameShape::MARK` in `beacon`): no text of a user has this shape. */
const NAME = /^(?=.{1,32}$)[._:/@+~#=-]*([a-z\d]+[._:/@+~#=-]*){1,4}$/i;

/** Adds `marks` to reports, and `mark(name)` to the probe. */
export const marks = () => (core) => {
  /** The marks of each stream by its `OPEN`, the oldest stream first. */
  const open = new Map();
  const marksOf = new WeakMap();
  /** Marks from before any stream was known. */
  let unclaimed = [];

  core.probe.mark = (name) => core.guard(() => add(name));

  function add(name) {
    if (typeof name != "string" || !NAME.test(name)) return;
    const mark = { name, time: performance.now() };
    const newest = [...open.values()].at(-1);
    if (!newest) unclaimed = [...unclaimed, mark].slice(-MAX_MARKS);
    else if (newest.length < MAX_MARKS) newest.push(mark);
  }

  return {
    onEvent(stream, event, value, time) {
      if (event == OPEN) begin(stream);
      if (event >= CLOSED || stream.seen & END_MARKER) finish(stream, time);
    },
    addFields(report, stream) {
      const list = marksOf.get(stream);
      if (!list?.length) return;
      const timed = list.map(({ name, time }) => ({ name, at_ms: roundMs(time - stream.time) }));
      report.marks = timed.filter(({ at_ms }) => at_ms >= 0).slice(0, MAX_MARKS);
    },
    stop: () => open.clear(),
  };

  // Before the probe has loaded, events come late: a stream may begin or end before marks that are there already.

  function begin(stream) {
    const list = [unclaimed, ...open.values()].flatMap((older) => takeSince(older, stream.time));
    open.set(stream, list);
    marksOf.set(stream, list);
    const [oldest] = open.keys();
    if (open.size > MAX_STREAMS) open.delete(oldest);
  }

  function finish(stream, time) {
    unclaimed.push(...takeSince(open.get(stream) ?? [], time));
    open.delete(stream);
  }
};

/** Removes the marks since `from`, and returns them. */
function takeSince(marks, from) {
  const first = marks.findIndex(({ time }) => time >= from);
  return first < 0 ? [] : marks.splice(first);
}
