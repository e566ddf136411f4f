import { afterEach, beforeEach, expect, it, vi } from "vitest";

const ID = "9f86d081884c7d659a2feaa0c55ad015";
const TOKEN = "a-token-of-16-bytes";
const NONE = { n: 0 };
const QUIET: Record<string, unknown> = {
  summary: {
    ...{ streams: 1, open: 0, use_cases: 1, targets: {}, by_use_case: [], ttfv: NONE },
    previous: { from: 60_000, to: 120_000 },
  },
  timeseries: { step_ms: 60_000, points: [] },
  histogram: { buckets: [] },
  abandonment: { points: [] },
  compare: { points: [] },
  breakdown: { groups: [] },
  streams: { streams: [], next: null },
  [`streams/${ID}`]: { id: ID, open: false },
};

type Answer = (address: URL, init: RequestInit) => Response | Promise<Response>;

let answer: Answer;
let requests: URL[];

beforeEach(() => {
  vi.useFakeTimers();
  requests = [];
  answer = defaultAnswer;
  const listen = { addEventListener: () => undefined };
  vi.stubGlobal("location", { search: `?stream=${ID}`, pathname: "/" });
  vi.stubGlobal("history", { pushState: () => undefined });
  vi.stubGlobal("document", { baseURI: "http://collector.test/", hidden: false, ...listen });
  vi.stubGlobal("fetch", (address: URL, init: RequestInit) => {
    requests.push(address);
    return Promise.resolve(answer(address, init));
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** The page after its first load. */
async function opened() {
  const [feed, state] = [await import("../src/polling/feed"), await import("../src/state")];
  feed.startFeed();
  await vi.advanceTimersByTimeAsync(0);
  return { ...feed, ...state };
}

function defaultAnswer({ pathname }: URL): Response {
  return Response.json(QUIET[pathname.replace("/v1/", "")] ?? {});
}

const refused = (status: number, code: string) =>
  Response.json({ error: { code, message: `because of ${code}` } }, { status });

it("a link to a stream opens it after an outage", async () => {
  answer = () => refused(503, "storage_unavailable");
  const page = await opened();
  expect([page.connection.value.kind, page.opened.value]).toEqual(["failed", null]);
  answer = defaultAnswer;
  await vi.advanceTimersByTimeAsync(page.REFRESH_MS);
  expect(page.connection.value.kind).toBe("open");
  expect(page.opened.value).toEqual({ report: QUIET[`streams/${ID}`] });
});

/** A collector that wants `TOKEN` once, for a cookie that the page does not see. */
function lockedCollector() {
  const session = { signed_in_by: "session", name: "ops" };
  const sent: RequestInit[] = [];
  let isSignedIn = false;
  answer = (address, init) => {
    sent.push(init);
    if (address.pathname !== "/v1/session") {
      return isSignedIn ? defaultAnswer(address) : refused(401, "unauthorized");
    }
    if (init.method === "POST") isSignedIn = init.body === JSON.stringify({ token: TOKEN });
    if (init.method === "DELETE") isSignedIn = false;
    if (init.method === "DELETE") return new Response(null, { status: 204 });
    return isSignedIn ? Response.json(session) : refused(401, "wrong_token");
  };
  return { session, sent };
}

it("a link to a stream opens it after the login", async () => {
  const { session, sent } = lockedCollector();
  const page = await opened();
  expect([page.connection.value.kind, page.opened.value]).toEqual(["locked", null]);
  expect(await page.login(TOKEN)).toBeNull();
  await vi.advanceTimersByTimeAsync(0);
  expect(page.opened.value).toEqual({ report: QUIET[`streams/${ID}`] });
  expect(page.session.value).toEqual(session);
  expect(JSON.stringify(sent).split(TOKEN).length - 1).toBe(1);
});

it("a rejected token leaves the page locked", async () => {
  lockedCollector();
  const page = await opened();
  expect(await page.login("another-token-of-24-byte")).toBe("Token rejected.");
  expect(page.connection.value.kind).toBe("locked");
  answer = () => refused(429, "too_many_wrong_tokens");
  expect(await page.login(TOKEN)).toContain("because of too_many_wrong_tokens");
});

it("a sign-out forgets everything by loading the page again", async () => {
  const { session } = lockedCollector();
  const reload = vi.fn();
  vi.stubGlobal("location", { search: "", pathname: "/", reload });
  const page = await opened();
  await page.login(TOKEN);
  await vi.advanceTimersByTimeAsync(0);
  expect(page.session.value).toEqual(session);
  await page.logout();
  expect(reload).toHaveBeenCalledOnce();
  await vi.advanceTimersByTimeAsync(page.REFRESH_MS);
  expect(page.connection.value.kind).toBe("locked");
});

it("a stream opens once its report has arrived", async () => {
  answer = (address) => (address.pathname.endsWith(ID) ? refused(404, "unknown_stream") : defaultAnswer(address));
  const page = await opened();
  expect(page.opened.value).toEqual({ missing: "because of unknown_stream", mayArrive: true });
  answer = defaultAnswer;
  await vi.advanceTimersByTimeAsync(page.REFRESH_MS);
  expect(page.opened.value).toEqual({ report: QUIET[`streams/${ID}`] });
});

it("a stream that timed out opens once the list has it", async () => {
  answer = (address) => (address.pathname.endsWith(ID) ? refused(404, "unknown_stream") : defaultAnswer(address));
  const page = await opened();
  await vi.advanceTimersByTimeAsync(5 * page.REFRESH_MS);
  expect(page.opened.value).toMatchObject({ mayArrive: false });
  answer = (address) =>
    address.pathname === "/v1/streams" ? Response.json({ streams: [{ id: ID }], next: null }) : defaultAnswer(address);
  await vi.advanceTimersByTimeAsync(page.REFRESH_MS);
  expect(page.opened.value).toEqual({ report: QUIET[`streams/${ID}`] });
});

it("a missing stream times out", async () => {
  const ofStream = () => requests.filter(({ pathname }) => pathname.endsWith(ID)).length;
  answer = (address) => (address.pathname.endsWith(ID) ? refused(404, "unknown_stream") : defaultAnswer(address));
  const page = await opened();
  await vi.advanceTimersByTimeAsync(4 * page.REFRESH_MS);
  expect(page.opened.value).toEqual({ missing: "because of unknown_stream", mayArrive: false });
  const before = ofStream();
  await vi.advanceTimersByTimeAsync(3 * page.REFRESH_MS);
  expect(ofStream()).toBe(before);
});

it("the collector chooses the step of its windows", async () => {
  answer = (address) =>
    address.pathname === "/v1/timeseries" ? Response.json({ step_ms: 3_600_000, points: [] }) : defaultAnswer(address);
  await opened();
  const steps = (route: string) =>
    requests.filter(({ pathname }) => pathname === `/v1/${route}`).map(({ searchParams }) => searchParams.get("step"));
  expect([steps("timeseries"), steps("compare")]).toEqual([[null, "3600"], ["3600"]]);
});

it("the figures of the compared period are those of its times", async () => {
  vi.stubGlobal("location", { search: "?compare_to=week&range=24h&model=large", pathname: "/" });
  const page = await opened();
  const asking = requests.filter(({ searchParams }) => searchParams.get("compare_to") === "week");
  const routes = ["/v1/summary", "/v1/timeseries", "/v1/compare"];
  expect(new Set(asking.map(({ pathname }) => pathname))).toEqual(new Set(routes));
  const ofPeriod = requests.filter(({ searchParams }) => searchParams.has("from"));
  expect(ofPeriod.map(({ pathname, search }) => pathname + search)).toEqual([
    "/v1/summary?from=60000&to=120000&model=large",
  ]);
  expect(page.dashboardData.value?.earlier?.kind).toBe("known");
});

it("no period is compared unless the view names one", async () => {
  const page = await opened();
  expect(requests.some(({ searchParams }) => searchParams.has("compare_to") || searchParams.has("from"))).toBe(false);
  expect(page.dashboardData.value?.earlier).toBeNull();
});

it("every panel asks for fixed times", async () => {
  vi.stubGlobal("location", { search: "?from=60000&to=120000", pathname: "/" });
  await opened();
  const ofPanels = requests.filter(({ pathname }) => pathname !== "/v1/session");
  const inRange = ofPanels.filter(({ searchParams }) => searchParams.get("from") === "60000");
  expect(inRange.length).toBe(ofPanels.length);
  expect(inRange.every(({ searchParams }) => searchParams.get("to") === "120000")).toBe(true);
  expect(inRange.some(({ searchParams }) => searchParams.has("range"))).toBe(false);
});

it("a failed panel leaves the other panels alone", async () => {
  vi.stubGlobal("location", { search: "?drawing=heatmap", pathname: "/" });
  const panels = ["abandonment", "breakdown", "compare", "heatmap"] as const;
  answer = (address) =>
    panels.some((route) => address.pathname === `/v1/${route}`) ? refused(400, "bad_query") : defaultAnswer(address);
  const page = await opened();
  expect([page.connection.value.kind, page.screen.value]).toEqual(["open", "ready"]);
  const failed = { kind: "failed", message: "The collector returned an error: because of bad_query (bad_query)." };
  expect(panels.map((route) => page.dashboardData.value?.[route])).toEqual(Array(4).fill(failed));
});

it("an aborted request is not shown as failed", async () => {
  answer = (address, init) =>
    address.pathname === "/v1/compare" ? neverAnswers(address, init) : defaultAnswer(address);
  const page = await opened();
  const shown: (string | undefined)[] = [];
  page.dashboardData.subscribe((answers) => shown.push(answers?.compare.kind));
  answer = defaultAnswer;
  await page.refresh();
  expect(shown).toEqual([undefined, "known"]);
});

it("no stream at all is empty with any outcome filter", async () => {
  vi.stubGlobal("location", { search: "?outcome=timeout", pathname: "/" });
  answer = (address) =>
    address.pathname === "/v1/summary"
      ? Response.json({ ...(QUIET["summary"] as object), streams: 0 })
      : defaultAnswer(address);
  expect((await opened()).screen.value).toBe("empty");
  vi.resetModules();
  answer = defaultAnswer;
  expect((await opened()).screen.value).toBe("ready");
});

it("a chosen outcome filters every request until it is undone", async () => {
  const page = await opened();
  for (const chosen of [["timeout", "empty"], []]) {
    requests = [];
    page.toggleOnly("outcome", ["timeout", "empty"]);
    await vi.advanceTimersByTimeAsync(0);
    expect(page.isOnly("outcome", ["empty", "timeout"])).toBe(chosen.length > 0);
    expect(requests.length).toBeGreaterThan(5);
    const queries = requests.filter(({ pathname }) => pathname !== "/v1/session");
    for (const { pathname, searchParams } of queries) expect(searchParams.getAll("outcome"), pathname).toEqual(chosen);
  }
});

it("an older page is loaded again if the list has changed", async () => {
  const rows = (...ids: string[]) => ids.map((id) => ({ id, received_ms: 1 }));
  let newest = { streams: rows("d", "c"), next: "c" };
  let answerLate = () => undefined as void;
  answer = (address) => {
    if (address.pathname !== "/v1/streams") return defaultAnswer(address);
    const cursor = address.searchParams.get("cursor");
    if (cursor === null) return Response.json(newest);
    if (cursor === "e") return Response.json({ streams: rows("d", "c"), next: "c" });
    return new Promise((resolve) => {
      answerLate = () => resolve(Response.json({ streams: rows("b", "a"), next: null }));
    });
  };
  const page = await opened();
  const older = page.loadOlder();
  await vi.advanceTimersByTimeAsync(0);
  newest = { streams: rows("f", "e"), next: "e" };
  await page.refresh();
  answerLate();
  await older;
  expect(page.rows.value.map(({ id }) => id).join("")).toBe("fedc");
});

/** Like a stopped process: accepts the request and never responds. */
const neverAnswers: Answer = (_, { signal }) =>
  new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));

it("a hanging collector counts as unreachable", async () => {
  const page = await opened();
  const { REQUEST_TIMEOUT_MS } = await import("../src/api/client");
  const at = page.dashboardData.value?.loadedAt;
  answer = neverAnswers;
  await vi.advanceTimersByTimeAsync(page.REFRESH_MS + REQUEST_TIMEOUT_MS);
  expect(page.connection.value).toEqual({ kind: "failed", message: "The collector cannot be reached." });
  expect([page.screen.value, page.dashboardData.value?.loadedAt]).toEqual(["error", at]);
  answer = defaultAnswer;
  await vi.advanceTimersByTimeAsync(page.REFRESH_MS);
  expect(page.connection.value.kind).toBe("open");
});

it("a response that has not changed is not loaded again", async () => {
  const sent: (string | undefined)[] = [];
  answer = (address, init) => {
    if (address.pathname !== "/v1/histogram") return defaultAnswer(address);
    const tag = (init.headers as Record<string, string>)["If-None-Match"];
    sent.push(tag);
    if (tag === 'W/"1"') return new Response(null, { status: 304 });
    return Response.json({ n: 3, buckets: [] }, { headers: { etag: 'W/"1"' } });
  };
  const page = await opened();
  await page.refresh();
  expect(sent).toEqual([undefined, 'W/"1"']);
  expect(page.dashboardData.value?.histogram.n).toBe(3);
});

it("old data stays readable during an outage", async () => {
  const page = await opened();
  answer = neverAnswers;
  page.setRange("6h");
  expect([page.isStale.value, page.isViewLoading.value]).toEqual([true, true]);
  const { REQUEST_TIMEOUT_MS } = await import("../src/api/client");
  await vi.advanceTimersByTimeAsync(REQUEST_TIMEOUT_MS);
  expect([page.isStale.value, page.isViewLoading.value]).toEqual([true, false]);
  await vi.advanceTimersByTimeAsync(page.REFRESH_MS);
  expect([page.busy.value, page.isViewLoading.value]).toEqual([true, false]);
  answer = defaultAnswer;
  await page.refresh();
  expect(page.isStale.value).toBe(false);
});

it("a body without an end times out", async () => {
  const never = (signal: AbortSignal | null | undefined) =>
    new ReadableStream({
      start: (body) => signal?.addEventListener("abort", () => body.error(signal.reason)),
    });
  answer = (_, { signal }) => new Response(never(signal));
  const page = await opened();
  const { REQUEST_TIMEOUT_MS } = await import("../src/api/client");
  await vi.advanceTimersByTimeAsync(REQUEST_TIMEOUT_MS);
  expect(page.connection.value.kind).toBe("failed");
});

it("a new view aborts the requests of the old view", async () => {
  answer = neverAnswers;
  const page = await opened();
  answer = defaultAnswer;
  await page.refresh();
  expect(page.connection.value.kind).toBe("open");
});

it("a response that is not JSON has its own message", async () => {
  answer = () => new Response("<!doctype html><title>Sign in</title>");
  const page = await opened();
  expect(page.connection.value).toEqual({
    kind: "failed",
    message: "Unexpected response (not JSON). Is this URL an llm-rum collector?",
  });
});

it("budgets of other filters are never shown", async () => {
  const page = await opened();
  const { startSlowPoll } = await import("../src/polling/slow-poll");
  startSlowPoll();
  await vi.advanceTimersByTimeAsync(0);
  expect(page.budgets.value.kind).toBe("known");
  answer = (address, init) => (address.pathname === "/v1/slo" ? neverAnswers(address, init) : defaultAnswer(address));
  page.setFilter("use_case", "coding");
  await vi.advanceTimersByTimeAsync(0);
  expect(page.budgets.value.kind).toBe("loading");
});

it("an empty range looks for streams with its filters first", async () => {
  const [mine, theirs] = [{ id: "mine" }, { id: "theirs" }];
  vi.stubGlobal("location", { search: "?site=shop&model=large", pathname: "/" });
  answer = (address) => {
    const { pathname, searchParams: query } = address;
    if (pathname === "/v1/summary") return Response.json({ ...(QUIET["summary"] as object), streams: 0 });
    if (pathname !== "/v1/streams" || query.has("range")) return defaultAnswer(address);
    const hasFilters = query.get("site") === "shop" && query.get("model") === "large";
    return Response.json({ streams: [hasFilters ? mine : theirs], next: null });
  };
  const page = await opened();
  expect(page.outsideRange.value).toEqual({ newest: mine, newestOfAll: theirs, siteKey: null });
});

it("the script tag has the site key if the collector names it", async () => {
  answer = (address) => {
    if (address.pathname === "/v1/summary") return Response.json({ ...(QUIET["summary"] as object), streams: 0 });
    return address.pathname === "/snippet.json" ? Response.json({ site: "pk_live_1" }) : defaultAnswer(address);
  };
  const page = await opened();
  expect(page.outsideRange.value?.siteKey).toBe("pk_live_1");
  const named = answer;
  answer = (address, init) =>
    address.pathname === "/snippet.json" ? refused(403, "unknown_site") : named(address, init);
  await page.refresh();
  expect([page.connection.value.kind, page.outsideRange.value?.siteKey]).toEqual(["open", null]);
});

it("charts follow the wait that the use cases have targets for", async () => {
  const endToEnd = { ...(QUIET["summary"] as object), by_use_case: [{ metric: "e2e" }] };
  answer = (address) =>
    address.pathname === "/v1/summary" ? Response.json(endToEnd) : defaultAnswer(address);
  const page = await opened();
  const metrics = () => requests.flatMap(({ searchParams }) => searchParams.get("metric") ?? []);
  // The output rate has a chart of its own.
  expect(metrics().filter((metric) => metric !== "output_rate").at(-1)).toBe("e2e");
  expect([page.dashboardData.value?.metric, page.defaultMetric.value]).toEqual(["e2e", "e2e"]);
  requests = [];
  await vi.advanceTimersByTimeAsync(page.REFRESH_MS);
  // The curve of abandonment is about the first token.
  expect(new Set(metrics())).toEqual(new Set(["e2e", "ttfv", "output_rate"]));
  page.setMetric("ttfv");
  await vi.advanceTimersByTimeAsync(0);
  expect([page.dashboardData.value?.metric, page.view.value.metric]).toEqual(["ttfv", "ttfv"]);
  page.setMetric("e2e");
  expect(page.view.value.metric).toBeNull();
});
