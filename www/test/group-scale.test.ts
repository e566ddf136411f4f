import { expect, it } from "vitest";

import { groupScale } from "../src/charts/group-scale";

it("fits all groups and the target on one scale", () => {
  const group = (p50_ms?: number, p99_ms?: number) => ({ p50_ms, p99_ms }) as Parameters<typeof groupScale>[0][0];
  const scale = groupScale([group(100, 400), group(200, 6400), group()], () => 2000);
  const places = [100, 400, 2000, 6400].map(scale.at);
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(places.every((place) => place > 0 && place < 1)).toBe(true);
  const far = groupScale([group(100, 400)], ({ p50_ms }) => (p50_ms ?? 0) * 100);
  expect(far.at(10_000)).toBeLessThan(1);
  expect(groupScale([], () => null).at(5)).toBeGreaterThan(0);
});
