/** Events that every chart over time marks: posted markers, and the first appearances of releases. */
import { signal } from "@preact/signals";

import type { Marker as PostedMarker, Release } from "../api/schemas";

export interface Marker {
  /** Unix milliseconds. */
  at: number;
  label: string;
}

export const markers = signal<readonly Marker[]>([]);

/** The releases that appeared within the range, and the posted markers. */
export function markersOf(releases: readonly Release[], posted: readonly PostedMarker[]): Marker[] {
  const sites = new Set(releases.map(({ site }) => site));
  const label = ({ site, release }: Release) => (sites.size > 1 ? `${site} ${release}` : release);
  return [
    ...releases.filter((one) => one.is_new).map((one) => ({ at: one.first_ms, label: label(one) })),
    ...posted.map((one) => ({ at: one.timestamp_ms, label: markerText(one) })),
  ];
}

/** `deploy: gateway 2.1`, with the site if the marker has one. */
export const markerText = ({ kind, title, site }: PostedMarker): string => `${site ? `${site} ` : ""}${kind}: ${title}`;
