/** The gap histogram of one report in, drawable buckets out. */
import type { Bucket, WireHistogram } from "../api/api-types";

/** Folds neighbours until a doubling has four buckets: exact, only coarser. */
export function bucketsOf({ scale, offset, counts, zero }: WireHistogram): Bucket[] {
  const steps = Math.max(0, scale - COARSE);
  const perDoubling = 2 ** (scale - steps);
  const folded = new Map<number, number>();
  counts.forEach((held, at) => {
    const index = (offset + at) >> steps;
    if (held > 0) folded.set(index, (folded.get(index) ?? 0) + held);
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
const COARSE = 2;
