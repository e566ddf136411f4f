/** The time range of a view: the newest minutes, or fixed times. */

/** A range that ends now. */
export type RangePreset = "15m" | "1h" | "6h" | "24h" | "7d" | "30d";

/** Unix milliseconds. The end is exclusive. */
export interface FixedRange {
  from: number;
  to: number;
}

export type Range = RangePreset | FixedRange;

export const RANGES: readonly RangePreset[] = ["15m", "1h", "6h", "24h", "7d", "30d"];

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const RANGE_MS: Record<RangePreset, number> = {
  "15m": HOUR / 4,
  "1h": HOUR,
  "6h": 6 * HOUR,
  "24h": 24 * HOUR,
  "7d": 168 * HOUR,
  "30d": 720 * HOUR,
};

export function isFixed(range: Range): range is FixedRange {
  return typeof range === "object";
}

export function lengthMs(range: Range): number {
  return isFixed(range) ? range.to - range.from : RANGE_MS[range];
}

/** Whether the last step of the range is still running. */
export function isRunning(range: Range, now: number): boolean {
  return !isFixed(range) || range.to > now;
}

/** The range as parameters of the collector's routes and of the address bar. */
export function rangeQuery(range: Range): { range: string } | { from: string; to: string } {
  return isFixed(range) ? { from: String(range.from), to: String(range.to) } : { range };
}

/** Reads fixed times; `null` if they are absent or the collector would refuse them. */
export function readFixedRange(from: string | null, to: string | null): FixedRange | null {
  if (from === null || to === null) return null;
  return fixedRange(Number(from), Number(to));
}

/** Whole minutes around the given times, as the collector has them; `null` for an impossible range. */
export function fixedRange(from: number, to: number): FixedRange | null {
  if (!Number.isFinite(from) || !Number.isFinite(to) || from < 0 || to > LATEST_MS || from >= to) return null;
  const range = { from: Math.floor(from / MINUTE) * MINUTE, to: Math.ceil(to / MINUTE) * MINUTE };
  return lengthMs(range) > LONGEST_MS ? null : range;
}

/** Twice the range around its middle, or as much of that as lies in the past. */
export function zoomedOut({ from, to }: FixedRange, now: number): FixedRange {
  const half = (to - from) / 2;
  const end = Math.max(to, Math.min(to + half, now));
  return fixedRange(Math.max(0, end - 4 * half, end - LONGEST_MS), end) ?? { from, to };
}

/** Limits of the collector. */
const LATEST_MS = 100_000_000_000_000;
const LONGEST_MS = 400 * 24 * HOUR;
