// Durations as reports have them.

/** Whole thousandths: no clock of a browser is finer. Two clocks may disagree by a step: never below zero. */
export function thousandths(ms) {
  return Math.max(Math.round(ms * 1000) / 1000, 0);
}
