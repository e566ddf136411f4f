/** How many samples the finest steps of a range hold in, the step to draw its lines with out. */
import type { Range } from "./answers";
import { RANGE_MS, RANGES } from "./url";

/** Minutes that people count in. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 240, 360, 720, 1440];
/** A little above the 30 below which a percentile is shown as uncertain, as traffic is never even. */
const WANTED = 45;
const MOST_POINTS = 120;
const LEAST_POINTS = 24;

/** The finest step that is asked for, in seconds. */
export function finestStep(range: Range): number {
  return 60 * (stepsOf(range)[0] ?? 1);
}

/**
 * The finest step, in seconds, whose points mostly rest on enough samples to be trusted. Where
 * traffic is too thin for that, a line of at least 24 points is kept and its points are shown as
 * uncertain. Empty steps do not count: a burst is not thin because of the silence around it.
 */
export function stepFor(range: Range, finest: readonly { n: number }[]): number {
  const held = finest.map(({ n }) => n).filter((n) => n > 0);
  const typical = held.sort((a, b) => a - b)[Math.floor(held.length / 2)] ?? 0;
  const steps = stepsOf(range);
  const wanted = (steps[0] ?? 1) * (typical > 0 ? WANTED / typical : 1);
  return 60 * (steps.find((step) => step >= wanted) ?? steps.at(-1) ?? 1);
}

function stepsOf(range: Range): number[] {
  const minutes = RANGE_MS[range] / 60_000;
  const fine = STEPS.filter((step) => minutes / step <= MOST_POINTS);
  return fine.filter((step, index) => index === 0 || minutes / step >= LEAST_POINTS);
}

/** The shortest range longer than this one that reaches so far back. */
export function widerRange(range: Range, agoMs: number): Range | undefined {
  return RANGES.slice(RANGES.indexOf(range) + 1).find((candidate) => agoMs < RANGE_MS[candidate]);
}

/** The shortest range that still holds all of a line, when most of the asked one lies before it. */
export function tighterRange(
  range: Range,
  from: number,
  to: number,
  points: readonly { t: number; n: number }[],
): Range | null {
  const first = points.find(({ n }) => n > 0)?.t;
  if (first === undefined || (first - from) / (to - from) < 0.6) return null;
  const names = Object.keys(RANGE_MS) as Range[];
  const shorter = names.filter((name) => RANGE_MS[name] < RANGE_MS[range]);
  return shorter.find((name) => first >= to - RANGE_MS[name]) ?? null;
}
