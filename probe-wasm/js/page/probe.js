// The probe's API for apps. It connects the tap, a session and the sender by the app's options. If our code throws, the
// probe turns itself off, and the page goes on as without it.

import { PAGE_GONE, UNSEEN } from "../session/end-reasons.js";
import { BLINDLY, BLINDLY_OFFLINE } from "../session/outbox.js";
import { Session } from "../session/session.js";
import { installTap, silent, uninstallTap } from "../tap/install.js";
import { createRequestInspector } from "../tap/request-inspector.js";
import { OPEN } from "../tap/tap-events.js";
import { createFallbackWatcher } from "../watcher/fallback-watcher.js";
import { createWatcher } from "../watcher/wasm-watcher.js";
import { createChannel } from "./channel.js";
import { watchGestures } from "./gestures.js";
import { describer } from "./page-context.js";
import { GRANTED, isExcluded } from "./sampling.js";
import { createSender } from "./send.js";

let running;

export function startProbe(options) {
  // A page may have no fetch, or one that cannot be replaced.
  try {
    return (running ??= typeof window == "undefined" || isExcluded(options) ? IDLE : createProbe(options));
  } catch {
    return IDLE;
  }
}

const off = () => silent;

/** The probe that watches nothing: on a server, or of an excluded user. The extension `paint` replaces `watchOutput`. */
const IDLE = {
  faults: 0,
  onFirstToken: off,
  onStreamEnd: off,
  watchOutput: off,
  set: silent,
  wrapFetch: (fetch) => fetch,
  use() {
    return this;
  },
  lastReport: silent,
  setConsent: silent,
  flush: async () => {},
  stop: () => void (running = undefined),
};

function createProbe(options) {
  const { collector, site, wasmUrl, wasmAllUrl, wasmIntegrity, patchFetch = true, isStream } = options;
  const { consent = GRANTED, sampleRate, beforeSend = (report) => report, isBackground, formats } = options;

  // A stub has patched the page already, and its events are to be heard.
  const page = patchFetch || window.__llmRum ? window : { fetch };
  const tap = installTap(page);
  const sender = createSender(collector, site, tap.native_);
  const [onFirstToken, callFirstToken] = createChannel();
  const [onStreamEnd, callStreamEnd] = createChannel();
  const cleanups = [];
  const extensions = [];
  // Zone.js takes a timer for work of the app, and keeps the page's under a name of its own.
  const later = window.__zone_symbol__setTimeout ?? setTimeout;
  let session, watcher, loading, loadingFull, sending, last, own;
  let consented = consent == GRANTED;
  /** When the timer will call `wake`. An unnecessary call costs less than a timer that is set anew. */
  let wakeAt = Infinity;
  const gestureBefore = watchGestures(listen);

  watchRequests();
  watchPage();

  return {
    ...IDLE,
    get faults() {
      return tap.broken_;
    },
    lastReport: () => last,
    onFirstToken,
    onStreamEnd,
    wrapFetch,
    set: (more) => void Object.assign(options, more),
    use,
    setConsent,
    flush,
    stop,
  };

  function watchRequests() {
    const bufferEvent = tap.sink_;
    const inspect = createRequestInspector((input, init) => attempt(() => isStream?.(input, init)));
    tap.inspect_ = (stream, ...args) => {
      stream.own_ = attempt(() => isBackground?.(...args)) ? { ...own, background: true } : own;
      for (const { onRequest } of extensions) onRequest?.(stream, ...args);
      return inspect(stream, ...args) || extensions.some((extension) => extension.inspect?.(stream, ...args));
    };
    tap.sink_ = (...event) => {
      bufferEvent(...event);
      load();
    };
    if (tap.buffered_.length) load();
    else (window.requestIdleCallback ?? later)(load);
  }

  /** `more`: options of the calls of this fetch alone. */
  function wrapFetch(fetch, more) {
    const watched = fetch == tap.ours_ ? fetch : tap.wrap_(fetch);
    if (!more) return watched;
    return (...args) => {
      own = more;
      try {
        return watched(...args);
      } finally {
        own = undefined;
      }
    };
  }

  function watchPage() {
    // Firefox ends the scripts of a process that it needs no more, in the middle of `pagehide`.
    listen(window, "beforeunload", leavePage);
    listen(window, "pagehide", leavePage);
    listen(document, "visibilitychange", () => {
      guard(() => session?.setHidden(document.hidden));
      if (document.hidden) leavePage({});
    });
  }

  function listen(target, type, listener) {
    target.addEventListener(type, listener, true);
    cleanups.push(() => target.removeEventListener(type, listener, true));
  }

  function load() {
    return (loading ??= makeWatcher(wasmUrl).then((made) => guard(() => startSession(made))));
  }

  /** Loads the Wasm with every dialect, which only pages that meet a rare one need. */
  function loadFull(use) {
    (loadingFull ??= makeWatcher(wasmAllUrl)).then((made) => guard(() => session && (use(made), setTimer())));
  }

  async function makeWatcher(urls) {
    // Where this fails, by a CSP above all, chunks are still seen.
    for (const url of [urls || []].flat())
      try {
        const response = await tap.native_.call(window, url, { integrity: wasmIntegrity });
        return createWatcher(await WebAssembly.compile(await response.arrayBuffer()), wake, later);
      } catch {}
    return createFallbackWatcher(wake, later);
  }

  function startSession(made) {
    if (session || tap.sink_ == silent) return;
    watcher = made;
    session = new Session(made, {
      describe: describer(options),
      guard,
      onFirst: callFirstToken,
      onEnd: callStreamEnd,
      enrich,
      loadFull: made.memory && loadFull,
      // The tag has it as text.
      formats: attempt(() => (typeof formats == "string" ? formats : JSON.stringify(formats))),
    });
    session.setHidden(document.hidden);
    tap.sink_ = handleEvent;
    for (const [stream, event, ...more] of tap.buffered_.splice(0))
      if (!stream.overflowed_) handleEvent(stream, event, ...more);
      else if (event == OPEN) session.countLost(1);
    setTimer();
  }

  function handleEvent(stream, event, value, time) {
    try {
      if (event == OPEN) stream.submit = gestureBefore(stream.time);
      session.take(stream, event, value, time) || setTimer();
      // The check is cheaper than a loop over no extensions, whose code may have left the processor's cache.
      if (extensions.length)
        for (const { onEvent } of extensions) onEvent?.(stream, event, value, time, stream.watcher);
    } catch {
      abort();
    }
  }

  /**
   * The report as the page gets it, or with `goes` as the collector gets it. An empty text: the app keeps the report
   * back.
   */
  function enrich(stream, json, goes) {
    let report = { ...JSON.parse(json), sample_rate: Math.min(1, sampleRate) || undefined };
    for (const { addFields } of extensions) addFields?.(report, stream, goes);
    // The app may return anything, such as a promise. Only an object with an id is a report: see `failures.js` as well.
    if (goes && report.id) last = report = attempt(() => beforeSend(report));
    return report?.id ? JSON.stringify(report) : "";
  }

  /**
   * Sends everything because the page may be leaving since `timeStamp`. If the page certainly does not come back, its
   * streams end.
   */
  function leavePage({ timeStamp, persisted }) {
    guard(() => {
      const reason = persisted == false && PAGE_GONE;
      // The Wasm will not load any more, so buffered events are reported without being parsed.
      if (reason && !session) startSession(createFallbackWatcher(wake, later));
      session?.flushSoon(performance.now(), reason, timeStamp);
      const blindly = navigator.onLine ? BLINDLY : BLINDLY_OFFLINE;
      for (let body; (body = nextBody(blindly)); ) sender.lastPost(body, timeStamp);
      setTimer();
    });
  }

  function setTimer() {
    const at = consented && session ? session.next() : Infinity;
    if (at < wakeAt) watcher.wake_in(Math.max((wakeAt = at) - performance.now() + 1, 0));
  }

  /** The compiled watcher calls this. It must return before anything calls into the watcher again. */
  function wake() {
    wakeAt = Infinity;
    queueMicrotask(sendDue);
  }

  /** Sends what is due, one body after the other, until nothing is or the collector asks to wait. */
  function sendDue() {
    return (sending ??= sendAll().finally(() => (sending = undefined)));
  }

  async function sendAll() {
    for (let body; (body = nextBody()); ) {
      const [status, retryAfterMs] = await sender.post(body);
      guard(() => session?.answered(status, retryAfterMs, performance.now(), Math.random()));
    }
    guard(setTimer);
  }

  function nextBody(blindly) {
    return guard(() => {
      const body = consented && session?.body(performance.now(), blindly);
      for (const { onSend } of extensions) onSend?.(body);
      return body;
    });
  }

  function use(...more) {
    const core = {
      probe: this,
      sender,
      guard,
      attempt,
      openReports,
      emit: (...event) => tap.sink_(...event),
    };
    // A stopped probe takes no extensions.
    if (tap.sink_ != silent) for (const extend of more) guard(() => extensions.push(extend(core)));
    return this;
  }

  /** The reports that the collector would get of the open streams. */
  function openReports() {
    return consented && session?.openReports();
  }

  function setConsent(answer) {
    consented = answer == GRANTED;
    if (consented) return void sendDue();
    silence();
    stop();
  }

  async function flush() {
    if (tap.buffered_.length) await load();
    guard(() => session?.flushSoon(performance.now()));
    await sendDue();
  }

  function stop() {
    for (const cleanup of cleanups.splice(0)) cleanup();
    for (const { stop } of extensions) stop?.();
    uninstallTap(page, tap);
    running = undefined;
    guard(() => session?.flushSoon(performance.now(), UNSEEN));
    sendDue().then(silence);
  }

  function guard(job) {
    try {
      return job();
    } catch {
      abort();
    }
  }

  function abort() {
    tap.broken_++;
    silence();
  }

  function silence() {
    tap.sink_ = silent;
    tap.buffered_.length = 0;
    session = watcher = undefined;
  }
}

/** Calls a function of the app. Its errors are reported as the app's. */
function attempt(job) {
  try {
    return job();
  } catch (error) {
    reportError(error);
  }
}
