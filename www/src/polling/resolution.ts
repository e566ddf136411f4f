/** Chooses the step of a line from the sample count, and shorter or longer ranges from the data. */
import type { Timeseries } from "../api/api-types";
import { isFixed, lengthMs, RANGE_MS, RANGES, type FixedRange, type Range, type RangePreset } from "../api/range";

/** Common intervals, in minutes. From 60 on they also fit ranges that only have hourly windows. */
const STEP_MINUTES = [2, 5, 10, 15, 30, 60, 120, 240, 360, 720, 1440];
/** Above the minimum of 30 samples, because traffic varies. */
const TARGET_SAMPLES = 45;
const MIN_POINTS = 24;

/**
 * The step in seconds: the finest one at which most points have enough samples. With little traffic the line keeps at
 * least 24 points, which are then marked as uncertain. Empty steps are ignored, so that a burst after silence keeps a
 * fine step.
 */
export function stepFor(range: Range, { points, step_ms }: FinestSeries): number {
  const counts = points.flatMap(({ n }) => n || []);
  const typical = counts.sort((a, b) => a - b)[Math.floor(counts.length / 2)] ?? 0;
  const finest = step_ms / 60_000;
  const minMinutes = finest * (typical > 0 ? TARGET_SAMPLES / typical : 1);
  const maxMinutes = lengthMs(range) / 60_000 / MIN_POINTS;
  const steps = [finest, ...STEP_MINUTES.filter((step) => step > finest && step <= maxMinutes)];
  return 60 * (steps.find((step) => step >= minMinutes) ?? steps.at(-1) ?? finest);
}

type FinestSeries = Pick<Timeseries, "step_ms"> & { points: readonly { n?: number }[] };

/**
 * Elapsed share of a range. The range ends with the current minute, or with the current hour for hourly windows. A
 * wrong clock moves the end by one window at most.
 */
export function elapsedShare(from: number, to: number, now: number): number {
  const lastStep = Math.min(HOUR_MS, (to - from) / 15);
  return (Math.min(Math.max(now, to - lastStep), to) - from) / (to - from);
}

const HOUR_MS = 3_600_000;

/**
 * The part of the range that has passed, as a multiple of an earlier period: the collector extends a period whose
 * minutes are no longer kept to whole hours. Counts are divided by it before they are compared.
 */
export function relativeLength(range: FixedRange, earlier: FixedRange, now: number): number {
  return (elapsedShare(range.from, range.to, now) * lengthMs(range)) / lengthMs(earlier);
}

/** The shortest range up to now that reaches back to this age, and is longer than the current one. */
export function nextRangeCovering(range: Range, ageMs: number): RangePreset | undefined {
  const candidates = isFixed(range) ? RANGES : RANGES.slice(RANGES.indexOf(range) + 1);
  return candidates.find((candidate) => ageMs < RANGE_MS[candidate]);
}

/** The shortest range that contains the whole line, if most of the current preset lies before it. */
export function shorterRange(
  range: Range,
  from: number,
  to: number,
  points: readonly { timestamp_ms: number; n?: number }[],
): RangePreset | null {
  if (isFixed(range)) return null;
  const first = points.find(({ n }) => n)?.timestamp_ms;
  if (first === undefined || (first - from) / (to - from) < 0.6) return null;
  const shorter = RANGES.filter((name) => RANGE_MS[name] < RANGE_MS[range]);
  return shorter.find((name) => first >= to - RANGE_MS[name]) ?? null;
}
