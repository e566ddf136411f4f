// The probe as a page has it: the app's options and callbacks come in, and the tap, a session and the
// sender are put together. A fault of any of them stays here.

import { createChunkWatcher } from "../watcher/fallback-watcher.js";
import { PAGE_GONE, UNSEEN } from "../session/end-reasons.js";
import { createWatcher } from "../watcher/wasm-watcher.js";
import { installTap, silent, uninstallTap } from "../tap/install.js";
import { OPEN } from "../tap/tap-events.js";
import { describer } from "./page-context.js";
import { requestExaminer } from "../tap/request-inspector.js";
import { createSender } from "./send.js";
import { createSession } from "../session/session.js";

/** A gesture counts as the cause of a request for this long. */
const SUBMIT_MS = 1000;
const GESTURES = ["click", "keydown", "submit"];

/** What the user's consent has to be for anything to be sent: no other word will do. */
const GRANTED = "granted";

let running;

export function startProbe(options) {
  // A page may have no fetch, or one that nobody can replace.
  try {
    return (running ??= typeof window == "undefined" || leftOut(options) ? IDLE : createProbe(options));
  } catch {
    return IDLE;
  }
}

/** Not in the sample, or the user asks not to be watched: then a stub's tap goes as well. */
function leftOut({ sampleRate, respectSignals, consent = GRANTED }) {
  const { globalPrivacyControl, doNotTrack } = navigator;
  const refused = consent == "denied" || ((globalPrivacyControl || doNotTrack == 1) && respectSignals + "" != "false");
  const share = parseFloat(sampleRate);
  // Where nobody asked for a share no lot is kept.
  const out = refused || lot(share >= 0 && consent) >= share;
  if (out) uninstallTap(window, installTap(window));
  return out;
}

/** The tab draws one for all its pages. Before consent, and where a page may not store anything, each draws its own. */
function lot(consent) {
  let drawn = Math.random();
  try {
    if (consent == GRANTED) drawn = sessionStorage.llmRum ??= drawn;
  } catch {}
  return +drawn;
}

const off = () => silent;

/** On a server there is nothing to watch, and here nobody who wants to be. `paint` has its own `watchOutput`. */
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

  // A stub has patched the page already, and is to be listened to.
  const page = patchFetch || window.__llmRum ? window : { fetch };
  const tap = installTap(page);
  const sender = createSender(collector, site, tap.native);
  const [onFirstToken, tellFirst] = createChannel();
  const [onStreamEnd, tellEnd] = createChannel();
  const cleanups = [];
  const extensions = [];
  // Zone.js takes a timer for work of the app, and keeps the page's under a name of its own.
  const later = window.__zone_symbol__setTimeout ?? setTimeout;
  /** What the tap told before the session could listen. */
  const early = tap.sink;
  let session, loading, loadingAll, pumping, submitted, watcher;
  let consented = consent == GRANTED;
  /** The latest report that the collector is to get. */
  let last;
  /** When the timer calls; it may be set earlier, and calls in vain where it should be later. */
  let alarm = Infinity;

  tap.examine = requestExaminer((input, init) => attempt(() => isStream?.(input, init)));
  tap.sink = (...moment) => {
    early(...moment);
    load();
  };
  // Firefox ends the scripts of a process that it needs no more, in the middle of `pagehide`.
  listen(window, "beforeunload", leave);
  listen(window, "pagehide", leave);
  listen(document, "visibilitychange", () => {
    guard(() => session?.setHidden(document.hidden));
    if (document.hidden) leave({});
  });
  for (const gesture of GESTURES)
    listen(window, gesture, ({ timeStamp, key = "Enter" }) => {
      if (key == "Enter") submitted = timeStamp;
    });
  if (tap.held.length) load();
  else (window.requestIdleCallback ?? later)(load);

  return {
    ...IDLE,
    get faults() {
      return tap.broken;
    },
    lastReport: () => last,
    onFirstToken,
    onStreamEnd,
    wrapFetch: (fetch) => (fetch == tap.ours ? fetch : tap.wrap(fetch)),
    use(...more) {
      const core = {
        probe: this,
        url: sender.url,
        guard,
        attempt,
        // What the collector would get of the streams that are open.
        standing: () => consented && session?.openReports(),
        tell: (...moment) => tap.sink(...moment),
      };
      // One that has ended takes nobody in.
      if (tap.sink != silent) for (const extend of more) guard(() => extensions.push(extend(core)));
      return this;
    },
    setConsent(answer) {
      consented = answer == GRANTED;
      if (consented) return void pump();
      silence();
      stop();
    },
    async flush() {
      if (tap.held.length) await load();
      guard(() => session?.flushSoon(performance.now()));
      await pump();
    },
    stop,
  };

  /** A fault of ours turns the probe off, and nobody else notices. */
  function guard(job) {
    try {
      return job();
    } catch {
      giveUp();
    }
  }

  function giveUp() {
    tap.broken++;
    silence();
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
    return (loading ??= makeWatcher(wasmUrl).then((made) => guard(() => takeOver(made))));
  }

  /** Loads the probe that reads what few pages meet, once a page has met it. */
  function enlarge(use) {
    (loadingAll ??= makeWatcher(wasmAllUrl)).then((made) => guard(() => session && (use(made), setTimer())));
  }

  async function makeWatcher(urls) {
    // Where this fails, by a CSP above all, chunks are still seen.
    for (const url of [urls || []].flat())
      try {
        const response = await tap.native.call(window, url, { integrity: wasmIntegrity });
        return createWatcher(await WebAssembly.compile(await response.arrayBuffer()), wake, later);
      } catch {}
    return createChunkWatcher(wake, later);
  }

  function takeOver(made) {
    if (session || tap.sink == silent) return;
    watcher = made;
    session = createSession(made, describer(options), guard, tellFirst, tellEnd, enrich, made.memory && enlarge);
    session.setHidden(document.hidden);
    tap.sink = take;
    for (const [stream, moment, ...told] of tap.held.splice(0))
      if (!stream.early) take(stream, moment, ...told);
      else if (moment == OPEN) session.countLost(1);
    setTimer();
  }

  function take(stream, moment, value, time) {
    try {
      if (moment == OPEN) {
        const sinceGesture = stream.time - submitted;
        stream.submit = sinceGesture >= 0 && sinceGesture <= SUBMIT_MS ? submitted : NaN;
      }
      session.take(stream, moment, value, time) || setTimer();
      // Even a loop over none takes its time where the processor has lost the code since the last read.
      if (extensions.length) for (const { saw } of extensions) saw?.(stream, moment, value, time, stream.watcher);
    } catch {
      giveUp();
    }
  }

  /** What the page is told of a report, or, where it `goes` out, what the collector gets: perhaps nothing. */
  function enrich(stream, json, goes) {
    let report = { ...JSON.parse(json), sample_rate: Math.min(1, sampleRate) || undefined };
    for (const { add } of extensions) add?.(report, stream);
    if (goes) last = report = attempt(() => beforeSend(report));
    // Without its id it is none, as a promise is.
    return report?.id ? JSON.stringify(report) : "";
  }

  function setTimer() {
    const at = consented ? session.next() : Infinity;
    if (at < alarm) watcher.wake_in(Math.max((alarm = at) - performance.now() + 1, 0));
  }

  /** Called by the compiled probe as well, which is then left before it is called again. */
  function wake() {
    alarm = Infinity;
    queueMicrotask(pump);
  }

  /** Sends what is due, one batch after the other, until nothing is or the collector wants a rest. */
  function pump() {
    return (pumping ??= sendAll().finally(() => (pumping = undefined)));
  }

  function nextBody(blindly) {
    return guard(() => {
      const body = consented && session?.body(performance.now(), blindly);
      for (const { sent } of extensions) sent?.(body);
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

  /** Once for all when it is known not to come back; `timeStamp`: since when it may be on its way out. */
  function leave({ timeStamp, persisted }) {
    guard(() => {
      const how = persisted == false && PAGE_GONE;
      // Nothing will be loaded any more: what is held is told without being parsed.
      if (how && !session) takeOver(createChunkWatcher(wake, later));
      session?.flushSoon(performance.now(), how, timeStamp);
      for (let body; (body = nextBody(2 - navigator.onLine)); ) sender.lastPost(body);
      if (session) setTimer();
    });
  }

  function silence() {
    tap.sink = silent;
    tap.held.length = 0;
    session = watcher = undefined;
  }

  function stop() {
    for (const cleanup of cleanups.splice(0)) cleanup();
    for (const { stop } of extensions) stop?.();
    uninstallTap(page, tap);
    running = undefined;
    guard(() => session?.flushSoon(performance.now(), UNSEEN));
    pump().then(silence);
  }

  function listen(target, type, listener) {
    target.addEventListener(type, listener, true);
    cleanups.push(() => target.removeEventListener(type, listener, true));
  }
}

/** How to listen, and how those who do are told. */
function createChannel() {
  const callbacks = new Set();
  return [
    (callback) => {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    // A report is made only for somebody.
    (make) => {
      const json = callbacks.size && make();
      // Two microtasks later the app's own reaction to the read has run.
      for (const callback of callbacks) queueMicrotask(() => queueMicrotask(() => callback(JSON.parse(json))));
    },
  ];
}
