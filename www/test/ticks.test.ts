import { describe, expect, it } from "vitest";

import { tickDuration } from "../src/format";
import { linearTicks, logLimits, logTicks, timeTicks } from "../src/ticks";

describe("log ticks", () => {
  it("are ones, twos and fives", () => {
    expect(logTicks(200, 10_000, 8)).toEqual([200, 500, 1000, 2000, 5000, 10_000]);
  });

  it("thin out where there is little room", () => {
    expect(logTicks(200, 10_000, 4)).toEqual([300, 1000, 3000, 10_000]);
    expect(logTicks(1, 1_000_000, 4).length).toBeLessThanOrEqual(4);
  });

  it("stay exact below one", () => {
    expect(logTicks(0.1, 1, 4)).toEqual([0.1, 0.2, 0.5, 1]);
  });

  it("are told apart however short", () => {
    const told = logTicks(0.005, 2, 20).map((tick) => tickDuration(tick).replace("\u00a0", " "));
    expect(told).toEqual(["5 µs", "10 µs", "20 µs", "50 µs", "100 µs", "200 µs", "500 µs", "1 ms", "2 ms"]);
  });

  it("have nothing to say about an axis that is none", () => {
    expect(logTicks(0, 10, 5)).toEqual([]);
    expect(logTicks(10, 10, 5)).toEqual([]);
  });
});

describe("log limits", () => {
  it("are the round values around what is shown", () => {
    expect(logLimits([230, 4100])).toEqual([200, 5000]);
  });

  it("stand open around a single value", () => {
    const [low, high] = logLimits([1000]);
    expect(low).toBeLessThan(1000);
    expect(high).toBeGreaterThan(1000);
  });

  it("ignore what has no place on a log axis", () => {
    expect(logLimits([0, -3, Number.NaN])).toEqual([100, 10_000]);
    expect(logLimits([])).toEqual([100, 10_000]);
  });
});

it("linear ticks rise from zero in round steps", () => {
  expect(linearTicks(170, 4)).toEqual([0, 50, 100, 150]);
  expect(linearTicks(1, 4)).toEqual([0, 0.5, 1]);
  expect(linearTicks(0, 4)).toEqual([0]);
});

describe("time ticks", () => {
  const hour = 3_600_000;

  it("fall on round local times", () => {
    const from = Date.UTC(2026, 10, 20, 11, 57);
    const { ticks, step } = timeTicks(from, from + hour, 6, 0);
    expect(step).toBe(hour / 6);
    expect(ticks).toHaveLength(6);
    expect(ticks[0]).toBe(Date.UTC(2026, 10, 20, 12, 0));
  });

  it("know zones that are half an hour off", () => {
    const offset = 5.5 * hour;
    const from = Date.UTC(2026, 10, 20);
    const { ticks } = timeTicks(from, from + 24 * hour, 4, offset);
    for (const tick of ticks) expect((tick + offset) % (6 * hour)).toBe(0);
  });
});
