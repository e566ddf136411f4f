/** Requests only what changed since an earlier response, and completes it from that response. */
import type { StreamPage, StreamReport } from "./api-types";

/** The latest responses, by a key of their request. */
export class EarlierResponses<Value> {
  readonly #byKey = new Map<string, Value>();

  get(key: string): Value | undefined {
    return this.#byKey.get(key);
  }

  /** Drops the response that was set first if there are too many. */
  set(key: string, value: Value): void {
    this.#byKey.delete(key);
    this.#byKey.set(key, value);
    const [oldest] = this.#byKey.keys();
    if (this.#byKey.size > MAX_RESPONSES && oldest !== undefined) this.#byKey.delete(oldest);
  }
}

/** More than one view has. */
const MAX_RESPONSES = 32;

interface Series {
  from: number;
  to: number;
  step_ms: number;
  points: unknown[];
  earlier?: unknown[] | null;
}

/** `loadedAt` is the time of the last request for all points. */
const allSeries = new EarlierResponses<{ series: Series; loadedAt: number }>();

/** `request` takes the time from which on it requests points; without it, it requests all. */
export async function requestSeries<Answer extends Series>(
  key: string,
  request: (since?: string) => Promise<Answer>,
): Promise<Answer> {
  const known = allSeries.get(key) as { series: Answer; loadedAt: number } | undefined;
  if (known !== undefined && performance.now() - known.loadedAt < ALL_POINTS_MS) {
    const part = await request(String(known.series.to - REPEATED_MS));
    const series = completeSeries(known.series, part);
    if (series !== null) {
      allSeries.set(key, { ...known, series });
      return series;
    }
  }
  const series = await request();
  allSeries.set(key, { series, loadedAt: performance.now() });
  return series;
}

/** `null` if the range has moved on. */
function completeSeries<Answer extends Series>(known: Answer, part: Answer): Answer | null {
  if (part.from !== known.from || part.to !== known.to || part.step_ms !== known.step_ms) return null;
  const complete = (all: unknown[], newest: unknown[]) => [...all.slice(0, all.length - newest.length), ...newest];
  const points = complete(known.points, part.points);
  if (!part.earlier) return { ...part, points };
  return { ...part, points, earlier: complete(known.earlier ?? [], part.earlier) };
}

/** Streams that end late change older points, too. All points are requested as often as the range moves on. */
const ALL_POINTS_MS = 60_000;
/** Points of this time before the end are requested each time. */
const REPEATED_MS = 600_000;

const pages = new EarlierResponses<StreamPage>();

/** `request` takes the time from which on it requests whole streams; without it, it requests all as a whole. */
export async function requestPage(
  key: string,
  request: (since?: string) => Promise<StreamPage>,
): Promise<StreamPage> {
  const known = pages.get(key);
  let page: StreamPage | null = null;
  if (known !== undefined && known.streams.length > 0) {
    const newest = Math.max(...known.streams.map(({ received_ms }) => received_ms));
    page = completePage(known, await request(String(newest)));
  }
  page ??= await request();
  pages.set(key, page);
  return page;
}

/** `null` if the page has a stream or a revision that is not known. */
export function completePage(known: StreamPage, { streams, unchanged, next }: StreamPage): StreamPage | null {
  const byId = new Map(known.streams.map((row) => [row.id, row]));
  const rows: StreamReport[] = [...streams];
  for (const { index, id, rev } of unchanged ?? []) {
    const row = byId.get(id);
    if (row === undefined || (row.rev ?? 0) !== rev) return null;
    // In the order of the page, so each row lands at its own index.
    rows.splice(index, 0, row);
  }
  return { streams: rows, next };
}
