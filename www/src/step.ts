/** A range and how many streams ended in it in, the step to draw it with out. */
import type { Range } from "./api";
import { RANGE_MS } from "./url";

/** Minutes that people count in. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 240, 360, 720, 1440];
/** A little above the 30 below which a percentile is shown as uncertain, as traffic is never even. */
const WANTED = 45;
const MOST_POINTS = 120;
const LEAST_POINTS = 24;

/**
 * The finest step, in seconds, whose points rest on enough streams to be trusted. Where traffic is
 * too thin for that, a line of at least 24 points is kept and its points are shown as uncertain.
 */
export function stepFor(range: Range, streams: number): number {
  const minutes = RANGE_MS[range] / 60_000;
  const fine = STEPS.filter((step) => minutes / step <= MOST_POINTS);
  const usable = fine.filter((step, index) => index === 0 || minutes / step >= LEAST_POINTS);
  const enough = usable.find((step) => (streams * step) / minutes >= WANTED);
  return 60 * (enough ?? usable.at(-1) ?? 1);
}
