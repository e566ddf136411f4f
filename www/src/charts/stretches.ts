/** Stretches of time in which a percentile was above its target. */
import { isKnown, type MaybeNumber } from "../format";
import { hasFewSamples } from "../metric";

export interface Stretch {
  /** Unix milliseconds. */
  from: number;
  to: number;
}

interface Step {
  timestamp_ms: number;
  n?: number;
  p95_ms?: MaybeNumber;
}

/** Steps with few samples are in no stretch: their p95 is a matter of chance. */
export function stretchesAbove(steps: readonly Step[], stepMs: number, target: number): Stretch[] {
  const stretches: Stretch[] = [];
  for (const { timestamp_ms: from, n, p95_ms: p95 } of steps) {
    if (!n || hasFewSamples(n) || !isKnown(p95) || p95 <= target) continue;
    const last = stretches.at(-1);
    if (last?.to === from) last.to = from + stepMs;
    else stretches.push({ from, to: from + stepMs });
  }
  return stretches;
}

export function longest(stretches: readonly Stretch[]): Stretch | null {
  const length = ({ from, to }: Stretch) => to - from;
  return stretches.reduce<Stretch | null>((best, one) => (best && length(best) >= length(one) ? best : one), null);
}
