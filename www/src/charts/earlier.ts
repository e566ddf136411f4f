/** The comparison period in a chart over time: thin lines behind those of the range. */
import type { MaybeNumber } from "../format";
import { hasFewSamples } from "../metric";
import type { Readout } from "./line-chart";
import type { Line } from "./plot";

export interface EarlierLine<Key extends string> {
  label: string;
  /** Field of the points. */
  key: Key;
  /** Class in the legend and the tooltip, and name of the CSS variable. */
  colour: "earlier-p50" | "earlier-p95" | "earlier-overhead";
}

type Point<Key extends string> = { n?: number } & { [K in Key]?: MaybeNumber };

/** `earlier` has one point for each of the range. It is absent if the period is not compared or not complete. */
export function earlierLines<Key extends string>(
  earlier: readonly Point<Key>[] | null | undefined,
  lines: readonly EarlierLine<Key>[],
): Line[] {
  if (!earlier) return [];
  const isLowSample = earlier.map(({ n }) => hasFewSamples(n));
  return lines.map(({ label, key, colour }) => {
    const values = earlier.map((point) => point[key] ?? null);
    return { label, colour: `--${colour}`, values, width: 1, isLowSample };
  });
}

export function earlierReadout<Key extends string>(
  point: Point<Key> | undefined,
  lines: readonly EarlierLine<Key>[],
  text: (value: MaybeNumber) => string,
): Readout["values"] {
  return point ? lines.map(({ label, key, colour }) => ({ label, text: text(point[key]), colour })) : [];
}
