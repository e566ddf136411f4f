import { describe, expect, it } from "vitest";

import { placeMarks, type Mark } from "../src/charts/bars";
import { bucketsOf } from "../src/stream/gap-buckets";
import { targetsOf } from "../src/metric";
import { elapsedShare, stepFor, tighterRange, widerRange } from "../src/polling/resolution";

describe("the step of a line", () => {
  const steps = (count: number, n: number) => Array.from({ length: count }, () => ({ n }));
  const of = (minutes: number, points: { n: number }[]) => ({ step_ms: minutes * 60_000, points });

  it("is the finest whose points rest on enough samples", () => {
    expect(stepFor("1h", of(1, steps(60, 100)))).toBe(60);
    expect(stepFor("1h", of(1, steps(60, 25)))).toBe(120);
    expect(stepFor("24h", of(15, steps(96, 15)))).toBe(3600);
  });

  it("is fine for a burst, however long the silence before it", () => {
    expect(stepFor("1h", of(1, [...steps(57, 0), ...steps(3, 200)]))).toBe(60);
  });

  it("keeps a line where traffic is thin, and where there is none", () => {
    expect(stepFor("1h", of(1, steps(60, 1)))).toBe(120);
    expect(stepFor("30d", of(360, steps(120, 1)))).toBe(24 * 3600);
    expect(stepFor("6h", of(5, []))).toBe(300);
  });

  it("is no finer than what the collector still has", () => {
    expect(stepFor("24h", of(60, steps(24, 900)))).toBe(3600);
    expect(stepFor("24h", of(60, steps(24, 1)))).toBe(3600);
  });
});

it("a range is over up to now, and a clock that is wrong moves its end by a minute or an hour", () => {
  const minute = 60_000;
  const quarter = (now: number) => elapsedShare(0, 15 * minute, now * minute);
  expect([14.5, 15, 99].map(quarter)).toEqual([14.5 / 15, 1, 1]);
  expect(quarter(3)).toBe(14 / 15);
  expect(elapsedShare(0, 24 * 60 * minute, 0)).toBe(23 / 24);
});

describe("a tighter range", () => {
  const hour = 3_600_000;
  const tighter = (first: number) =>
    tighterRange("6h", 0, 6 * hour, [
      { t: 0, n: 0 },
      { t: first, n: 4 },
    ]);

  it("is offered when everything is recent", () => {
    expect(tighter(5.9 * hour)).toBe("15m");
    expect(tighter(5.2 * hour)).toBe("1h");
  });

  it("is not when the line fills its range, or when no shorter one holds it", () => {
    expect(tighter(hour)).toBeNull();
    expect(tighter(4 * hour)).toBeNull();
    expect(tighterRange("15m", 0, hour / 4, [{ t: 0.24 * hour, n: 1 }])).toBeNull();
  });
});

describe("gap buckets", () => {
  it("fold eight fine ones into one, and lose none", () => {
    const buckets = bucketsOf({ scale: 5, offset: 158, counts: [1, 2, 3], zero: 0 });
    expect(buckets.map(({ count }) => count)).toEqual([3, 3]);
    expect(buckets[0]?.upper_ms).toBeCloseTo(2 ** 5);
    expect(buckets[1]?.lower_ms).toBeCloseTo(2 ** 5);
  });

  it("below one millisecond lie where they belong", () => {
    const [bucket] = bucketsOf({ scale: 5, offset: -1, counts: [4] });
    expect(bucket).toEqual({ lower_ms: 2 ** -0.25, upper_ms: 1, count: 4 });
  });

  it("keep what was shorter than a step of the clock", () => {
    expect(bucketsOf({ scale: 5, offset: 0, counts: [], zero: 2 })).toEqual([
      { lower_ms: 0, upper_ms: 0, count: 2 },
    ]);
  });
});

describe("labels of marks", () => {
  const mark = (value: number): Mark => ({ label: "p50 812 ms", value, tone: "p50", kind: "percentile" });
  const place = (...values: number[]) => placeMarks(values.map(mark), (value) => value, 0, 400);

  it("share a lane while they do not touch", () => {
    expect(place(10, 200).map(({ lane }) => lane)).toEqual([0, 0]);
  });

  it("step down when they would cover each other", () => {
    expect(place(100, 110, 120).map(({ lane }) => lane)).toEqual([0, 1, 2]);
  });

  it("turn to the left where the right has no room", () => {
    expect(place(380)[0]?.flips).toBe(true);
  });
});

it("targets for the first token are held against what the user sees", () => {
  const targets = { ttft_p95_ms: 2000, tpot_ms: 80 };
  expect(targetsOf("ttfv", targets)).toEqual([{ quantile: "p95", value: 2000 }]);
  expect(targetsOf("ttft", targets)).toEqual([]);
  expect(targetsOf("tpot", targets)).toEqual([{ quantile: null, value: 80 }]);
});

it("a wider range is the shortest that reaches back to what there is", () => {
  const hour = 3_600_000;
  expect(widerRange("1h", 5 * hour)).toBe("6h");
  expect(widerRange("15m", 7 * hour)).toBe("24h");
  expect(widerRange("7d", 800 * hour)).toBeUndefined();
});
