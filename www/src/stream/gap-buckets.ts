/** Buckets of the inter-chunk latency histogram of one report. */
import type { Bucket, WireHistogram } from "../api/api-types";

/** Merges neighbours to four buckets per doubling. The merge is exact. */
export function gapBuckets({ scale, offset, counts, zero }: WireHistogram): Bucket[] {
  const shift = Math.max(0, scale - TARGET_SCALE);
  const perDoubling = 2 ** (scale - shift);
  const folded = new Map<number, number>();
  counts.forEach((n, at) => {
    const index = (offset + at) >> shift;
    if (n > 0) folded.set(index, (folded.get(index) ?? 0) + n);
  });
  const edge = (index: number) => 2 ** (index / perDoubling);
  const buckets = [...folded].map(([index, count]) => ({
    lower_ms: edge(index),
    upper_ms: edge(index + 1),
    count,
  }));
  return zero ? [{ lower_ms: 0, upper_ms: 0, count: zero }, ...buckets] : buckets;
}

/** 2^2 buckets per doubling. */
const TARGET_SCALE = 2;
