/** The share of visits with a bad stream, as text. */
import type { Visits } from "../../api/schemas";
import { count, percent, timeOfDay, isKnown } from "../../format";

/** `null` without visits. */
export function badVisitsText({ visits, share, kept_since_ms: since }: Visits): string | null {
  if (visits === 0) return null;
  const kept = isKnown(since) ? `, since ${timeOfDay(since)}` : "";
  return `Visits with a bad stream: ${percent(share)} of ${count(visits)}${kept}`;
}
