import { describe, expect, it } from "vitest";

import { elapsedShare, nextRangeCovering, relativeLength, shorterRange, stepFor } from "../src/polling/resolution";

describe("the step of a line", () => {
  const steps = (count: number, n: number) => Array.from({ length: count }, () => ({ n }));
  const of = (minutes: number, points: { n?: number }[]) => ({ step_ms: minutes * 60_000, points });

  it("is the finest with enough samples", () => {
    expect(stepFor("1h", of(1, steps(60, 100)))).toBe(60);
    expect(stepFor("1h", of(1, steps(60, 25)))).toBe(120);
    expect(stepFor("24h", of(15, steps(96, 15)))).toBe(3600);
  });

  it("stays fine for a burst after silence", () => {
    expect(stepFor("1h", of(1, [...steps(57, 0), ...steps(3, 200)]))).toBe(60);
  });

  it("depends on the steps whose streams are kept", () => {
    expect(stepFor("1h", of(1, [...Array.from({ length: 50 }, () => ({})), ...steps(10, 200)]))).toBe(60);
  });

  it("keeps 24 points with little or no traffic", () => {
    expect(stepFor("1h", of(1, steps(60, 1)))).toBe(120);
    expect(stepFor("30d", of(360, steps(120, 1)))).toBe(24 * 3600);
    expect(stepFor("6h", of(5, []))).toBe(300);
  });

  it("of fixed times depends on their length", () => {
    expect(stepFor({ from: 0, to: 600_000 }, of(1, steps(10, 1)))).toBe(60);
    expect(stepFor({ from: 0, to: 86_400_000 }, of(15, steps(96, 15)))).toBe(3600);
  });

  it("is no finer than the collector's windows", () => {
    expect(stepFor("24h", of(60, steps(24, 900)))).toBe(3600);
    expect(stepFor("24h", of(60, steps(24, 1)))).toBe(3600);
  });
});

it("a wrong clock moves the end by one window at most", () => {
  const minute = 60_000;
  const quarter = (now: number) => elapsedShare(0, 15 * minute, now * minute);
  expect([14.5, 15, 99].map(quarter)).toEqual([14.5 / 15, 1, 1]);
  expect(quarter(3)).toBe(14 / 15);
  expect(elapsedShare(0, 24 * 60 * minute, 0)).toBe(23 / 24);
});

it("a range is as long as what has passed of it", () => {
  const [range, earlier] = [{ from: 60, to: 120 }, { from: 0, to: 60 }];
  expect([118, 500].map((now) => relativeLength(range, earlier, now))).toEqual([58 / 60, 1]);
  expect(relativeLength(range, { from: 0, to: 90 }, 500)).toBeCloseTo(2 / 3);
});

describe("a shorter range", () => {
  const hour = 3_600_000;
  const tighter = (first: number) =>
    shorterRange("6h", 0, 6 * hour, [
      { timestamp_ms: 0, n: 0 },
      { timestamp_ms: first, n: 4 },
    ]);

  it("is offered if all samples are recent", () => {
    expect(tighter(5.9 * hour)).toBe("15m");
    expect(tighter(5.2 * hour)).toBe("1h");
  });

  it("is not offered if the samples fill the range", () => {
    expect(tighter(hour)).toBeNull();
    expect(tighter(4 * hour)).toBeNull();
    expect(shorterRange("15m", 0, hour / 4, [{ timestamp_ms: 0.24 * hour, n: 1 }])).toBeNull();
    const fixed = { from: 0, to: 6 * hour };
    expect(shorterRange(fixed, 0, 6 * hour, [{ timestamp_ms: 5.9 * hour, n: 1 }])).toBeNull();
  });
});

it("the next longer range reaches back to the newest stream", () => {
  const hour = 3_600_000;
  expect(nextRangeCovering("1h", 5 * hour)).toBe("6h");
  expect(nextRangeCovering("15m", 7 * hour)).toBe("24h");
  expect(nextRangeCovering("7d", 800 * hour)).toBeUndefined();
  expect(nextRangeCovering({ from: 0, to: hour }, 0.1 * hour)).toBe("15m");
});
