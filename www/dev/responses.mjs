/** Responses of the `/v1` routes, computed from the raw values of invented stream reports. */
import { abandonmentCurve, kmAdjusted } from "./kaplan-meier.mjs";

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
const RANGES = { "15m": 15, "1h": 60, "6h": 360, "24h": 1440, "7d": 10080, "30d": 43200 };
const NOT_ELIGIBLE = ["aborted", "abandoned", "unobserved"];
const CONTENT_DEFECTS = ["malformed", "invalid_utf8", "sequence_gap", "spliced", "html_in_stream", "oversize"];
const TARGETS = {
  use_case: "chat",
  ttft_p50_ms: 1000,
  ttft_p95_ms: 2000,
  ttft_p99_ms: 5000,
  tpot_ms: 80,
  availability: 0.995,
};

const METRICS = {
  ttfv: (s) => [s.ttfv_ms],
  ttft: (s) => [s.ttft_ms],
  ttfp: (s) => [s.ttfp_ms],
  server_ttft: (s) => [s.server?.ttft_ms],
  overhead: (s) => [s.server && Math.max(0, s.ttft_ms - s.server.ttft_ms)],
  e2e: (s) => [s.e2e_ms],
  generation: (s) => (s.e2e_ms && s.ttft_ms ? [s.e2e_ms - s.ttft_ms] : []),
  tpot: (s) => [s.tpot_ms],
  inter_chunk_latency: (s) => gapValues(s.gaps),
};

export function windowOf(query, now) {
  const range = query.get("range") ?? "1h";
  if (!(range in RANGES)) throw new Error(`unknown range ${range}`);
  return { from: now - RANGES[range] * MINUTE, to: now };
}

export function select(streams, query, { from, to }) {
  const dimensions = ["site", "use_case", "provider", "country"].filter((name) => query.get(name));
  return streams.filter((s) => {
    if (s.received_ms < from || s.received_ms >= to) return false;
    if (query.get("model") && (s.model ?? s.response_model ?? "unknown") !== query.get("model")) return false;
    return dimensions.every((name) => (s[name] ?? "unknown") === query.get(name));
  });
}

export function live(streams, query, now) {
  const to = Math.floor(now / MINUTE) * MINUTE + MINUTE;
  const window = { from: to - 5 * MINUTE, to };
  const all = select(streams, query, { from: 0, to: Infinity });
  const ended = all.filter((s) => !s.open).sort((one, other) => other.received_ms - one.received_ms);
  const minute = ended.filter((s) => s.received_ms > now - MINUTE);
  const recent = select(ended, query, window);
  return {
    timestamp_ms: now,
    scope: "collector",
    open: all.length - ended.length,
    ended: { seconds: 60, streams: minute.length, outcomes: countBy(minute.map((s) => s.outcome)) },
    reports_per_second: minute.filter((s) => s.received_ms > now - 10_000).length / 5,
    ...window,
    ttfv: percentiles(recent, "ttfv"),
    ttft: percentiles(recent, "ttft"),
    streams: ended.slice(0, 10),
  };
}

export function summary(streams, query, window) {
  const length = window.to - window.from;
  const selected = select(streams, query, window);
  const ended = selected.filter((s) => !s.open);
  const before = streamStats(select(streams, query, { from: window.from - length, to: window.from }));
  const now = streamStats(ended);
  return {
    ...window,
    streams: ended.length,
    open: selected.length - ended.length,
    outcomes: countBy(ended.map((s) => s.outcome)),
    defects: countBy(ended.flatMap((s) => Object.keys(s.defects ?? {}))),
    ...Object.fromEntries(Object.keys(METRICS).map((metric) => [metric, percentiles(ended, metric)])),
    integrity: now.integrity,
    availability: now.availability,
    goodput: { ...now.goodput, per_second: now.goodput.good / (length / 1000) },
    errors: now.errors,
    output_tokens: ended.reduce((sum, s) => sum + (s.output_tokens ?? 0), 0),
    targets: TARGETS,
    use_cases: 1,
    previous: {
      ttfv: before.ttfv,
      integrity: before.integrity,
      goodput: before.goodput,
      streams: before.streams,
      errors: before.errors,
    },
    verdict: verdict(now),
  };
}

function streamStats(streams) {
  const eligible = streams.filter((s) => !NOT_ELIGIBLE.includes(s.outcome));
  const failed = eligible.filter((s) => s.outcome !== "complete");
  const intact = eligible.filter((s) => s.outcome === "complete" && !CONTENT_DEFECTS.some((name) => s.defects?.[name]));
  const withinSlo = intact.filter((s) => s.ttfv_ms <= TARGETS.ttft_p95_ms && (s.tpot_ms ?? 0) <= TARGETS.tpot_ms);
  return {
    streams: streams.length,
    ttfv: percentiles(streams, "ttfv"),
    integrity: ratio(intact.length, eligible.length),
    availability: ratio(eligible.length - failed.length, eligible.length),
    goodput: ratio(withinSlo.length, eligible.length),
    errors: {
      count: failed.length,
      total: eligible.length,
      ...(eligible.length && { ratio: failed.length / eligible.length }),
    },
  };
}

function verdict({ ttfv, errors, streams }) {
  if (streams === 0) return { level: "none", text: "No streams ended in this range." };
  const s = (ms) => `${(ms / 1000).toFixed(1)} s`;
  const wait = `Time to first visible token is ${s(ttfv.p50_ms)} (p50) and ${s(ttfv.p95_ms)} (p95)`;
  if (ttfv.p95_ms > 2000) return { level: "bad", text: `${wait}, above the 2.0 s p95 target for chat.` };
  if (errors.ratio > 0.005)
    return {
      level: "warn",
      text: `${wait}, within the targets for chat; but ${(errors.ratio * 100).toFixed(1)} % of streams fail.`,
    };
  return { level: "good", text: `${wait}, within all targets for chat.` };
}

export function timeseries(streams, query, { from, to }) {
  const metric = query.get("metric") ?? "ttfv";
  const { step, steps } = splitBySteps(select(streams, query, { from, to }), from, to, stepOf(query));
  const points = steps.map(([timestamp_ms, group]) => ({
    timestamp_ms,
    ...percentiles(group, metric),
    streams: group.length,
    errors: group.filter((s) => s.outcome !== "complete" && !NOT_ELIGIBLE.includes(s.outcome)).length,
  }));
  return { from, to, step_ms: step, metric, targets: TARGETS, points };
}

export function histogram(streams, query, window) {
  const metric = query.get("metric") ?? "ttfv";
  const all = values(select(streams, query, window), metric);
  const counts = countBy(all.map(bucketIndex));
  const buckets = Object.keys(counts)
    .map(Number)
    .sort((a, b) => a - b)
    .map((index) => ({ lower_ms: 2 ** (index / 4), upper_ms: 2 ** ((index + 1) / 4), count: counts[index] }));
  return { metric, ...quantiles(all), targets: TARGETS, buckets };
}

function bucketIndex(value) {
  return Math.ceil(Math.log2(value) * 4) - 1;
}

export function heatmap(streams, query, { from, to }) {
  const metric = query.get("metric") ?? "ttfv";
  const all = histogram(streams, query, { from, to }).buckets;
  const { step, steps } = splitBySteps(select(streams, query, { from, to }), from, to, stepOf(query));
  const points = steps.map(([timestamp_ms, group]) => {
    const found = countBy(values(group, metric).map(bucketIndex));
    const counts = all.map(({ upper_ms }) => found[bucketIndex(upper_ms * 0.999)] ?? 0);
    return { timestamp_ms, n: values(group, metric).length, counts };
  });
  return { from, to, step_ms: step, metric, targets: TARGETS, buckets: all, points };
}

export function breakdown(streams, query, window) {
  const by = query.get("by") ?? "model";
  const metric = query.get("metric") ?? "ttfv";
  const ended = select(streams, query, window).filter((s) => !s.open);
  const all = streamStats(ended).goodput;
  const nameOf = (s) => (by === "model" ? (s.model ?? s.response_model) : s[by]) ?? "unknown";
  const groups = Object.keys(countBy(ended.map(nameOf))).map((value) => {
    const group = ended.filter((s) => nameOf(s) === value);
    const { integrity, goodput, errors } = streamStats(group);
    const missed = all.total - all.good;
    return {
      value,
      streams: group.length,
      share: group.length / ended.length,
      ...percentiles(group, metric),
      ...{ integrity, goodput, errors: errors.count },
      ...(by === "use_case" && { targets: { ...TARGETS, use_case: value } }),
      ...(missed && { excess_share: (goodput.total - goodput.good) / missed - goodput.total / all.total }),
    };
  });
  groups.sort((a, b) => b.streams - a.streams);
  const limit = Number(query.get("limit") ?? 50);
  const omitted = Math.max(0, groups.length - limit);
  return { by, metric, targets: TARGETS, groups: groups.slice(0, limit), omitted };
}

/** Error budgets of one use case over 30 days, with their burn rates. */
export function slo(streams, query, now) {
  const days = 30;
  const from = now - days * DAY;
  const useCase = query.get("use_case") ?? TARGETS.use_case;
  const scoped = new URLSearchParams([...query, ["use_case", useCase]]);
  const group = select(streams, scoped, { from, to: now }).filter((s) => !s.open);
  const objectives = {
    availability: (subset) => {
      const eligible = subset.filter((s) => !NOT_ELIGIBLE.includes(s.outcome));
      return [ratio(eligible.filter((s) => s.outcome === "complete").length, eligible.length), TARGETS.availability];
    },
    speed: (subset) => {
      const waits = values(subset, "ttfv");
      return [ratio(waits.filter((ms) => ms <= TARGETS.ttft_p95_ms).length, waits.length), 0.99];
    },
  };
  const budgets = Object.entries(objectives).map(([objective, measure]) => {
    const over = (since, until = now) => group.filter((s) => s.received_ms >= since && s.received_ms < until);
    const [{ good, total, ratio: share }, objective_ratio] = measure(over(from));
    const burn_rates = [5, 30, 60, 120, 360, 1440, 4320].map((minutes) => {
      const [window] = measure(over(now - minutes * MINUTE));
      const rate = (1 - window.ratio) / (1 - objective_ratio);
      return { minutes, total: window.total, ...(window.total && { rate }) };
    });
    const first = Math.floor(from / DAY) * DAY;
    const by_day = Array.from({ length: days + 1 }, (_, i) => first + i * DAY).flatMap((t) => {
      const [day] = measure(over(Math.max(t, from), Math.min(t + DAY, now)));
      return day.total ? [{ timestamp_ms: t, good: day.good, total: day.total }] : [];
    });
    const allowed = (1 - objective_ratio) * total;
    const remaining = total ? 1 - (total - good) / allowed : undefined;
    const rates = burn_rates.map(({ rate }) => rate);
    const alert = rates[2] > 14.4 && rates[0] > 14.4 ? "page" : rates[6] > 1 ? "ticket" : undefined;
    return { objective, objective_ratio, good, total, ratio: share, allowed, remaining, burn_rates, by_day, alert };
  });
  return { from, to: now, days, targets: { ...TARGETS, use_case: useCase }, budgets };
}

/** An accounting that balances. */
export function accounting(streams) {
  const open = streams.filter((s) => s.open).length;
  const reports = streams.length + Math.round(streams.length / 9);
  return {
    beacons: {
      received: reports + 41,
      accepted: reports,
      preflights: 0,
      sampled_out: 0,
      refused: { unknown_site: 38, bad_field: 3 },
      in_flight: 0,
    },
    reports: {
      received: reports,
      by_result: { new: streams.length, revised: reports - streams.length },
      unaccounted: 0,
      sampled_out: 0,
    },
    streams: { new: streams.length, counted: streams.length - open, open },
    probe_dropped: { early: 2 },
    probe_overhead: { timed_chunks: 48_210, us_per_chunk: 2.41, error_us: 0.14, memory_bytes: 196_608 },
    ignored_fields: {},
    refused_connections: 0,
  };
}

export function compare(streams, query, { from, to }) {
  const selected = select(streams, query, { from, to });
  const isMatched = (s) => s.ttft_ms !== undefined && s.server?.ttft_ms !== undefined;
  const ttftParts = (group) => ({
    client: quantiles(group.map((s) => s.ttft_ms)),
    server: quantiles(group.map((s) => s.server.ttft_ms)),
    overhead: quantiles(group.map((s) => s.ttft_ms - s.server.ttft_ms)),
  });
  const matched = selected.filter(isMatched);
  const { step, steps } = splitBySteps(matched, from, to, stepOf(query));
  const points = steps.map(([timestamp_ms, group]) => {
    const parts = Object.entries(ttftParts(group));
    return {
      timestamp_ms,
      n: group.length,
      ...Object.fromEntries(
        parts.flatMap(([side, q]) => [
          [`${side}_p50_ms`, q.p50_ms],
          [`${side}_p95_ms`, q.p95_ms],
        ]),
      ),
    };
  });
  return {
    streams: selected.length,
    matched: matched.length,
    sources: countBy(matched.map((s) => s.server.source)),
    ...ttftParts(matched),
    step_ms: step,
    points,
  };
}

export function page(streams, query, inRange) {
  const window = query.has("range") ? inRange : { from: 0, to: Infinity };
  const outcome = query.get("outcome");
  const limit = Number(query.get("limit") ?? 50);
  const at = Number(query.get("cursor") ?? 0);
  const wantsFailed = query.get("sample") === "failed";
  const found = select(streams, query, window)
    .filter((s) => !wantsFailed || !["complete", ...NOT_ELIGIBLE].includes(s.outcome))
    .filter((s) => !outcome || s.outcome === outcome)
    .reverse();
  if (query.get("sample") === "slowest") found.sort((a, b) => (b.ttfv_ms ?? 0) - (a.ttfv_ms ?? 0));
  return {
    streams: found.slice(at, at + limit),
    next: at + limit < found.length ? String(at + limit) : null,
  };
}

function stepOf(query) {
  return Number(query.get("step") ?? 0) * 1000;
}

function splitBySteps(streams, from, to, requested = 0) {
  const step = requested || Math.max(1, Math.ceil((to - from) / MINUTE / 120)) * MINUTE;
  const first = Math.floor(from / step) * step;
  const steps = [];
  for (let t = first; t < to; t += step) steps.push([t, []]);
  for (const s of streams) steps[Math.floor((s.received_ms - first) / step)]?.[1].push(s);
  return { step, steps };
}

function values(streams, metric) {
  return streams.flatMap(METRICS[metric]).filter((value) => value !== undefined && value !== null);
}

function gapValues(gaps) {
  if (!gaps) return [];
  return gaps.counts.flatMap((count, i) => Array(count).fill(2 ** ((gaps.offset + i + 0.5) / 32)));
}

function percentiles(streams, metric) {
  return { ...quantiles(values(streams, metric)), ...kmAdjusted(streams, metric) };
}

export function abandonment(streams, query, window) {
  return { ...window, ...abandonmentCurve(select(streams, query, window), query.get("metric") ?? "ttfv") };
}

function quantiles(all) {
  if (all.length === 0) return { n: 0, relative_error: 0.0109 };
  const sorted = [...all].sort((a, b) => a - b);
  const at = (q) => sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
  const [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map(at);
  const between = (q) => {
    const [mean, spread] = [q * all.length, 1.96 * Math.sqrt(q * (1 - q) * all.length)];
    return { lower_ms: sorted[Math.floor(mean - spread)], upper_ms: sorted[Math.ceil(mean + spread)] };
  };
  const intervals = { p50: between(0.5), p95: between(0.95), p99: between(0.99) };
  return { n: all.length, p50_ms, p95_ms, p99_ms, relative_error: 0.0109, ...(all.length < 500 && { intervals }) };
}

function ratio(good, total) {
  return { good, total, ...(total > 0 && { ratio: good / total }) };
}

function countBy(words) {
  const counts = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
