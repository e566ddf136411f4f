/** The collector's `/v1` routes, and its line for pages: query in, typed answer out. Nothing else in the dashboard calls `fetch`. */
import type {
  Abandonment,
  Accounting,
  Breakdown,
  Compare,
  Dimension,
  Filters,
  Heatmap,
  HistogramAnswer,
  Metric,
  Outcome,
  Range,
  Sample,
  Slo,
  StreamPage,
  StreamReport,
  Summary,
  Timeseries,
  Wait,
} from "./api-types";

export interface Window {
  range: Range;
  filters: Filters;
}

/** The collector answered, but not with what was asked for. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Something answered, as a login page or another server does, but no collector. */
export class Foreign extends Error {}

/** Why there is no answer, as a sentence. */
export function whyNot(error: unknown): string {
  if (error instanceof Refused) return `The collector answers with an error: ${error.message} (${error.code}).`;
  if (error instanceof Foreign) return "What answers here is no collector: it sent something else than JSON.";
  return "The collector cannot be reached.";
}

/** Where and as whom to ask. */
export interface Access {
  token: string | null;
  signal?: AbortSignal;
}

/** A collector that hangs takes connections and says nothing: after this long it counts as one that is away. */
export const LIMIT_MS = 20_000;

type Query = Record<string, string | undefined>;

export const getSummary = (window: Window, access: Access) =>
  get<Summary>("v1/summary", windowQuery(window), access);

/** `step` is in seconds; without one the collector takes the finest that it has for so long a range. */
export const getTimeseries = (window: Window, metric: Metric, step: number | null, access: Access) =>
  get<Timeseries>("v1/timeseries", { ...windowQuery(window), metric, step: step?.toString() }, access);

export const getHistogram = (window: Window, metric: Metric, access: Access) =>
  get<HistogramAnswer>("v1/histogram", { ...windowQuery(window), metric }, access);

/** `step` is in seconds. */
export const getHeatmap = (window: Window, metric: Metric, step: number, access: Access) =>
  get<Heatmap>("v1/heatmap", { ...windowQuery(window), metric, step: String(step) }, access);

export const getAbandonment = (window: Window, metric: Wait, access: Access) =>
  get<Abandonment>("v1/abandonment", { ...windowQuery(window), metric }, access);

export const getBreakdown = (
  window: Window,
  asked: { by: Dimension; metric: Metric; limit: number },
  access: Access,
) => get<Breakdown>("v1/breakdown", { ...windowQuery(window), ...asked, limit: String(asked.limit) }, access);

/** The use cases with the most streams in the newest 30 days. */
export const getUseCases = (filters: Filters, limit: number, access: Access) =>
  get<Breakdown>("v1/breakdown", { ...filters, range: "30d", by: "use_case", limit: String(limit) }, access);

export const getSlo = (filters: Filters, access: Access) => get<Slo>("v1/slo", filters, access);

/** The key that the collector would name in a page; it says none to whoever may not read. */
export const getSiteKey = async (access: Access) => (await get<{ site: string }>("snippet.json", {}, access)).site;

export const getAccounting = (access: Access) => get<Accounting>("v1/accounting", {}, access);

/** `step` is in seconds. */
export const getCompare = (window: Window, step: number, access: Access) =>
  get<Compare>("v1/compare", { ...windowQuery(window), step: String(step) }, access);

/** Which of the streams, and from which page on. */
export interface Wanted {
  sample?: Sample;
  outcome?: Outcome;
  cursor?: string;
}

export const getStreams = (window: Window, wanted: Wanted, access: Access) =>
  get<StreamPage>("v1/streams", { ...windowQuery(window), ...wanted, limit: "50" }, access);

/** The newest stream with these filters, of all that are kept. */
export async function getNewest(filters: Filters, access: Access): Promise<StreamReport | null> {
  const page = await get<StreamPage>("v1/streams", { ...filters, limit: "1" }, access);
  return page.streams[0] ?? null;
}

export const getStream = (id: string, access: Access) =>
  get<StreamReport>(`v1/streams/${encodeURIComponent(id)}`, {}, access);

function windowQuery({ range, filters }: Window): Query {
  return { range, ...filters };
}

/** What happens now, as the bytes of an event stream. An `EventSource` could show no token. */
export async function openLive(filters: Filters, access: Access): Promise<ReadableStream<BufferSource>> {
  const { body } = await ask("v1/live", filters, "text/event-stream", access);
  if (body === null) throw new TypeError("an answer without a body");
  return body;
}

async function get<Answer>(route: string, query: Query, { token, signal }: Access): Promise<Answer> {
  // Not by AbortSignal.any: it is younger than the oldest Firefox that shows this page.
  const mine = new AbortController();
  const stop = () => mine.abort();
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop);
  const limit = setTimeout(stop, LIMIT_MS);
  try {
    const response = await ask(route, query, "application/json", { token, signal: mine.signal });
    return (await response.json()) as Answer;
  } catch (error) {
    throw error instanceof SyntaxError ? new Foreign(error.message) : error;
  } finally {
    clearTimeout(limit);
    signal?.removeEventListener("abort", stop);
  }
}

async function ask(route: string, query: Query, accept: string, access: Access): Promise<Response> {
  const address = new URL(route, document.baseURI);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) address.searchParams.set(name, value);
  }
  const headers: Record<string, string> = { Accept: accept };
  if (access.token) headers["Authorization"] = `Bearer ${access.token}`;
  const response = await fetch(address, { headers, cache: "no-store", signal: access.signal ?? null });
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response: Response): Promise<Refused> {
  const fallback = { code: `http_${response.status}`, message: `status ${response.status}` };
  // A proxy in between may answer with a page of its own: the status then is all there is to say.
  const body = (await response.json().catch(() => null)) as { error?: typeof fallback } | null;
  const { code, message } = { ...fallback, ...body?.error };
  return new Refused(response.status, code, message);
}
