/** Events that every chart over time marks: the first appearance of a release. */
import { signal } from "@preact/signals";

import type { Release } from "../api/schemas";

export interface Marker {
  /** Unix milliseconds. */
  at: number;
  label: string;
}

export const markers = signal<readonly Marker[]>([]);

/** The releases that appeared within the range. */
export function markersOf(releases: readonly Release[]): Marker[] {
  const sites = new Set(releases.map(({ site }) => site));
  const label = ({ site, release }: Release) => (sites.size > 1 ? `${site} ${release}` : release);
  return releases.filter((one) => one.is_new).map((one) => ({ at: one.first_ms, label: label(one) }));
}
