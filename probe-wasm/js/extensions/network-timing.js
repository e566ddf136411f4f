// What a page knows of a stream beside its bytes: where the time before the first byte went, what happened to the page
// meanwhile, and which bytes arrived unseen. Most of it is known only after the end.

import { CHUNK, CLOSED, HEADERS, OPEN } from "../tap/tap-events.js";
import { roundMs } from "./round-ms.js";

/** Streams that are open or may still be reported. */
const MAX_STREAMS = 100;
const MAX_SPANS = 100;
/** How far the browser's own start of a request may lie from the page's. */
const START_MS = 50;
const PROTOCOLS = ["http/1.1", "h2", "h3"];

/** Adds `network_timing` and `page_lifecycle` to reports, and `userStopped()` to the probe. */
export const networkTiming = () => (core) => {
  // A worker is neither hidden nor clicked.
  if (!globalThis.document) return {};
  const streams = new Map();
  /** When the page was hidden, from and to; the last span may be open. */
  const hidden = [];
  const cleanups = [];
  const { supportedEntryTypes } = PerformanceObserver;
  let freezes = "onfreeze" in document ? 0 : undefined;
  let restored = false;

  noteVisibility();
  listen(document, "visibilitychange", noteVisibility);
  listen(document, "freeze", () => freezes++);
  listen(window, "pageshow", ({ persisted }) => (restored ||= persisted));
  // Out here the target of a click inside a shadow root is its host.
  listen(window, "click", (event) => event.composedPath().some(isStop) && userStopped());
  observe("resource", join);
  observe("long-animation-frame", countLongFrame);
  core.probe.userStopped = userStopped;

  return { onEvent, addFields, stop: () => cleanups.forEach((cleanup) => cleanup()) };

  function onEvent(stream, event, value, time) {
    if (event == OPEN) begin(stream);
    const about = streams.get(stream);
    if (!about) return;
    if (event == HEADERS) about.url = value.url ?? stream.url;
    // What grows in the page has no bytes.
    if (event == CHUNK && !stream.isOutput) countUnseenBytes(about, value.length, time);
    if (event >= CLOSED) about.over = time;
    if (event == CLOSED) about.whole = true;
  }

  function begin(stream) {
    for (const oldest of streams.keys()) if (streams.size >= MAX_STREAMS) streams.delete(oldest);
    const prerendered = !!document.prerendering;
    streams.set(stream, { time: stream.time, freezes, prerendered, hiddenBytes: 0, longFrames: 0, longFramesMs: 0 });
  }

  function countUnseenBytes(about, length, time) {
    if (hiddenMs(time, time + 1)) about.hiddenBytes += length;
    if (about.stopped) about.stoppedBytes += length;
  }

  /** The user asked to stop: bytes that arrive from now on are of no use. */
  function userStopped() {
    for (const about of streams.values())
      if (!about.over && !about.stopped) [about.stopped, about.stoppedBytes] = [true, 0];
  }

  function noteVisibility() {
    const last = hidden.at(-1);
    if (last) last.to ??= performance.now();
    if (document.hidden) hidden.push({ from: performance.now() });
    if (hidden.length > MAX_SPANS) hidden.shift();
  }

  function hiddenMs(from, to) {
    return hidden.reduce((sum, span) => sum + Math.max(Math.min(span.to ?? to, to) - Math.max(span.from, from), 0), 0);
  }

  /** Joins the browser's entry of a request to a stream, by its address and the nearest start. */
  function join(entry) {
    const away = ({ time }) => Math.abs(entry.startTime - time);
    const fits = (about) => about.url == entry.name && !about.entry && away(about) < START_MS;
    const [nearest] = [...streams.values()].filter(fits).sort((one, other) => away(one) - away(other));
    if (nearest) nearest.entry = entry;
  }

  function countLongFrame({ startTime, duration }) {
    for (const about of streams.values()) {
      if (startTime + duration < about.time || startTime > about.over) continue;
      about.longFrames++;
      about.longFramesMs += duration;
    }
  }

  function addFields(report, stream) {
    const about = streams.get(stream);
    if (!about) return;
    const { time, over = performance.now(), entry } = about;
    const lifecycle = {
      hidden_ms: roundMs(hiddenMs(time, over)),
      freezes: freezes >= 0 ? freezes - about.freezes : undefined,
      restored,
      prerendered: about.prerendered,
      hidden_bytes: about.hiddenBytes,
      after_stop_bytes: about.stoppedBytes,
    };
    if (supportedEntryTypes.includes("long-animation-frame"))
      Object.assign(lifecycle, { long_frames: about.longFrames, long_frames_ms: roundMs(about.longFramesMs) });
    const isFirefox = /Firefox\//.test(navigator.userAgent);
    const isOfServer = entry && !isOfWorker(entry, isFirefox, report);
    if (isOfServer) addTiming(report, lifecycle, about, entry);
    // Firefox reports headers no earlier than the first byte.
    if (isFirefox && !(isOfServer && entry.responseStart)) delete report.headers_ms;
    report.page_lifecycle = lifecycle;
  }

  function observe(type, onEntry) {
    if (!supportedEntryTypes.includes(type)) return;
    const observer = new PerformanceObserver((list) => core.guard(() => list.getEntries().forEach(onEntry)));
    observer.observe({ type });
    cleanups.push(() => observer.disconnect());
  }

  function listen(target, type, listener) {
    const guarded = (event) => core.guard(() => listener(event));
    target.addEventListener(type, guarded, { capture: true, passive: true });
    cleanups.push(() => target.removeEventListener(type, guarded, { capture: true }));
  }
};

function isStop({ dataset }) {
  return dataset?.llmStop != null;
}

/**
 * Whether the entry shows the way to a service worker, and not the one to the server: in Firefox always. In WebKit its
 * response begins long before the page has the headers. Both may hide that there was a worker, but then there is no
 * protocol either.
 */
function isOfWorker({ workerStart, startTime, responseStart, nextHopProtocol }, isFirefox, { headers_ms: headersMs }) {
  const mayBe = workerStart > 0 || (responseStart && !nextHopProtocol);
  return mayBe && (isFirefox || responseStart - startTime < headersMs - START_MS);
}

/** Adds what Resource Timing shows. For another origin that does not allow it, an entry holds zeros. */
function addTiming(report, lifecycle, { time, over, whole }, entry) {
  const { requestStart, responseStart, responseEnd, connectStart, connectEnd, secureConnectionStart } = entry;
  const protocol = entry.nextHopProtocol;
  if (protocol) lifecycle.protocol = PROTOCOLS.includes(protocol) ? protocol : "other";
  if (whole && responseEnd) lifecycle.end_delay_ms = roundMs(over - responseEnd);
  if (!responseStart) return;
  report.headers_ms = roundMs(responseStart - time);
  if (!requestStart) return;
  report.network_timing = {
    dns_ms: roundMs(entry.domainLookupEnd - entry.domainLookupStart),
    connect_ms: roundMs((secureConnectionStart || connectEnd) - connectStart),
    tls_ms: secureConnectionStart ? roundMs(connectEnd - secureConnectionStart) : undefined,
    wait_ms: roundMs(responseStart - requestStart),
  };
}
