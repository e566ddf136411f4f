/** Lines of the charts of an engine's model. */
import type { EnginePoint } from "../api/schemas";
import type { TimeLine } from "../charts/time-figure";
import { isKnown, type MaybeNumber } from "../format";

export const REQUEST_LINES: readonly TimeLine<"waiting_max" | "running_max" | "preemptions">[] = [
  { label: "most waiting", key: "waiting_max", colour: "server" },
  { label: "most running", key: "running_max", colour: "client" },
  { label: "preempted", key: "preemptions", colour: "overhead" },
];

export const CACHE_LINES: readonly TimeLine<"kv" | "hits" | "accepted">[] = [
  { label: "fullest KV cache", key: "kv", colour: "server" },
  { label: "prompt tokens from cache", key: "hits", colour: "client" },
  { label: "accepted drafts", key: "accepted", colour: "overhead" },
];

interface CachePoint {
  timestamp_ms: number;
  kv: MaybeNumber;
  hits: number | null;
  accepted: number | null;
}

/** Shares. A step without both counts, or with nothing to have a share of, is a gap. */
export function cachePoints(points: readonly EnginePoint[]): CachePoint[] {
  return points.map((point) => ({
    timestamp_ms: point.timestamp_ms,
    kv: point.kv_usage_max,
    hits: share(point.cache_hits, point.cache_queries),
    accepted: share(point.accepted, point.drafted),
  }));
}

function share(part: MaybeNumber, whole: MaybeNumber): number | null {
  return isKnown(part) && isKnown(whole) && whole > 0 ? part / whole : null;
}
