// Durations as reports have them.

/**
 * Rounds to whole thousandths: no clock of a browser is finer. Two clocks may disagree by a step, so the result is
 * never below zero.
 */
export function roundMs(ms) {
  return Math.max(Math.round(ms * 1000) / 1000, 0);
}
