// Durations as the collector accepts them.

/** The longest duration that the collector accepts (`field.rs` in `beacon`). */
const MAX_MS = 864e5;

/** Milliseconds from one time to another. Absent where the collector would refuse the report for them. */
export function since(from, to) {
  const ms = to - from;
  return ms >= 0 && ms <= MAX_MS ? ms : undefined;
}
