/** Log scale on which the percentiles of all groups are drawn. */
import type { Group } from "../api/api-types";
import { isKnown } from "../format";

export interface GroupScale {
  /** From 0 at the left to 1 at the right. */
  at: (value: number) => number;
  /** Target of the group's p95; `null` without one. */
  target: (group: Group) => number | null;
}

const MARGIN = 0.03;

export function groupScale(groups: readonly Group[], target: GroupScale["target"]): GroupScale {
  const ends = groups.flatMap((group) => [group.p50_ms, group.p99_ms, target(group)]);
  const shown = ends.filter(isKnown).filter((value) => value > 0);
  const low = shown.length > 0 ? Math.min(...shown) : 1;
  const high = Math.max(low * 1.5, ...shown);
  const at = (value: number) =>
    MARGIN + ((1 - 2 * MARGIN) * Math.log(Math.max(value, low) / low)) / Math.log(high / low);
  return { at, target };
}
