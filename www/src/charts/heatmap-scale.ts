/** Cells of the heatmap that contain samples, with their shade. */
import type { Heatmap } from "../api/api-types";

export interface Cell {
  timestamp_ms: number;
  /** All samples of the step. */
  n: number;
  lower_ms: number;
  upper_ms: number;
  count: number;
  shade: (typeof SHADES)[number];
}

export const SHADES = [1, 2, 3, 4, 5, 6, 7] as const;

export function cellsOf({ points, buckets }: Heatmap): Cell[] {
  const fullest = Math.max(0, ...points.flatMap(({ counts }) => counts ?? []));
  return points.flatMap(({ timestamp_ms, n = 0, counts = [] }) =>
    buckets.flatMap(({ lower_ms, upper_ms }, at): Cell[] => {
      const count = counts[at] ?? 0;
      return count === 0 ? [] : [{ timestamp_ms, n, lower_ms, upper_ms, count, shade: shadeOf(count, fullest) }];
    }),
  );
}

/** The square root keeps single samples visible, because a heatmap is read for the few slow ones. */
export function shadeOf(count: number, fullest: number): Cell["shade"] {
  const strength = Math.sqrt(count / Math.max(1, fullest));
  const at = Math.ceil(strength * SHADES.length) - 1;
  return SHADES[Math.min(Math.max(at, 0), SHADES.length - 1)] ?? 1;
}
