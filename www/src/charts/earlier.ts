/** The comparison period in a chart over time: thin lines behind those of the range. */
import type { TimeseriesPoint } from "../api/schemas";
import type { MaybeNumber } from "../format";
import { hasFewSamples } from "../metric";
import type { Readout } from "./line-chart";
import type { Line } from "./plot";

export interface EarlierLine {
  label: string;
  key: "p50_ms" | "p95_ms" | "p50_output_tokens_per_second" | "p5_output_tokens_per_second" | "in_flight";
  /** Class in the legend and the tooltip, and name of the CSS variable. */
  colour: "earlier-p50" | "earlier-p95";
}

/** `earlier` has one point for each of the range. It is absent if the period is not compared or not complete. */
export function earlierLines(
  earlier: readonly TimeseriesPoint[] | null | undefined,
  lines: readonly EarlierLine[],
): Line[] {
  if (!earlier) return [];
  const isLowSample = earlier.map(({ n }) => hasFewSamples(n));
  return lines.map(({ label, key, colour }) => {
    const values = earlier.map((point) => point[key] ?? null);
    return { label, colour: `--${colour}`, values, width: 1, isLowSample };
  });
}

export function earlierReadout(
  point: TimeseriesPoint | undefined,
  lines: readonly EarlierLine[],
  text: (value: MaybeNumber) => string,
): Readout["values"] {
  return point ? lines.map(({ label, key, colour }) => ({ label, text: text(point[key]), colour })) : [];
}
