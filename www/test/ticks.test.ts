import { afterEach, describe, expect, it, vi } from "vitest";

import { linearTicks, logLimits, logTicks, ticksWithin, timeLabel, timeTicks } from "../src/charts/ticks";
import { tickDuration } from "../src/format";

describe("log ticks", () => {
  it("are ones, twos and fives", () => {
    expect(logTicks(200, 10_000, 8)).toEqual([200, 500, 1000, 2000, 5000, 10_000]);
  });

  it("get fewer in a small space", () => {
    expect(logTicks(200, 10_000, 4)).toEqual([300, 1000, 3000, 10_000]);
    expect(logTicks(1, 1_000_000, 4).length).toBeLessThanOrEqual(4);
  });

  it("are exact below one", () => {
    expect(logTicks(0.1, 1, 4)).toEqual([0.1, 0.2, 0.5, 1]);
  });

  it("have distinct labels at any size", () => {
    const labels = logTicks(0.005, 2, 20).map((tick) => tickDuration(tick).replace("\u00a0", " "));
    expect(labels).toEqual(["5 µs", "10 µs", "20 µs", "50 µs", "100 µs", "200 µs", "500 µs", "1 ms", "2 ms"]);
  });

  it("have one unit each, however long", () => {
    const labels = logTicks(50_000, 10_000_000, 20).map((tick) => tickDuration(tick).replace("\u00a0", " "));
    expect(labels).toEqual(["50 s", "100 s", "200 s", "500 s", "1,000 s", "2,000 s", "5,000 s", "10,000 s"]);
  });

  it("are empty for an invalid axis", () => {
    expect(logTicks(0, 10, 5)).toEqual([]);
    expect(logTicks(10, 10, 5)).toEqual([]);
  });
});

it("a label that would be cut at the right is left out", () => {
  expect(ticksWithin([0, 100, 181, 195], (tick) => tick, 200)).toEqual([0, 100]);
  expect(ticksWithin([180], (tick) => tick, 200)).toEqual([180]);
});

describe("log limits", () => {
  it("are the round values around the data", () => {
    expect(logLimits([230, 4100])).toEqual([200, 5000]);
  });

  it("surround a single value", () => {
    const [low, high] = logLimits([1000]);
    expect(low).toBeLessThan(1000);
    expect(high).toBeGreaterThan(1000);
  });

  it("ignore values that a log axis cannot show", () => {
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
  afterEach(() => vi.unstubAllEnvs());

  it("fall on round local times", () => {
    const from = new Date(2026, 10, 20, 11, 57).getTime();
    const { ticks, step } = timeTicks(from, from + hour, 6);
    expect(step).toBe(hour / 6);
    expect(ticks).toHaveLength(6);
    expect(ticks[0]).toBe(new Date(2026, 10, 20, 12, 0).getTime());
  });

  it("follow time zones with half an hour", () => {
    vi.stubEnv("TZ", "Asia/Kolkata");
    const from = Date.UTC(2026, 10, 20);
    const { ticks } = timeTicks(from, from + 24 * hour, 4);
    expect(ticks.map((tick) => (tick + 5.5 * hour) % (6 * hour))).toEqual([0, 0, 0, 0]);
  });

  it("stay on round times through a clock change", () => {
    vi.stubEnv("TZ", "Europe/Berlin");
    for (const [month, date] of [[9, 25], [2, 29]] as const) {
      const from = new Date(2026, month, date - 2, 9, 30).getTime();
      const labels = timeTicks(from, from + 5 * 24 * hour, 12).ticks.map((tick) => timeLabel(tick, 12 * hour));
      expect(new Set(labels.filter((label) => label.includes(":"))), String(month)).toEqual(new Set(["12:00"]));
      const days = timeTicks(from, from + 5 * 24 * hour, 6).ticks;
      expect(days.map((tick) => new Date(tick).getHours())).toEqual([0, 0, 0, 0, 0]);
    }
    const night = new Date(2026, 2, 29, 0, 30).getTime();
    const hours = timeTicks(night, night + 5 * hour, 6).ticks.map((tick) => timeLabel(tick, hour));
    expect(hours).toEqual(["01:00", "03:00", "04:00", "05:00", "06:00"]);
  });

  it("of several days do not depend on the start", () => {
    const ticks = (date: number) => {
      const from = new Date(2026, 10, date).getTime();
      return timeTicks(from, from + 20 * 24 * hour, 12).ticks;
    };
    expect(ticks(2).slice(1, 9)).toEqual(ticks(4).slice(0, 8));
    const narrow = timeTicks(Date.UTC(2026, 9, 24, 12), Date.UTC(2026, 10, 23, 18), 3);
    expect(narrow.ticks.length).toBeGreaterThan(1);
  });
});
