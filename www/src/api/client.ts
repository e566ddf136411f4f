/** Client of the collector's `/v1` routes and of its site key. This file alone calls `fetch`. */
import type { Filters, Dimension, OfDurations, SampleKind, StreamReport } from "./api-types";
import { EarlierResponses, requestPage, requestSeries } from "./changes";
import type { Metric, WaitMetric } from "./metrics";
import { rangeQuery, type Range } from "./range";
import type { Affected, Responses, ServerSide } from "./schemas";

export interface QueryWindow {
  range: Range;
  filters: Filters;
}

/** The collector responded with an error status. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** The response is not JSON. A login page or another server answers at this address. */
export class UnexpectedResponse extends Error {}

/** The reason of a failed request, as a sentence. */
export function errorMessage(error: unknown): string {
  if (error instanceof ApiError) return `The collector returned an error: ${error.message} (${error.code}).`;
  if (error instanceof UnexpectedResponse) return "Unexpected response (not JSON). Is this URL an llm-rum collector?";
  return "The collector cannot be reached.";
}

/** Cancellation of a request. The browser adds the session cookie. */
export interface RequestOptions {
  signal?: AbortSignal;
}

/** A hanging collector accepts connections and never responds. */
export const REQUEST_TIMEOUT_MS = 20_000;

type Query = Record<string, string | readonly string[] | undefined>;
type Method = "GET" | "POST" | "DELETE";

export const getSummary = (window: QueryWindow, compareTo: string | null, options: RequestOptions) =>
  get("v1/summary", { ...windowQuery(window), compare_to: compareTo ?? undefined }, options);

/** `step` is in seconds. Without it the collector takes its finest step for the range. */
export interface SeriesQuery {
  metric: Metric;
  step?: number;
  compareTo: string | null;
}

export const getTimeseries = (window: QueryWindow, series: SeriesQuery, options: RequestOptions) => {
  const { metric, step, compareTo } = series;
  const own = { metric, step: step?.toString(), compare_to: compareTo ?? undefined };
  const query = { ...windowQuery(window), ...own };
  return requestSeries(keyOf("v1/timeseries", query), (since) => get("v1/timeseries", { ...query, since }, options));
};

export const getPhases = (asked: QueryWindow & { step_ms?: number; by?: string }, options: RequestOptions) =>
  get(
    "v1/phases",
    { ...windowQuery(asked), step: asked.step_ms ? String(asked.step_ms / 1000) : undefined, by: asked.by, limit: "20" },
    options,
  );

export const getExplanation = (window: QueryWindow, of: Affected, options: RequestOptions) =>
  get("v1/explain", { ...windowQuery(window), of }, options);

export const getReleases = (window: QueryWindow, options: RequestOptions) =>
  get("v1/releases", windowQuery(window), options);

export const getVisits = (window: QueryWindow, options: RequestOptions) =>
  get("v1/visits", windowQuery(window), options);

export const getMarkers = (window: QueryWindow, options: RequestOptions, kind?: string) =>
  get("v1/markers", { ...windowQuery(window), kind }, options);

export const getHistogram = (window: QueryWindow, metric: Metric, options: RequestOptions) =>
  ofDurations(get("v1/histogram", { ...windowQuery(window), metric }, options));

/** `step` is in seconds. */
export const getHeatmap = (window: QueryWindow, metric: Metric, step: number, options: RequestOptions) =>
  ofDurations(get("v1/heatmap", { ...windowQuery(window), metric, step: String(step) }, options));

/** The view has no metric that is a rate, so the buckets are in milliseconds. */
async function ofDurations<Answer>(answer: Promise<Answer>): Promise<OfDurations<Answer>> {
  return (await answer) as OfDurations<Answer>;
}

export const getAbandonment = (window: QueryWindow, metric: WaitMetric, options: RequestOptions) =>
  get("v1/abandonment", { ...windowQuery(window), metric }, options);

export const getBreakdown = (
  window: QueryWindow,
  groups: { by: Dimension; metric: Metric; limit: number },
  options: RequestOptions,
) => get("v1/breakdown", { ...windowQuery(window), ...groups, limit: String(groups.limit) }, options);

/** The use cases with the most streams in the last 30 days. */
export const getSlo = (filters: Filters, options: RequestOptions) => get("v1/slo", filters, options);

/** The site key for the script tag. The collector returns it only to clients that may read. */
export async function getSiteKey(options: RequestOptions): Promise<string> {
  const { site } = await getJson<{ site: string }>("snippet.json", {}, options);
  return site;
}

export const getRefusals = (options: RequestOptions) => get("v1/refusals", {}, options);

export const getAccounting = (options: RequestOptions) => get("v1/accounting", {}, options);

/** `step` is in seconds. */
export const getCompare = (
  window: QueryWindow,
  { compareTo, step, layer }: Pick<SeriesQuery, "compareTo" | "step"> & { layer: ServerSide },
  options: RequestOptions,
) => {
  const query = { ...windowQuery(window), step: step?.toString(), compare_to: compareTo ?? undefined, layer };
  return requestSeries(keyOf("v1/compare", query), (since) => get("v1/compare", { ...query, since }, options));
};

export const getServerLayers = (window: QueryWindow, options: RequestOptions) =>
  get("v1/server-layers", windowQuery(window), options);

export const getEngines = (window: QueryWindow, options: RequestOptions) =>
  get("v1/engines", windowQuery(window), options);

/** Selects the streams of a list and its page. */
export interface StreamQuery {
  sample?: SampleKind;
  cursor?: string;
}

export const getStreams = (window: QueryWindow, streams: StreamQuery, options: RequestOptions) => {
  const query = { ...windowQuery(window), ...streams, limit: "50" };
  return requestPage(keyOf("v1/streams", query), (since) => get("v1/streams", { ...query, since }, options));
};

/** The newest stored stream that matches the filters. */
export async function getNewest(filters: Filters, options: RequestOptions): Promise<StreamReport | null> {
  const page = await get("v1/streams", { ...filters, limit: "1" }, options);
  return page.streams[0] ?? null;
}

export const getStream = (id: string, options: RequestOptions) =>
  getJson<Responses["v1/streams/{id}"]>(`v1/streams/${encodeURIComponent(id)}`, {}, options);

const keyOf = (route: string, query: Query) => addressOf(route, query).href;

function windowQuery({ range, filters }: QueryWindow): Query {
  return { ...rangeQuery(range), ...filters };
}

/** Who the collector takes the browser for. */
export const getSession = (options: RequestOptions) => get("v1/session", {}, options);

/** Exchanges a token for the session cookie. */
export const signIn = (token: string) =>
  answerOf<Responses["v1/session"]>("POST", "v1/session", {}, {}, { token });

/** Removes the session cookie. */
export async function signOut(): Promise<void> {
  await request("DELETE", addressOf("v1/session", {}), JSON_HEADERS, {});
}

/** Opens the live feed. An `EventSource` would hide the reason of a refusal. */
export async function openLive(filters: Filters, options: RequestOptions): Promise<ReadableStream<BufferSource>> {
  const { body } = await request("GET", addressOf("v1/live", filters), { Accept: "text/event-stream" }, options);
  if (body === null) throw new TypeError("response without a body");
  return body;
}

function get<Route extends keyof Responses>(
  route: Route,
  query: Query,
  options: RequestOptions,
): Promise<Responses[Route]> {
  return getJson(route, query, options);
}

const getJson = <Answer>(path: string, query: Query, options: RequestOptions) =>
  answerOf<Answer>("GET", path, query, options);

async function answerOf<Answer>(
  method: Method,
  path: string,
  query: Query,
  { signal }: RequestOptions,
  body?: object,
): Promise<Answer> {
  // `AbortSignal.any` is missing in the oldest supported Firefox.
  const controller = new AbortController();
  const stop = () => controller.abort();
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop);
  const timeout = setTimeout(stop, REQUEST_TIMEOUT_MS);
  const address = addressOf(path, query);
  const known = method === "GET" ? responses.get(address.href) : undefined;
  const headers = known ? { ...JSON_HEADERS, "If-None-Match": known.tag } : JSON_HEADERS;
  try {
    const response = await request(method, address, headers, { signal: controller.signal }, body);
    if (known && response.status === NOT_MODIFIED) return known.answer as Answer;
    const answer = (await response.json()) as Answer;
    const tag = response.headers.get("ETag");
    if (method === "GET" && tag !== null) responses.set(address.href, { tag, answer });
    return answer;
  } catch (error) {
    throw error instanceof SyntaxError ? new UnexpectedResponse(error.message) : error;
  } finally {
    clearTimeout(timeout);
    signal?.removeEventListener("abort", stop);
  }
}

/** Responses with their `ETag`, by address. They stay out of the browser's cache, which outlives the session. */
const responses = new EarlierResponses<{ tag: string; answer: unknown }>();

const JSON_HEADERS = { Accept: "application/json" };
const NOT_MODIFIED = 304;

function addressOf(route: string, query: Query): URL {
  const address = new URL(route, document.baseURI);
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value ?? []].flat()) address.searchParams.append(name, one);
  }
  return address;
}

async function request(
  method: Method,
  address: URL,
  headers: Record<string, string>,
  options: RequestOptions,
  body?: object,
): Promise<Response> {
  const response = await fetch(address, {
    method,
    headers: body ? { ...headers, "Content-Type": "application/json" } : headers,
    body: body ? JSON.stringify(body) : null,
    cache: "no-store",
    signal: options.signal ?? null,
  });
  if (!response.ok && response.status !== NOT_MODIFIED) throw await apiErrorOf(response);
  return response;
}

async function apiErrorOf(response: Response): Promise<ApiError> {
  const fallback = { code: `http_${response.status}`, message: `status ${response.status}` };
  // A proxy can respond with its own page; then only the status is known.
  const body = (await response.json().catch(() => null)) as { error?: typeof fallback } | null;
  const { code, message } = { ...fallback, ...body?.error };
  return new ApiError(response.status, code, message);
}
