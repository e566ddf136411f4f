/** The newest page of streams and the rows already on screen in, the rows to show out. */
import type { StreamPage, StreamReport } from "./answers";

export interface Latest {
  rows: StreamReport[];
  next: string | null;
}

/**
 * Kept samples have an order of their own and change little: once older pages of them are on screen, they
 * stay as they are.
 */
export function mergeSamples(shown: Latest | null, page: StreamPage): Latest {
  if (shown !== null && shown.rows.length > page.streams.length) return shown;
  return { rows: page.streams, next: page.next };
}

/**
 * Puts the newest page on top of older pages that were loaded before. When so many streams arrived
 * in between that the page no longer touches them, the older ones are dropped: a list with a hole
 * would look complete.
 */
export function mergeLatest(shown: Latest | null, page: StreamPage): Latest {
  const fresh = { rows: page.streams, next: page.next };
  const isAll = page.next === null;
  if (shown === null || isAll || shown.rows.length <= page.streams.length) return fresh;
  const inPage = new Set(page.streams.map((row) => row.id));
  const touches = shown.rows.some((row) => inPage.has(row.id));
  if (!touches) return fresh;
  const older = shown.rows.filter((row) => !inPage.has(row.id));
  return { rows: [...page.streams, ...older], next: shown.next };
}
