/** Invents stream reports from a seed: several models, some of them slow, some streams broken. */

const MODELS = [
  { provider: "openai", model: "gpt-5-mini", dialect: "openai_chat", ttft: 420, tpot: 14, share: 0.42 },
  { provider: "anthropic", model: "claude-sonnet-5", dialect: "anthropic", ttft: 780, tpot: 19, share: 0.28 },
  { provider: "openai", model: "gpt-5", dialect: "openai_responses", ttft: 1150, tpot: 24, share: 0.18 },
  {
    provider: "llama_cpp",
    model: "qwen3-32b-instruct-q4_k_m",
    dialect: "openai_chat",
    ttft: 310,
    tpot: 33,
    share: 0.08,
  },
  { provider: null, model: null, dialect: "ollama", ttft: 520, tpot: 41, share: 0.04 },
];

const OUTCOMES = [
  ["complete", 0.93],
  ["aborted", 0.024],
  ["truncated", 0.014],
  ["abandoned", 0.011],
  ["http_error", 0.008],
  ["provider_error", 0.006],
  ["network_error", 0.004],
  ["empty", 0.003],
];

/** `count` reports that ended between `from` and `to`, oldest first. Each model has `names` names. */
export function makeStreams(count, from, to, { seed = 7, server = true, names = 1 } = {}) {
  const random = generator(seed);
  const times = Array.from({ length: count }, () => from + random() * (to - from)).sort((a, b) => a - b);
  const named = (stream, n) => (n === 0 || !stream.model ? stream : { ...stream, model: `${stream.model}-${n}` });
  return times.map((at) => named(makeStream(random, at, server), names > 1 ? Math.floor(random() ** 2 * names) : 0));
}

function makeStream(random, at, hasServer) {
  const kind = pick(
    random,
    MODELS.map((entry) => [entry, entry.share]),
  );
  const outcome = pick(random, OUTCOMES);
  const rush = 1 + 0.9 * Math.exp(-((((at / 60_000) % 37) - 18) ** 2) / 12);
  const serverTtft = kind.ttft * rush * Math.exp(normal(random) * 0.38);
  const network = 28 * Math.exp(normal(random) * 0.8) + (random() < 0.03 ? 1400 * random() : 0);
  const ttft = serverTtft + network;
  const reasons = kind.model === "gpt-5" && random() < 0.6;
  const ttfv = reasons ? ttft + 500 + 2200 * random() : ttft + (random() < 0.1 ? 1.2 : 0);
  const tokens = Math.round(24 + 380 * random() ** 2);
  const generation = tokens * kind.tpot * (0.8 + 0.5 * random());
  const report = {
    v: 1,
    id: Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join(""),
    rev: 2,
    site: "demo",
    use_case: "chat",
    country: pick(random, [["DE", 0.5], ["US", 0.3], ["JP", 0.12], ["unknown", 0.08]]),
    dialect: kind.dialect,
    ...(kind.provider && {
      provider: kind.provider,
      model: kind.model,
      response_model: `${kind.model}-2026-08-01`,
    }),
    response_id: `resp_${Math.floor(random() * 1e9).toString(36)}`,
    status: 200,
    outcome,
    submit_delay_ms: tenth(3 + 9 * random()),
    headers_ms: tenth(network * 1.4),
    chunks: 0,
    events: 0,
    deltas: 0,
    bytes: 0,
    page: {
      browser: "chrome",
      os: "linux",
      device: "desktop",
      connection: "4g",
      visibility: "visible",
      route: "/chat/:id",
    },
    clock_resolution_ms: 0.1,
    received_ms: Math.round(at),
  };
  if (outcome === "http_error")
    return { ...report, dialect: undefined, status: random() < 0.5 ? 429 : 503, close_ms: tenth(network * 2) };
  if (outcome === "empty" || (outcome === "abandoned" && random() < 0.5))
    return { ...report, close_ms: tenth(ttft * 0.7) };
  const part = outcome === "complete" ? 1 : 0.2 + 0.6 * random();
  const chunks = Math.max(2, Math.round((tokens * part) / 1.4));
  const longest = random() < 0.03 ? 2200 + 2500 * random() : kind.tpot * (3 + 6 * random());
  return {
    ...report,
    first_byte_ms: tenth(Math.min(ttft, network * 1.6)),
    first_event_ms: tenth(Math.min(ttft, network * 1.6)),
    ttft_ms: tenth(ttft),
    ttfv_ms: tenth(ttfv),
    ...(random() < 0.6 && { ttfp_ms: tenth(ttfv + 4 + 14 * random()) }),
    e2e_ms: tenth(ttfv + generation * part),
    close_ms: tenth(ttfv + generation * part + 2 + 3 * random()),
    finish_reason: outcome === "complete" ? "stop" : undefined,
    chunks: chunks + 3,
    events: chunks + 4,
    deltas: chunks,
    bytes: chunks * 212,
    ...(outcome === "complete" && {
      input_tokens: Math.round(40 + 900 * random()),
      output_tokens: tokens,
      cached_tokens: 0,
      tpot_ms: tenth(generation / (tokens - 1)),
    }),
    longest_gap_ms: tenth(longest),
    gaps: gapHistogram(random, chunks - 1, kind.tpot * 1.4, longest),
    stalls: longest > 2000 ? 1 : 0,
    defects: {
      ...(longest > 2000 && { stall: 1 }),
      ...(outcome === "truncated" && { pending_at_eof: 1 }),
      ...(random() < 0.006 && { malformed: 2 }),
    },
    network_timing: { dns_ms: 0, connect_ms: 0, tls_ms: 0, wait_ms: tenth(network * 1.3) },
    page_lifecycle: {
      protocol: "h2",
      end_delay_ms: tenth(2 + 30 * random() ** 4),
      hidden_ms: random() < 0.1 ? tenth(900 * random()) : 0,
      long_frames: random() < 0.1 ? 3 : 0,
      long_frames_ms: 210,
    },
    probe_overhead: { timed_chunks: chunks, chunks_ms: tenth(chunks * 0.0024), memory_bytes: 196_608, sent_bytes: 4_210 },
    ...(hasServer &&
      kind.model !== "gpt-5" && {
        server: {
          source:
            kind.dialect === "ollama" ? "ollama" : kind.provider === "llama_cpp" ? "llama_cpp" : "comment",
          starts_from: "arrival",
          queue_ms: tenth(serverTtft * 0.12),
          ttft_ms: tenth(serverTtft),
          generation_ms: tenth(generation * part),
          output_tokens: tokens,
        },
      }),
  };
}

function gapHistogram(random, count, typical, longest) {
  const counts = new Map();
  const add = (ms) => {
    const index = Math.ceil(Math.log2(ms) * 32) - 1;
    counts.set(index, (counts.get(index) ?? 0) + 1);
  };
  for (let i = 1; i < count; i++) add(typical * Math.exp(normal(random) * 0.45));
  add(longest);
  const offset = Math.min(...counts.keys());
  const last = Math.max(...counts.keys());
  return {
    scale: 5,
    offset,
    counts: Array.from({ length: last - offset + 1 }, (_, i) => counts.get(offset + i) ?? 0),
    zero: 0,
    sum: count * typical,
  };
}

/** Mulberry32: the same seed gives the same streams. */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function pick(random, weighted) {
  let rest = random();
  for (const [value, share] of weighted) {
    rest -= share;
    if (rest < 0) return value;
  }
  return weighted[0][0];
}

function tenth(ms) {
  return Math.round(ms * 10) / 10;
}
