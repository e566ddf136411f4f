/** The newest page of streams and the list already on screen in, the list to show out. */
import type { StreamPage, StreamReport } from "../api/api-types";

export interface StreamList {
  /** From the newest on. Below each the list can be cut, and goes on at its `next`. */
  pages: StreamPage[];
  /** How many rows were asked for by going on to older ones; 0 while none were. */
  depth: number;
}

export const rowsOf = ({ pages }: StreamList): StreamReport[] => pages.flatMap(({ streams }) => streams);

export const nextCursorOf = ({ pages }: StreamList): string | null => pages.at(-1)?.next ?? null;

const firstPage = (page: StreamPage): StreamList => ({ pages: [page], depth: 0 });

/** The page that `nextOf` led to, below the others. */
export function appendOlder(shown: StreamList, { streams, next }: StreamPage): StreamList {
  const known = idsOf(rowsOf(shown));
  const added = streams.filter(({ id }) => !known.has(id));
  const pages = [...shown.pages, { streams: added, next }];
  return { pages, depth: rowsOf({ pages, depth: 0 }).length };
}

/**
 * Kept samples have an order of their own and change little: once older pages of them are on screen, they
 * stay as they are.
 */
export function mergeSamples(shown: StreamList | null, page: StreamPage): StreamList {
  return shown !== null && shown.depth > 0 ? shown : firstPage(page);
}

/**
 * Puts the newest page on top of older pages that were loaded before. When so many streams arrived
 * in between that the page no longer touches them, the older ones are dropped: a list with a hole
 * would look complete. What came before `from` has left the range, and what is beyond the depth was pushed
 * out by newer ones.
 */
export function mergeLatest(shown: StreamList | null, page: StreamPage, from: number): StreamList {
  if (shown === null || shown.depth === 0 || page.next === null) return firstPage(page);
  const inPage = idsOf(page.streams);
  if (!rowsOf(shown).some(({ id }) => inPage.has(id))) return firstPage(page);
  const older = shown.pages
    .map((older) => filterPage(older, ({ id }) => !inPage.has(id)))
    // An empty one may still say that the list ends there.
    .filter(({ streams, next }) => streams.length > 0 || next === null);
  const pages = [page, ...inRange(older, from)];
  return { pages: limitDepth(pages, shown.depth), depth: shown.depth };
}

/** Nothing comes after the first that has left the range. */
function inRange(pages: StreamPage[], from: number): StreamPage[] {
  const cutAt = pages.findIndex(({ streams }) => streams.some(({ received_ms }) => received_ms < from));
  const [last] = pages.slice(cutAt);
  if (cutAt === -1 || last === undefined) return pages;
  const { streams } = filterPage(last, ({ received_ms }) => received_ms >= from);
  return [...pages.slice(0, cutAt), { streams, next: null }];
}

/** Without the last pages, as long as so many rows are left. */
function limitDepth(pages: StreamPage[], depth: number): StreamPage[] {
  let rowCount = 0;
  const end = pages.findIndex(({ streams }) => {
    const isBeyond = rowCount >= depth && streams.length > 0;
    rowCount += streams.length;
    return isBeyond;
  });
  return end === -1 ? pages : pages.slice(0, end);
}

function filterPage({ streams, next }: StreamPage, isKept: (row: StreamReport) => boolean): StreamPage {
  return { streams: streams.filter(isKept), next };
}

function idsOf(rows: StreamReport[]): Set<string> {
  return new Set(rows.map(({ id }) => id));
}
