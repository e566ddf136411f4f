// The probe as a page has it: puts the tap, a session and the sender together by the app's options. A fault of any of
// them stays here.

import { PAGE_GONE, UNSEEN } from "../session/end-reasons.js";
import { BLINDLY, BLINDLY_OFFLINE } from "../session/outbox.js";
import { Session } from "../session/session.js";
import { installTap, silent, uninstallTap } from "../tap/install.js";
import { createRequestInspector } from "../tap/request-inspector.js";
import { OPEN } from "../tap/tap-events.js";
import { createFallbackWatcher } from "../watcher/fallback-watcher.js";
import { createWatcher } from "../watcher/wasm-watcher.js";
import { describer } from "./page-context.js";
import { createSender } from "./send.js";

/** A gesture counts as the cause of a request for this long. */
const SUBMIT_MS = 1000;
const GESTURES = ["click", "keydown", "submit"];

/** What the user's consent has to be for anything to be sent: no other word will do. */
const GRANTED = "granted";

let running;

export function startProbe(options) {
  // A page may have no fetch, or one that cannot be replaced.
  try {
    return (running ??= typeof window == "undefined" || isExcluded(options) ? IDLE : createProbe(options));
  } catch {
    return IDLE;
  }
}

/** Not in the sample, or the user asks not to be watched: then a stub's tap goes as well. */
function isExcluded({ sampleRate, respectSignals, consent = GRANTED }) {
  const { globalPrivacyControl, doNotTrack } = navigator;
  const refused = consent == "denied" || ((globalPrivacyControl || doNotTrack == 1) && respectSignals + "" != "false");
  const share = parseFloat(sampleRate);
  // Without a sample rate nothing is stored.
  const excluded = refused || drawSample(share >= 0 && consent) >= share;
  if (excluded) uninstallTap(window, installTap(window));
  return excluded;
}

/**
 * A tab draws one random number for all its pages. Before consent, and where a page may not store anything, each page
 * draws its own.
 */
function drawSample(consent) {
  let drawn = Math.random();
  try {
    if (consent == GRANTED) drawn = sessionStorage.llmRum ??= drawn;
  } catch {}
  return +drawn;
}

const off = () => silent;

/** The probe on a server, and the one of a user who is not watched. `paint` has a `watchOutput` of its own. */
const IDLE = {
  faults: 0,
  onFirstToken: off,
  onStreamEnd: off,
  watchOutput: off,
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
  const { consent = GRANTED, sampleRate, beforeSend = (report) => report } = options;

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
  /** The sink of the time before the session. */
  const bufferEvent = tap.sink_;
  let session, loading, loadingFull, sending, gestureAt, watcher;
  let consented = consent == GRANTED;
  /** The latest report that the collector is to get. */
  let last;
  /** When the timer calls. It may be set earlier; where it should be later, it calls without need. */
  let wakeAt = Infinity;

  tap.inspect_ = createRequestInspector((input, init) => attempt(() => isStream?.(input, init)));
  tap.sink_ = (...event) => {
    bufferEvent(...event);
    load();
  };
  // Firefox ends the scripts of a process that it needs no more, in the middle of `pagehide`.
  listen(window, "beforeunload", leavePage);
  listen(window, "pagehide", leavePage);
  listen(document, "visibilitychange", () => {
    guard(() => session?.setHidden(document.hidden));
    if (document.hidden) leavePage({});
  });
  for (const gesture of GESTURES)
    listen(window, gesture, ({ timeStamp, key = "Enter" }) => {
      if (key == "Enter") gestureAt = timeStamp;
    });
  if (tap.buffered_.length) load();
  else (window.requestIdleCallback ?? later)(load);

  return {
    ...IDLE,
    get faults() {
      return tap.broken_;
    },
    lastReport: () => last,
    onFirstToken,
    onStreamEnd,
    wrapFetch: (fetch) => (fetch == tap.ours_ ? fetch : tap.wrap_(fetch)),
    use(...more) {
      const core = {
        probe: this,
        url: sender.url,
        guard,
        attempt,
        // The reports that the collector would get of the open streams.
        openReports: () => consented && session?.openReports(),
        emit: (...event) => tap.sink_(...event),
      };
      // A stopped probe accepts no extensions.
      if (tap.sink_ != silent) for (const extend of more) guard(() => extensions.push(extend(core)));
      return this;
    },
    setConsent(answer) {
      consented = answer == GRANTED;
      if (consented) return void sendDue();
      silence();
      stop();
    },
    async flush() {
      if (tap.buffered_.length) await load();
      guard(() => session?.flushSoon(performance.now()));
      await sendDue();
    },
    stop,
  };

  /** If our code throws, the probe turns itself off, and the page goes on as without it. */
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

  /** Calls a function of the app's. Its fault is the app's own. */
  function attempt(job) {
    try {
      return job();
    } catch (error) {
      reportError(error);
    }
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
      if (event == OPEN) {
        const sinceGesture = stream.time - gestureAt;
        stream.submit = sinceGesture >= 0 && sinceGesture <= SUBMIT_MS ? gestureAt : undefined;
      }
      session.take(stream, event, value, time) || setTimer();
      // Even a loop over no extensions takes its time where the processor has lost the code since the last read.
      if (extensions.length)
        for (const { onEvent } of extensions) onEvent?.(stream, event, value, time, stream.watcher);
    } catch {
      abort();
    }
  }

  /** The report as the page gets it, or, where it `goes` out, as the collector does: it may be kept back. */
  function enrich(stream, json, goes) {
    let report = { ...JSON.parse(json), sample_rate: Math.min(1, sampleRate) || undefined };
    for (const { addFields } of extensions) addFields?.(report, stream);
    if (goes) last = report = attempt(() => beforeSend(report));
    // Only an object with the id is a report: a promise, for one, has none.
    return report?.id ? JSON.stringify(report) : "";
  }

  function setTimer() {
    const at = consented ? session.next() : Infinity;
    if (at < wakeAt) watcher.wake_in(Math.max((wakeAt = at) - performance.now() + 1, 0));
  }

  /** The compiled watcher calls this, and must have returned before anything calls into it again. */
  function wake() {
    wakeAt = Infinity;
    queueMicrotask(sendDue);
  }

  /** Sends what is due, one body after the other, until nothing is or the collector asks to wait. */
  function sendDue() {
    return (sending ??= sendAll().finally(() => (sending = undefined)));
  }

  function nextBody(blindly) {
    return guard(() => {
      const body = consented && session?.body(performance.now(), blindly);
      for (const { onSend } of extensions) onSend?.(body);
      return body;
    });
  }

  async function sendAll() {
    for (let body; (body = nextBody()); ) {
      const [status, retryAfterMs] = await sender.post(body);
      guard(() => session?.answered(status, retryAfterMs, performance.now(), Math.random()));
    }
    guard(() => session && setTimer());
  }

  /**
   * Sends everything as the page may be on its way out, since `timeStamp`. Streams end if it is known that the page
   * does not come back.
   */
  function leavePage({ timeStamp, persisted }) {
    guard(() => {
      const reason = persisted == false && PAGE_GONE;
      // Nothing will be loaded any more: buffered events are reported without being parsed.
      if (reason && !session) startSession(createFallbackWatcher(wake, later));
      session?.flushSoon(performance.now(), reason, timeStamp);
      const blindly = navigator.onLine ? BLINDLY : BLINDLY_OFFLINE;
      for (let body; (body = nextBody(blindly)); ) sender.lastPost(body);
      if (session) setTimer();
    });
  }

  function silence() {
    tap.sink_ = silent;
    tap.buffered_.length = 0;
    session = watcher = undefined;
  }

  function stop() {
    for (const cleanup of cleanups.splice(0)) cleanup();
    for (const { stop } of extensions) stop?.();
    uninstallTap(page, tap);
    running = undefined;
    guard(() => session?.flushSoon(performance.now(), UNSEEN));
    sendDue().then(silence);
  }

  function listen(target, type, listener) {
    target.addEventListener(type, listener, true);
    cleanups.push(() => target.removeEventListener(type, listener, true));
  }
}

/** A function that adds a listener, and one that calls the listeners. */
function createChannel() {
  const callbacks = new Set();
  return [
    (callback) => {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    // Without a listener no report is made.
    (make) => {
      const json = callbacks.size && make();
      // Two microtasks later the app's own reaction to the read has run.
      for (const callback of callbacks) queueMicrotask(() => queueMicrotask(() => callback(JSON.parse(json))));
    },
  ];
}
