import { expect, it } from "vitest";

import { longest, stretchesAbove } from "../src/charts/stretches";

const MINUTE = 60_000;
const steps = (values: (number | null)[], n = 50) =>
  values.map((p95_ms, at) => ({ timestamp_ms: at * MINUTE, n, p95_ms }));

it("neighbouring steps above the target are one stretch", () => {
  const found = stretchesAbove(steps([900, 2100, 2500, 900, 3000]), MINUTE, 2000);
  expect(found).toEqual([
    { from: MINUTE, to: 3 * MINUTE },
    { from: 4 * MINUTE, to: 5 * MINUTE },
  ]);
  expect(longest(found)).toEqual({ from: MINUTE, to: 3 * MINUTE });
});

it("steps without a sure p95 end a stretch", () => {
  expect(stretchesAbove(steps([2100, null, 2100]), MINUTE, 2000)).toHaveLength(2);
  expect(stretchesAbove(steps([2100, 2100], 29), MINUTE, 2000)).toEqual([]);
  expect(longest([])).toBeNull();
});

it("a p95 at its target is not above it", () => {
  expect(stretchesAbove(steps([2000]), MINUTE, 2000)).toEqual([]);
});
