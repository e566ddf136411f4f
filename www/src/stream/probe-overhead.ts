/** Text of the probe's overhead, no more exact than the clocks of pages allow. */
import type { Accounting, ProbeOverhead } from "../api/api-types";
import { bytes, isKnown, microseconds, plural, type MaybeNumber } from "../format";

/**
 * The probe's time per chunk of one stream. The clock counts whole steps, and most times are 0 steps: the error of the
 * sum is twice its root in steps, with 95 % confidence. Below five steps only an upper bound is known.
 */
export function timePerChunk(overhead: ProbeOverhead, stepMs: MaybeNumber): string | null {
  const { timed_chunks: chunks, chunks_ms: ms } = overhead;
  if (!chunks || !isKnown(ms) || !isKnown(stepMs)) return null;
  const per = (sumMs: number) => microseconds((sumMs * 1000) / chunks);
  const error = 2 * Math.sqrt(ms * stepMs);
  if (error < ms) return `${per(ms)} (± ${per(error)})`;
  const more = ms / stepMs + 1;
  return `below ${per((more + 2 * Math.sqrt(more)) * stepMs)}`;
}

/** Mean overhead over all streams; `null` if no page reports it. */
export function probeOverheadSummary({ probe_overhead }: Accounting): string | null {
  const { timed_chunks, us_per_chunk, error_us, memory_bytes } = probe_overhead;
  const parts = [
    isKnown(us_per_chunk) &&
      `${microseconds(us_per_chunk)} (± ${microseconds(error_us)}) per chunk (${plural(timed_chunks, "chunk")})`,
    isKnown(memory_bytes) && `${bytes(memory_bytes)} of memory`,
  ].filter(Boolean);
  return parts.length > 0 ? `Probe overhead: ${parts.join(", ")}.` : null;
}
