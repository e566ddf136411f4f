// The times at which text arrived: the deltas of a stream, counted in equal steps of time. The report has one digit for
// their length and one for each step, which shows where a stall, a burst or buffering happened. The field takes at most
// 60 bytes of a beacon.

import { OPEN } from "../tap/tap-events.js";

/** Most steps of a stream. */
const MAX_STEPS = 44;
/** Length of a step at first; it doubles whenever the stream becomes longer than all steps. */
const FIRST_STEP_MS = 10;
/** Digits of base 36. */
const HIGHEST = 35;

/** Adds `arrivals` to the reports of streams that have ended. */
export const arrivals = () => () => {
  const strips = new WeakMap();

  return {
    onEvent(stream, event) {
      if (event == OPEN) strips.set(stream, createStrip(stream));
    },
    addFields(report, stream) {
      const digits = !report.open && strips.get(stream)?.(report.deltas);
      if (digits) report.arrivals = digits;
    },
  };
};

/**
 * Watches what the stream's watcher reads. Chunks may be read later than they came, so their times count. The result is
 * a function that makes the field, with the number of deltas of the whole stream.
 */
function createStrip(stream) {
  let watcher, from, doublings, counts, counted, current;
  watch(stream.watcher);
  Reflect.defineProperty(stream, "watcher", { configurable: true, get: () => watcher, set: watch });
  return digits;

  /** A stream gets another watcher if it needs the full Wasm. That one reads it from the beginning. */
  function watch(made) {
    [from, doublings, counts, counted, current] = [undefined, 0, [], 0, 0];
    watcher = {
      ...made,
      chunk(key, time, bytes) {
        moveTo(time, () => made.report(key).deltas);
        return made.chunk(key, time, bytes);
      },
    };
  }

  /** Only at the begin of another step the watcher is asked for the deltas so far: they came in the steps before. */
  function moveTo(time, deltasSoFar) {
    // An infinite time is beyond any number of steps.
    if (Math.abs(time) == Infinity) return;
    from ??= time;
    while (stepAt(time) >= MAX_STEPS) double();
    const step = stepAt(time);
    if (step <= current) return;
    settle(deltasSoFar());
    current = step;
  }

  function stepAt(time) {
    return Math.floor((time - from) / (FIRST_STEP_MS * 2 ** doublings));
  }

  function settle(deltas) {
    counts[current] = (counts[current] ?? 0) + deltas - counted;
    counted = deltas;
  }

  function double() {
    const halves = counts;
    counts = [];
    for (const [step, count = 0] of halves.entries()) counts[step >> 1] = (counts[step >> 1] ?? 0) + count;
    doublings++;
    current >>= 1;
  }

  function digits(deltas) {
    settle(deltas);
    const all = Array.from(counts, (count = 0) => count);
    const busiest = Math.max(...all);
    // Without deltas, and by a clock that shows no time, there is no step.
    if (!(busiest > 0)) return;
    const levels = all.map((count) => Math.ceil((count / busiest) * HIGHEST));
    return [doublings, ...levels].map((digit) => digit.toString(36)).join("");
  }
}
