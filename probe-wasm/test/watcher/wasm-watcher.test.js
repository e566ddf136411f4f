// The Wasm that pages load, after all steps of the build: every recorded stream must give the report of the native
// meter, from the first Wasm or from the full one that it asks for.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { CANCELLED, CLOSED, FAILED, PAGE_GONE, TIMED_OUT } from "../../js/session/end-reasons.js";
import { EVENTS, LINES, OTHER, contentKindOf } from "../../js/tap/content-types.js";
import * as moments from "../../js/tap/tap-events.js";
import { NEEDS_FULL_WASM } from "../../js/session/progress-flags.js";
import { Session } from "../../js/session/session.js";
import { createFallbackWatcher } from "../../js/watcher/fallback-watcher.js";
import { RANGES, problemsOf } from "../report-limits.js";

const STREAMS = new URL("../../../tests/fixtures/streams/", import.meta.url);
const ENDS = { closed: CLOSED, failed: FAILED, cancelled: CANCELLED, timed_out: TIMED_OUT, page_gone: PAGE_GONE };
/** Fields that JavaScript adds, and those that only real times show. */
const OF_THE_PAGE = ["v", "id", "rev", "page", "clock_resolution_ms", "stalls"];
const OF_TIME = /^(gaps|(headers|first_byte|first_event|ttft|ttfv|e2e|close|tpot|longest_gap)_ms)$/;

const { createWatcher } = await import("../dist/watcher.mjs");
const [usual, all] = ["llm-rum.wasm", "llm-rum-all.wasm"].map(
  (name) => new WebAssembly.Module(readFileSync(new URL(`../../dist/${name}`, import.meta.url))),
);

function watcher(wake = () => {}, module = usual) {
  return createWatcher(module, wake, setTimeout);
}

/** The rows of a timeline, as `probe-core/examples/replay/recording.rs` reads them. */
function recording(name) {
  const file = readFileSync(new URL(name, STREAMS));
  if (name.endsWith(".body")) return [{ status: 200 }, { bytes: file }];
  const rows = file.toString().split("\n").filter((line) => line.trim());
  return rows.map((line) => {
    const { text, b64, ...row } = JSON.parse(line);
    const bytes = text == undefined ? b64 && Buffer.from(b64, "base64") : Buffer.from(text);
    return bytes ? { ...row, bytes } : row;
  });
}

function reportOf(watcher, rows) {
  watcher.open(1, 0, undefined);
  let answered = false;
  let how = CLOSED;
  let time = 0;
  let needsFullWasm;
  for (const { t_ms = 0, status, headers, bytes, end } of rows) {
    time = t_ms;
    how = end ? ENDS[end] : how;
    if (status || headers || (bytes && !answered)) {
      const type = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() == "content-type");
      watcher.headers(1, time, status ?? 200, contentKindOf(type?.[1]));
      answered = true;
    }
    if (bytes && watcher.chunk(1, time, bytes) & NEEDS_FULL_WASM) needsFullWasm = true;
  }
  watcher.end(1, time, how);
  const report = { ...watcher.report(1), needsFullWasm };
  watcher.forget(1);
  return report;
}

/** The fields that both sides have, with floats as on the wire. */
function comparable(report, timed) {
  const members = Object.entries(report).filter(([name]) => !OF_THE_PAGE.includes(name) && (timed || !OF_TIME.test(name)));
  return JSON.parse(JSON.stringify(Object.fromEntries(members)), (_, value) =>
    typeof value == "number" ? Math.round(value * 1000) / 1000 : value,
  );
}

const names = readdirSync(STREAMS).filter((name) => /\.(body|jsonl)$/.test(name));

function assertAsRecorded(name, rows, report) {
  const timed = rows.every(({ t_ms }) => t_ms != undefined);
  const expected = JSON.parse(readFileSync(new URL(name.replace(/\.[a-z]+$/, ".expected.json"), STREAMS)));
  if (report.gaps && !report.gaps.zero) delete report.gaps.zero;
  assert.deepEqual(comparable(report, timed), comparable(expected, timed), name);
  assert.equal(report.stalls ?? 0, expected.stalls ?? 0, name);
}

test("the larger Wasm reads every recording as the native meter", () => {
  assert.ok(names.length > 60, "the recordings are there");
  const compiled = watcher(undefined, all);
  for (const name of names) {
    const rows = recording(name);
    assertAsRecorded(name, rows, reportOf(compiled, rows));
  }
});

/** The recordings that need the full Wasm. The first Wasm reads all others itself. */
const RARE = /^(ag_ui|ai_sdk_(data|ui_assistant_ui|ui_mastra)|chat_ui|cohere|gemini|gradio|inferred|langgraph|lobe_chat|mcp|mistral_conv|ollama|tgi)[_.]|^mistral_conv/;
const RARE_FRAMES = /^(openai_chat_whole|plain_text)/;
const UNKNOWN = /^generic/;
const needsFull = (name) => [RARE, RARE_FRAMES, UNKNOWN].some((names) => names.test(name));

test("the first Wasm reads usual streams and requests the larger", () => {
  const compiled = watcher();
  const asked = [];
  for (const name of names) {
    const rows = recording(name);
    const { needsFullWasm, ...report } = reportOf(compiled, rows);
    if (!needsFullWasm) assertAsRecorded(name, rows, report);
    else {
      asked.push(name);
      const { dialect, outcome, ttft_ms } = report;
      assert.deepEqual([dialect, ttft_ms], [undefined, undefined], name);
      // The sentinel is the same in most formats.
      assert.ok(outcome != "complete" || rows.some(({ bytes }) => bytes && new TextDecoder().decode(bytes).includes("[DONE]")), name);
    }
  }
  assert.deepEqual(asked, names.filter(needsFull));
});

const KINDS = { [CLOSED]: moments.CLOSED, [FAILED]: moments.FAILED, [CANCELLED]: moments.CANCELLED };

/** A session over the first Wasm. `enlarged` brings the full Wasm, or the fallback watcher. */
function session(formats) {
  const ends = [];
  const asked = [];
  const tell = (make) => ends.push(JSON.parse(make()));
  const one = new Session(watcher(), {
    describe: () => ({ page: {} }),
    guard: (job) => job(),
    onFirst() {},
    onEnd: tell,
    enrich: (stream, json) => json,
    loadFull: (use) => asked.push(use),
    formats,
  });
  return { one, ends, enlarged: (made) => asked.splice(0).map((use) => use(made)).length };
}

/** Plays the rows. Calls `before` before the row with the number `at`. */
function play(session, rows, at, before, stream = { time: 0, submit: undefined }) {
  let time = 0;
  let how = CLOSED;
  session.take(stream, moments.OPEN);
  rows.forEach(({ t_ms = 0, status, headers, bytes, end }, number) => {
    time = t_ms;
    how = end ? ENDS[end] : how;
    if (number == 0 || status || headers)
      session.take(stream, moments.HEADERS, { status: status ?? 200, headers: new Headers(headers ?? {}) }, time);
    if (number == at) before();
    const lent = bytes && Uint8Array.from(bytes);
    if (lent) session.take(stream, moments.CHUNK, lent, time);
    // The page may overwrite the bytes.
    lent?.fill(0);
  });
  session.take(stream, KINDS[how], undefined, time);
  return stream;
}

test("batched chunks give the same report as single ones", () => {
  const isTold = (name) => recording(name).every(({ end }) => !end || ENDS[end] in KINDS);
  const usual = names.filter((name) => isTold(name) && !needsFull(name));
  assert.ok(usual.length > 40, `${usual.length} recordings`);
  for (const name of usual) {
    const rows = recording(name);
    const [waiting, ...others] = [1, 2, undefined].map((bodies_) => {
      const { one, ends } = session();
      play(one, rows, undefined, undefined, { time: 0, submit: undefined, bodies_ });
      const [{ id, observed, clock_resolution_ms, ...report }] = ends;
      return report;
    });
    for (const other of others) assert.deepEqual(waiting, other, name);
  }
});

test("a custom format is measured from its first byte", () => {
  const rows = recording("inferred_dify.jsonl");
  const formats = JSON.stringify([{ url: "/other", text: "no" }, { url: "/chat-messages", text: "answer if event=message", end: "event=message_end" }]);
  for (const at of [2, rows.length - 1]) {
    const { one, ends, enlarged } = session(formats);
    play(one, rows, at, () => assert.equal(enlarged(watcher(undefined, all)), 1), { time: 0, url: "https://a.example/v1/chat-messages" });
    const [{ dialect, outcome, ttft_ms, deltas, output_tokens }] = ends;
    assert.deepEqual([dialect, outcome, ttft_ms, deltas, output_tokens], ["custom", "complete", 900, 10, undefined], `loaded at ${at}`);
  }
  const { one, ends, enlarged } = session(formats);
  play(one, rows, 2, () => enlarged(watcher(undefined, all)), { time: 0, url: "https://a.example/v1/else" });
  assert.equal(ends[0].dialect, "inferred");
});

test("a rare stream is measured from its first byte at any load", () => {
  const timed = (name) => recording(name).every(({ t_ms }) => t_ms > 0);
  const rare = names.filter((name) => RARE.test(name) && timed(name));
  assert.ok(rare.length > 10, "there are some with times");
  for (const name of rare) {
    const rows = recording(name);
    for (const at of [2, rows.length - 1, Infinity]) {
      const { one, ends, enlarged } = session();
      const larger = watcher(undefined, all);
      play(one, rows, at, () => enlarged(larger));
      if (at == Infinity) {
        assert.deepEqual(ends, [], `${name} waits`);
        assert.equal(enlarged(larger), 1, "one stream has asked, once");
      } else enlarged(larger);
      assert.equal(ends.length, 1, `${name} ${at}`);
      const [{ observed, open, model, ...report }] = ends;
      assert.equal(observed, undefined);
      assertAsRecorded(name, rows, report);
      assert.equal(ends.length, 1);
      // From now on no stream has to wait.
      play(one, rows);
      assertAsRecorded(name, rows, (({ observed, open, model, ...again }) => again)(ends[1]));
    }
  }
});

test("JSON that the app got parsed is a whole response", () => {
  const answer = {
    object: "chat.completion",
    choices: [{ index: 0, message: { content: "Hello" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 9, completion_tokens: 2 },
  };
  for (const [body, outcome, e2e_ms] of [
    [answer, "complete", 900],
    [JSON.stringify(answer), "complete", 900],
    [{ error: { message: "overloaded" } }, "provider_error", undefined],
    [new Blob(["{}"]), "unobserved", undefined],
  ]) {
    const { one, ends, enlarged } = session();
    const stream = { time: 0, bodies_: 1 };
    one.take(stream, moments.OPEN);
    one.take(stream, moments.HEADERS, { status: 200, headers: new Headers({ "content-type": "application/json" }) }, 40);
    one.take(stream, moments.READ);
    one.take(stream, moments.WHOLE, body, 900);
    enlarged(watcher(undefined, all));
    const [report] = ends;
    assert.deepEqual([report.outcome, report.e2e_ms, report.ttft_ms, report.ttfv_ms], [outcome, e2e_ms, undefined, undefined]);
    if (e2e_ms) assert.deepEqual([report.input_tokens, report.finish_reason], [9, "stop"]);
  }
});

test("parsed JSON does not go on from the bytes of another branch", () => {
  const { one, ends } = session();
  const stream = { time: 0, bodies_: 2 };
  one.take(stream, moments.OPEN);
  one.take(stream, moments.HEADERS, { status: 200, headers: new Headers({ "content-type": "text/event-stream" }) }, 40);
  one.take(stream, moments.CHUNK, new TextEncoder().encode(": x\n\n"), 50);
  one.take(stream, moments.WHOLE, { a: 1 }, 900);
  assert.deepEqual([ends[0].outcome, ends[0].bytes], ["unobserved", 5]);
});

test("a second rare stream may request the larger Wasm again", () => {
  const { one, ends, enlarged } = session();
  const larger = watcher(undefined, all);
  const rows = recording("cohere_text.jsonl");
  // The first stream asks and ends before the second has brought bytes.
  play(one, rows, 1, () => {
    play(one, rows);
    enlarged(larger);
  });
  assert.equal(ends.length, 1);
  assert.equal(enlarged(larger), 1);
  for (const { observed, open, model, ...report } of ends) assertAsRecorded("cohere_text.jsonl", rows, report);
  assert.equal(ends.length, 2);
});

test("without the larger Wasm a rare stream reports only chunks", () => {
  const rows = recording("cohere_text.jsonl");
  const { one, ends, enlarged } = session();
  play(one, rows);
  assert.equal(enlarged({}), 1);
  const [{ observed, outcome, dialect, chunks, bytes, ttft_ms }] = ends;
  assert.deepEqual([observed, outcome, dialect, ttft_ms], ["chunks", "unobserved", undefined, undefined]);
  assert.deepEqual([chunks, bytes], [rows.filter((row) => row.bytes).length, rows.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0)]);
  play(one, recording("llamaserver_timeline_ok.jsonl"));
  assert.equal(ends[1].outcome, "complete");
});

test("a page that leaves before the larger Wasm reports chunks", () => {
  const { one, ends, enlarged } = session();
  play(one, recording("cohere_text.jsonl"));
  one.flushSoon(60_000, PAGE_GONE);
  const [{ observed, outcome, open }] = ends;
  assert.deepEqual([observed, outcome, open], ["chunks", "unobserved", undefined]);
  enlarged(watcher(undefined, all));
  assert.equal(ends.length, 1, "its stream is told of once");
});

test("a rare stream over the buffer limit reports chunks", () => {
  const [first, ...rows] = recording("plain_text.jsonl");
  const { one, ends, enlarged } = session();
  const many = Array.from({ length: 300 }, () => ({ t_ms: 1, bytes: Buffer.alloc(1000, 97) }));
  play(one, [first, ...rows, ...many]);
  assert.deepEqual([ends[0].observed, ends[0].outcome], ["chunks", "unobserved"]);
  enlarged(watcher(undefined, all));
  assert.equal(ends.length, 1);
});

test("only a response's name in the shape of one is reported", () => {
  for (const [written, name] of [
    ["gemini-3-flash", "gemini-3-flash"],
    // PHP writes a slash like this.
    [String.raw`meta-llama\/Llama-3`, "meta-llama/Llama-3"],
    [String.raw`a\u00e9\"b`, undefined],
    ["my secret", undefined],
    ["x".repeat(129), undefined],
  ])
    for (const module of [usual, all]) {
      const bytes = Buffer.from(`data: {"model":"${written}","choices":[{"delta":{"content":"x"}}]}\n\n`);
      const { response_model } = reportOf(watcher(undefined, module), [{ status: 200 }, { bytes }]);
      assert.equal(response_model, name);
    }
});

/** A stream of the usual format with these times, tokens and server timing. */
function rowsWith([first, last, closed], tokens, server) {
  const event = (text) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`;
  const usage = { prompt_tokens: tokens, completion_tokens: tokens };
  const end = `data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`;
  const comment = `: llm-rum ${JSON.stringify(server)}\n\n`;
  const texts = [[first, comment + event("a")], [last, event("b") + end]];
  const chunks = texts.map(([t_ms, text]) => ({ t_ms, bytes: Buffer.from(text) }));
  return [{ t_ms: 1, status: 200 }, ...chunks, { t_ms: closed, end: "closed" }];
}

test("numbers out of range are left out and counted", () => {
  const day = 864e5;
  for (const [rows, count] of [
    [rowsWith([5, day, day], 1e9, { ttft_ms: day }), undefined],
    [rowsWith([5, 6, day + 1], 9, {}), 1],
    [rowsWith([5, 6, 7], 1e9 + 1, {}), 2],
    [rowsWith([5, 6, 7], 9, { ttft_ms: day + 1, queue_ms: 1 }), 1],
    // Of a gap of over a day, all that depends on its end is out of range, and so is its histogram.
    [rowsWith([5, day + 9, day + 9], 9, {}), 3],
  ]) {
    const report = reportOf(watcher(), rows);
    assert.deepEqual([report.left_out, problemsOf(report)], [count, []]);
  }
});

/** Clocks that no browser should have, by name: the time after each time. */
const CLOCKS = {
  "stands still": (time) => time,
  "steps back": (time, random) => time - random * 1000,
  "steps back and goes on": (time, random) => time + (random < 0.4 ? -700 : 1e4 * random),
  "jumps by days": (time, random) => time + random * 3e8,
  "shows no time": () => NaN,
  "shows no time at times": (time, random) => (random < 0.3 ? NaN : 1e4 + random),
};

/** The reports of a stream whose events and pauses are by chance. */
function reportsBy(watcher, tick, random) {
  const reports = [];
  const told = (body) => body && reports.push(...JSON.parse(body).reports);
  const keep = (json) => (reports.push(JSON.parse(json)), json);
  const page = { describe: () => ({ page: {} }), guard: (job) => job(), onFirst() {}, onEnd: (make) => keep(make()) };
  const one = new Session(watcher, { ...page, enrich: (_, json) => json });
  const stream = { time: tick(), submit: random() < 0.5 ? tick() : undefined, bodies_: 1 };
  one.take(stream, moments.OPEN);
  one.take(stream, moments.HEADERS, { status: 200, headers: new Headers({ "content-type": "text/event-stream" }) }, tick());
  one.take(stream, moments.READ, undefined, tick());
  for (const [text, chance] of [["a", 1], ["b", 1], ["c", 0.5], ["[DONE]", 0.6]]) {
    const data = text.length > 1 ? text : JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] });
    if (random() < chance) one.take(stream, moments.CHUNK, new TextEncoder().encode(`data: ${data}\n\n`), tick());
    if (random() < 0.5 && told(one.body(tick()))) one.answered(204, 0, tick(), 0);
  }
  if (random() < 0.7) one.take(stream, moments.CLOSED, undefined, tick());
  one.flushSoon(tick(), PAGE_GONE, tick());
  for (let body; (body = one.body(tick(), 1)); ) told(body);
  return reports;
}

test("no report is refused for the page's clock", () => {
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (const [name, after] of Object.entries(CLOCKS))
    for (let run = 0; run < 500; run++) {
      let time = 1e4;
      const tick = () => (time = after(time, random()));
      const reports = reportsBy(run % 2 ? createFallbackWatcher(() => {}, setTimeout) : watcher(), tick, random);
      assert.ok(reports.length > 0, `${name}: the stream is reported as the page is left`);
      for (const report of reports) assert.deepEqual(problemsOf(report), [], `${name}: ${JSON.stringify(report)}`);
    }
});

test("the limits of the watchers are those of the table", () => {
  assert.ok(RANGES.length > 40, "the table is there");
  const words = { ms: 864e5, tokens: 1e9 };
  for (const { path, to } of RANGES) {
    const word = path.match(/[a-z]+$/)[0];
    if (word in words) assert.equal(to, words[word], path);
  }
});

test("page and native meter classify content types alike", () => {
  const source = readFileSync(new URL("../../../probe-core/src/framing/content_type.rs", import.meta.url), "utf8");
  const [, list] = /const LINES: [^=]+= \[([^\]]+)\]/.exec(source);
  const lines = list.match(/[a-z/+-]+(?=")/g);
  assert.ok(lines.length > 3, "the list is there");
  for (const type of [...lines, ...lines.map((type) => `${type.toUpperCase()} ; charset=utf-8`)])
    assert.equal(contentKindOf(type), LINES, type);
  for (const type of ["", null, undefined, "text/event-stream", "Text/Event-Stream;charset=utf-8"])
    assert.equal(contentKindOf(type), EVENTS, type);
  for (const type of ["text/plain", "application/json", "text/event-streams", "application/x-ndjsons", "x/application/jsonl"])
    assert.equal(contentKindOf(type), OTHER, type);
});

test("a page that starts again has a probe of its own", () => {
  const rows = recording("ollama_chat.body");
  const report = reportOf(watcher(), rows);
  assert.deepEqual({ ...reportOf(watcher(), rows), clock_resolution_ms: 0 }, { ...report, clock_resolution_ms: 0 });
});

test("the clock resolution is the smallest observed step", (context) => {
  const rows = recording("ollama_chat.body");
  for (const [step, seen] of [[0.1, 0.1], [1, 1], [100, 100], [1000 / 60, 16.667], [0, undefined]]) {
    let calls = 0;
    // Each step is read three times.
    const now = context.mock.method(performance, "now", () => 1234.5 + Math.floor(calls++ / 3) * step);
    assert.equal(reportOf(watcher(), rows).clock_resolution_ms, seen, `${step}`);
    now.mock.restore();
  }
});

test("the memory of a stream is reused by the next one", () => {
  const rows = recording("ollama_chat.body");
  const compiled = watcher();
  const sizes = Array.from({ length: 300 }, () => {
    reportOf(compiled, rows);
    compiled.chunk(0, 0, new Uint8Array(100_000));
    return compiled.memory.buffer.byteLength;
  });
  assert.equal(sizes.at(-1), sizes[1]);
});

test("a timer fires once, and a new one replaces it", async () => {
  let calls = 0;
  await new Promise((woken) => {
    const compiled = watcher(() => woken(calls++));
    compiled.wake_in(60_000);
    compiled.wake_in(1);
  });
  assert.equal(calls, 1);
});

test("parts of a read are one chunk, reads at one time are several", () => {
  const event = (delta) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  const usage = { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 };
  const pieces = (earlier_ms) => [
    [150, event({ role: "assistant" })],
    [150 - earlier_ms, event({ content: "Hel" })],
    [150 - 2 * earlier_ms, event({ content: "lo" }) + `data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`],
  ];
  const report = (pieces) => {
    const { one, ends } = session();
    play(one, [{}, ...pieces.map(([t_ms, text]) => ({ t_ms, bytes: Buffer.from(text) }))]);
    const [{ outcome, chunks, events, ttft_ms, tpot_ms, longest_gap_ms }] = ends;
    return { outcome, chunks, events, ttft_ms, tpot_ms, longest_gap_ms };
  };
  const same = { outcome: "complete", events: 5, ttft_ms: 150 };
  assert.deepEqual(report(pieces(0.001)), { ...same, chunks: 1, tpot_ms: undefined, longest_gap_ms: undefined });
  assert.deepEqual(report(pieces(0)), { ...same, chunks: 3, tpot_ms: 0, longest_gap_ms: 0 });
});
