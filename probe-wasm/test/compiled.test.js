// The Wasm that pages load, after all that the build takes out of it: every recorded stream must give
// the report that the native meter gives.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { CANCELLED, CLOSED, FAILED, PAGE_GONE, TIMED_OUT } from "../js/ends.js";

const STREAMS = new URL("../../tests/fixtures/streams/", import.meta.url);
const ENDS = { closed: CLOSED, failed: FAILED, cancelled: CANCELLED, timed_out: TIMED_OUT, page_gone: PAGE_GONE };
/** What the facade adds to each report, and what only real times can tell. */
const OF_THE_PAGE = ["v", "id", "rev", "page", "clock_resolution_ms", "stalls"];
const OF_TIME = /^(gaps|(headers|first_byte|first_event|ttft|ttfv|e2e|close|tpot|longest_gap)_ms)$/;

const { createWatcher } = await import("./dist/watcher.mjs");
const module = new WebAssembly.Module(readFileSync(new URL("../dist/llm-rum.wasm", import.meta.url)));

function watcher(wake = () => {}) {
  return createWatcher(module, wake);
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
  watcher.open(1, 0, NaN);
  let answered = false;
  let how = CLOSED;
  let time = 0;
  for (const { t_ms = 0, status, headers, bytes, end } of rows) {
    time = t_ms;
    how = end ? ENDS[end] : how;
    if (status || headers || (bytes && !answered)) {
      const type = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() == "content-type");
      watcher.headers(1, time, status ?? 200, type?.[1] ?? "");
      answered = true;
    }
    if (bytes) watcher.chunk(1, time, bytes);
  }
  watcher.end(1, time, how);
  const report = watcher.report(1);
  watcher.forget(1);
  return report;
}

/** The members that both sides tell of, with floats as the wire has them. */
function comparable(report, timed) {
  const members = Object.entries(report).filter(([name]) => !OF_THE_PAGE.includes(name) && (timed || !OF_TIME.test(name)));
  return JSON.parse(JSON.stringify(Object.fromEntries(members)), (_, value) =>
    typeof value == "number" ? Math.round(value * 1000) / 1000 : value,
  );
}

const names = readdirSync(STREAMS).filter((name) => /\.(body|jsonl)$/.test(name));

test("the Wasm reads every recorded stream as the native meter does", () => {
  assert.ok(names.length > 60, "the recordings are there");
  const compiled = watcher();
  for (const name of names) {
    const rows = recording(name);
    const timed = rows.every(({ t_ms }) => t_ms != undefined);
    const expected = JSON.parse(readFileSync(new URL(name.replace(/\.[a-z]+$/, ".expected.json"), STREAMS)));
    const report = reportOf(compiled, rows);
    if (report.gaps && !report.gaps.zero) delete report.gaps.zero;
    assert.deepEqual(comparable(report, timed), comparable(expected, timed), name);
    assert.equal(report.stalls ?? 0, expected.stalls ?? 0, name);
  }
});

test("a page that starts again has a probe of its own", () => {
  const rows = recording("ollama_chat.body");
  const report = reportOf(watcher(), rows);
  assert.deepEqual({ ...reportOf(watcher(), rows), clock_resolution_ms: 0 }, { ...report, clock_resolution_ms: 0 });
});

test("a timer calls once, and one set anew takes the place of the one before", async () => {
  let calls = 0;
  await new Promise((woken) => {
    const compiled = watcher(() => woken(calls++));
    compiled.wake_in(60_000);
    compiled.wake_in(1);
  });
  assert.equal(calls, 1);
});
