import { describe, expect, it } from "vitest";

import { gapBuckets } from "../src/stream/gap-buckets";

describe("gap buckets", () => {
  it("merge eight fine buckets without a loss", () => {
    const buckets = gapBuckets({ scale: 5, offset: 158, counts: [1, 2, 3], zero: 0, sum: 200 });
    expect(buckets.map(({ count }) => count)).toEqual([3, 3]);
    expect(buckets[0]?.upper_ms).toBeCloseTo(2 ** 5);
    expect(buckets[1]?.lower_ms).toBeCloseTo(2 ** 5);
  });

  it("keep their limits below one millisecond", () => {
    const [bucket] = gapBuckets({ scale: 5, offset: -1, counts: [4], sum: 3.9 });
    expect(bucket).toEqual({ lower_ms: 2 ** -0.25, upper_ms: 1, count: 4 });
  });

  it("keep values below the clock's resolution", () => {
    expect(gapBuckets({ scale: 5, offset: 0, counts: [], zero: 2, sum: 0 })).toEqual([
      { lower_ms: 0, upper_ms: 0, count: 2 },
    ]);
  });
});
