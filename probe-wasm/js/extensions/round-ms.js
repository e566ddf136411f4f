// Durations as reports have them.

/** The longest duration that the collector accepts (`field.rs` in `beacon`). */
const MAX_MS = 864e5;

/**
 * Rounds to whole thousandths: no clock of a browser is finer. Two clocks may disagree by a step, so the result is
 * never below zero. A time that the collector would refuse is absent.
 */
export function roundMs(ms) {
  const rounded = Math.max(Math.round(ms * 1000) / 1000, 0);
  return rounded <= MAX_MS ? rounded : undefined;
}
