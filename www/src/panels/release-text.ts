/** A release against the one before it, as text. */
import type { Difference } from "../api/schemas";
import { duration, isKnown } from "../format";

/** `null` if the interval includes zero: then no difference is shown. */
export function differenceText(difference: Difference | null | undefined, format: (value: number) => string): string | null {
  if (!difference || (difference.lower <= 0 && difference.upper >= 0)) return null;
  return `${format(difference.lower)} to ${format(difference.upper)}`;
}

/** `+120 ms`. */
export const signedDuration = (ms: number): string => (ms > 0 ? `+${duration(ms)}` : duration(ms));

/** `−1.4 pp`. */
export const signedPoints = (share: number): string =>
  `${share > 0 ? "+" : "−"}${Math.abs(share * 100).toFixed(1)}\u00a0pp`;

/** Whether a difference of this figure is an improvement. `undefined` without a difference. */
export function isBetter(difference: Difference | null | undefined, higherIsBetter: boolean): boolean | undefined {
  if (!difference || !isKnown(difference.lower) || differenceText(difference, String) === null) return undefined;
  return difference.lower > 0 === higherIsBetter;
}
