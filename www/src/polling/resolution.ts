/** How many samples the finest steps of a range hold in, the step to draw its lines with out. */
import type { Range, Timeseries } from "../api/api-types";
import { RANGE_MS, RANGES } from "../url";

/** Minutes that people count in. From the hour on, also where minutes are no longer kept. */
const STEP_MINUTES = [2, 5, 10, 15, 30, 60, 120, 240, 360, 720, 1440];
/** A little above the 30 below which a percentile is shown as uncertain, as traffic is never even. */
const TARGET_SAMPLES = 45;
const MIN_POINTS = 24;

/**
 * The finest step, in seconds, from that of the finest line on, whose points mostly rest on enough samples to be trusted. Where
 * traffic is too thin for that, a line of at least 24 points is kept and its points are shown as
 * uncertain. Empty steps do not count: a burst is not thin because of the silence around it.
 */
export function stepFor(range: Range, { points, step_ms }: FinestSeries): number {
  const counts = points.map(({ n }) => n).filter((n) => n > 0);
  const typical = counts.sort((a, b) => a - b)[Math.floor(counts.length / 2)] ?? 0;
  const finest = step_ms / 60_000;
  const minMinutes = finest * (typical > 0 ? TARGET_SAMPLES / typical : 1);
  const maxMinutes = RANGE_MS[range] / 60_000 / MIN_POINTS;
  const steps = [finest, ...STEP_MINUTES.filter((step) => step > finest && step <= maxMinutes)];
  return 60 * (steps.find((step) => step >= minMinutes) ?? steps.at(-1) ?? finest);
}

type FinestSeries = Pick<Timeseries, "step_ms"> & { points: readonly { n: number }[] };

/**
 * The share of a range that is over: it ends with the running minute, where minutes are gone with the running hour.
 * A clock that is wrong makes no more than that of it.
 */
export function elapsedShare(from: number, to: number, now: number): number {
  const lastStep = Math.min(HOUR_MS, (to - from) / 15);
  return (Math.min(Math.max(now, to - lastStep), to) - from) / (to - from);
}

const HOUR_MS = 3_600_000;

/** The shortest range longer than this one that reaches so far back. */
export function nextRangeCovering(range: Range, ageMs: number): Range | undefined {
  return RANGES.slice(RANGES.indexOf(range) + 1).find((candidate) => ageMs < RANGE_MS[candidate]);
}

/** The shortest range that still holds all of a line, when most of the asked one lies before it. */
export function shorterRange(
  range: Range,
  from: number,
  to: number,
  points: readonly { t: number; n: number }[],
): Range | null {
  const first = points.find(({ n }) => n > 0)?.t;
  if (first === undefined || (first - from) / (to - from) < 0.6) return null;
  const ranges = Object.keys(RANGE_MS) as Range[];
  const shorter = ranges.filter((name) => RANGE_MS[name] < RANGE_MS[range]);
  return shorter.find((name) => first >= to - RANGE_MS[name]) ?? null;
}
