// The probe as a page has it: the tap's moments go to a session, compiled or not, and its reports to
// the app's callbacks and to the collector.

import { createChunkSession } from "./chunks.js";
import { CLOSED as BODY_ENDED, CANCELLED as APP_ENDED, FAILED as READ_FAILED, TIMED_OUT, UNSEEN } from "./ends.js";
import { createSession } from "./glue.js";
import { installTap, uninstallTap } from "./install.js";
import { CANCELLED, CHUNK, CLOSED, FAILED, FORGET, HEADERS, OPEN, READ, WHOLE } from "./moments.js";
import { requestExaminer } from "./request.js";
import { createSender } from "./send.js";

/** A gesture counts as the cause of a request for this long. */
const SUBMIT_MS = 1000;
const GESTURES = ["click", "keydown", "submit"];

let running;

export function startProbe(options) {
  return (running ??= typeof window == "undefined" ? idleProbe() : createProbe(options));
}

/** On a server there is nothing to watch. */
function idleProbe() {
  const off = () => () => {};
  return { faults: 0, onFirstToken: off, onStreamEnd: off, wrapFetch: (fetch) => fetch, flush: async () => {}, stop() {} };
}

function createProbe(options) {
  const { collector, site, wasmUrl, useCase, provider, release, patchFetch = true, isStream } = options;
  for (const name of ["collector", "site"])
    if (typeof options[name] != "string") throw new TypeError(`llm-rum: option \`${name}\` is missing`);

  // A stub has patched the page already, and is to be listened to.
  const page = patchFetch || window.__llmRum ? window : { fetch: window.fetch };
  const tap = installTap(page);
  const sender = createSender(collector, site, tap.native);
  const callbacks = { first: new Set(), end: new Set() };
  const facts = { useCase, provider, release };
  const cleanups = [];
  /** What the tap told before the session could listen. */
  const early = tap.sink;
  let session, loading, pumping, submitted, timer;
  let faults = 0;
  let keys = 0;

  tap.examine = requestExaminer(isStream && ((input, init) => attempt(() => isStream(input, init))));
  tap.sink = (...moment) => {
    early(...moment);
    load();
  };
  listen(window, "pagehide", ({ persisted }) => leave(!persisted));
  listen(document, "visibilitychange", () => {
    guard(() => session?.set_visible(!document.hidden));
    if (document.hidden) leave(false);
  });
  for (const gesture of GESTURES)
    listen(window, gesture, ({ timeStamp, key }) => {
      if (!key || key == "Enter") submitted = timeStamp;
    });
  if (tap.held.length) load();
  else (window.requestIdleCallback ?? setTimeout)(load);

  return {
    get faults() {
      return faults + tap.faults;
    },
    onFirstToken: (callback) => subscribe(callbacks.first, callback),
    onStreamEnd: (callback) => subscribe(callbacks.end, callback),
    wrapFetch: (fetch) => (fetch == tap.ours ? fetch : tap.wrap(fetch)),
    async flush() {
      if (tap.held.length) await load();
      guard(() => session?.hurry());
      await pump();
    },
    stop,
  };

  /** A fault of ours turns the probe off, and nobody else notices. */
  function guard(job) {
    try {
      return job();
    } catch {
      faults++;
      silence();
    }
  }

  /** A fault of the app's own function is its own. */
  function attempt(job) {
    try {
      return job();
    } catch (error) {
      reportError(error);
    }
  }

  function load() {
    return (loading ??= makeSession().then((made) => guard(() => takeOver(made))));
  }

  async function makeSession() {
    // Where this fails, by a CSP above all, chunks are still seen.
    try {
      if (!wasmUrl) throw new TypeError("no wasm is wanted");
      const response = await tap.native.call(window, wasmUrl);
      const module = await WebAssembly.compile(await response.arrayBuffer());
      return createSession(module, facts);
    } catch {
      return createChunkSession(facts);
    }
  }

  function takeOver(made) {
    if (session || tap.sink == silent) return;
    session = made;
    const lost = new Set();
    for (const [stream, ...moment] of tap.held.splice(0))
      if (stream.early) lost.add(stream);
      else take(stream, ...moment);
    if (lost.size) session.lost_early(lost.size);
    tap.sink = (...moment) => guard(() => take(...moment));
    setTimer();
  }

  function take(stream, moment, value, time) {
    if (moment == OPEN) return open(stream);
    const { key } = stream;
    if (!key) return;
    switch (moment) {
      case HEADERS:
        return session.headers(key, time, value.status, value.headers.get("content-type") ?? "");
      case READ:
        return session.read(key);
      case CHUNK:
        return session.chunk(key, time, bytesOf(value)) && firstToken(key);
      case CLOSED:
        return end(stream, time, BODY_ENDED);
      case CANCELLED:
        return end(stream, time, APP_ENDED);
      case FAILED:
        return end(stream, time, whyFailed(stream.signal, value));
      case WHOLE:
        return takeWhole(stream, time, value);
      case FORGET:
        forget(stream);
        session.forget(key);
    }
  }

  function open(stream) {
    const { time, signal, model } = stream;
    const submit = time - submitted <= SUBMIT_MS && time >= submitted ? submitted : undefined;
    stream.key = ++keys;
    session.open(stream.key, randomId(), time, submit, model, location.pathname, navigator.connection?.effectiveType);
    setTimer();
    // An app that has stopped reading learns of an abort nowhere else.
    stream.abort = () => guard(() => stream.key && end(stream, performance.now(), whyFailed(signal)));
    signal?.addEventListener?.("abort", stream.abort);
  }

  function forget(stream) {
    stream.signal?.removeEventListener?.("abort", stream.abort);
    stream.key = stream.signal = stream.abort = undefined;
  }

  function end(stream, time, how) {
    const report = session.end(stream.key, time, how);
    forget(stream);
    setTimer();
    if (report) tell(callbacks.end, report);
  }

  function firstToken(key) {
    setTimer();
    tell(callbacks.first, session.report(key));
  }

  function takeWhole(stream, time, whole) {
    const bytes = typeof whole == "string" ? new TextEncoder().encode(whole) : bytesOf(whole);
    if (bytes && session.chunk(stream.key, time, bytes)) firstToken(stream.key);
    end(stream, time, bytes ? BODY_ENDED : UNSEEN);
  }

  // Two microtasks later the app's own reaction to the read has run.
  function tell(callbacks, json) {
    for (const callback of callbacks) queueMicrotask(() => queueMicrotask(() => callback(JSON.parse(json))));
  }

  function setTimer() {
    const ms = session.due_in();
    clearTimeout(timer);
    timer = ms == null ? undefined : setTimeout(pump, ms);
  }

  /** Sends what is due, one batch after the other, until nothing is or the collector wants a rest. */
  function pump() {
    return (pumping ??= sendAll().finally(() => (pumping = undefined)));
  }

  async function sendAll() {
    for (let body; (body = guard(() => session?.batch())); ) {
      const { status, retryAfterMs } = await sender.post(body);
      guard(() => session?.answered(status, retryAfterMs, Math.random()));
    }
    guard(() => session && setTimer());
  }

  function leave(gone) {
    // Nothing will be loaded any more: what is held is told without being parsed.
    if (gone && !session) guard(() => takeOver(createChunkSession(facts)));
    guard(() => {
      if (gone) session?.page_gone();
      session?.hurry();
      for (let body; (body = session?.last_words()); ) sender.lastPost(body);
    });
  }

  function silence() {
    clearTimeout(timer);
    tap.sink = silent;
    tap.held.length = 0;
    session = undefined;
  }

  function stop() {
    for (const cleanup of cleanups.splice(0)) cleanup();
    uninstallTap(page, tap);
    guard(() => session?.hurry());
    pump().then(silence);
    tap.sink = silent;
    running = undefined;
  }

  function listen(target, type, listener) {
    target.addEventListener(type, listener, { capture: true, passive: true });
    cleanups.push(() => target.removeEventListener(type, listener, { capture: true }));
  }
}

function silent() {}

function subscribe(callbacks, callback) {
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

function whyFailed(signal, error) {
  const { name } = (signal?.aborted ? signal.reason : error) ?? {};
  if (name == "TimeoutError") return TIMED_OUT;
  return signal?.aborted || name == "AbortError" ? APP_ENDED : READ_FAILED;
}

/** A reader that brings its own buffer may get other views than bytes. */
function bytesOf(value) {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

function randomId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
