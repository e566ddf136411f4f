/** Merges pages of streams into the list on screen. */
import type { StreamPage, StreamReport } from "./api-types";

export interface StreamList {
  /** From the newest page to the oldest. The list can continue below each page, at its `next`. */
  pages: StreamPage[];
  /** Rows on screen after the last request for older streams; 0 without such a request. */
  depth: number;
}

export const rowsOf = ({ pages }: StreamList): StreamReport[] => pages.flatMap(({ streams }) => streams);

export const nextCursorOf = ({ pages }: StreamList): string | null => pages.at(-1)?.next ?? null;

const firstPage = (page: StreamPage): StreamList => ({ pages: [page], depth: 0 });

/** Appends the page that `nextCursorOf` led to. */
export function appendOlder(shown: StreamList, { streams, next }: StreamPage): StreamList {
  const known = idsOf(rowsOf(shown));
  const added = streams.filter(({ id }) => !known.has(id));
  const pages = [...shown.pages, { streams: added, next }];
  return { pages, depth: rowsOf({ pages, depth: 0 }).length };
}

/** Samples are not sorted by time and change rarely. Once older pages are loaded, the list stays as it is. */
export function mergeSamples(shown: StreamList | null, page: StreamPage): StreamList {
  return shown !== null && shown.depth > 0 ? shown : firstPage(page);
}

/**
 * Puts the newest page above the older pages. If the page no longer touches them, the older pages are dropped: a list
 * with a gap would look complete. Rows before `from` and rows beyond the depth are removed.
 */
export function mergeLatest(shown: StreamList | null, page: StreamPage, from: number): StreamList {
  if (shown === null || shown.depth === 0 || page.next === null) return firstPage(page);
  const inPage = idsOf(page.streams);
  if (!rowsOf(shown).some(({ id }) => inPage.has(id))) return firstPage(page);
  const older = shown.pages
    .map((older) => filterPage(older, ({ id }) => !inPage.has(id)))
    // An empty page can carry the end of the list.
    .filter(({ streams, next }) => streams.length > 0 || next === null);
  const pages = [page, ...inRange(older, from)];
  return { pages: limitDepth(pages, shown.depth), depth: shown.depth };
}

/** Cuts the list at the first row outside the range. */
function inRange(pages: StreamPage[], from: number): StreamPage[] {
  const cutAt = pages.findIndex(({ streams }) => streams.some(({ received_ms }) => received_ms < from));
  const [last] = pages.slice(cutAt);
  if (cutAt === -1 || last === undefined) return pages;
  const { streams } = filterPage(last, ({ received_ms }) => received_ms >= from);
  return [...pages.slice(0, cutAt), { streams, next: null }];
}

/** Drops pages from the end while enough rows remain. */
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
