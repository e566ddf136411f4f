import { expect, it } from "vitest";

import type { Heatmap } from "../src/api/api-types";
import { cellsOf, shadeOf } from "../src/charts/heatmap-scale";

const answer: Heatmap = {
  from: 0,
  to: 120_000,
  step_ms: 60_000,
  metric: "ttfv",
  targets: {},
  buckets: [
    { lower_ms: 100, upper_ms: 119, count: 100 },
    { lower_ms: 119, upper_ms: 141, count: 1 },
  ],
  points: [
    { timestamp_ms: 0, n: 101, counts: [100, 1] },
    { timestamp_ms: 60_000, n: 0, counts: [0, 0] },
  ],
};

it("draws only the cells that contain samples", () => {
  expect(cellsOf(answer)).toEqual([
    { timestamp_ms: 0, n: 101, lower_ms: 100, upper_ms: 119, count: 100, shade: 7 },
    { timestamp_ms: 0, n: 101, lower_ms: 119, upper_ms: 141, count: 1, shade: 1 },
  ]);
  expect(cellsOf({ ...answer, points: [], buckets: [] })).toEqual([]);
  expect(cellsOf({ ...answer, points: [{ timestamp_ms: 0 }] })).toEqual([]);
});

it("keeps single samples visible and orders shades by count", () => {
  const shades = [1, 5, 20, 50, 100, 400].map((count) => shadeOf(count, 400));
  expect(shades).toEqual([...shades].sort((a, b) => a - b));
  expect([shades[0], shades.at(-1)]).toEqual([1, 7]);
});
