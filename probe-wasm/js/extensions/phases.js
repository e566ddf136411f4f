// What a page can know of a stream beside its bytes: where the time before the first byte went, what
// became of the page meanwhile, and what arrived for nobody. Most of it is known only after the end.

import { CHUNK, CLOSED, HEADERS, OPEN } from "../tap/tap-events.js";
import { thousandths } from "./round-ms.js";

/** Streams that are under way or may still be told of. */
const MAX_STREAMS = 100;
const MAX_SPANS = 100;
/** How far the browser's own start of a request may lie from the page's. */
const START_MS = 50;
const PROTOCOLS = ["http/1.1", "h2", "h3"];

/** Adds `phases` and `around` to reports, and `userStopped()` to the probe. */
export const phases = () => (core) => {
  // A worker is no page: it is neither hidden nor clicked.
  if (!globalThis.document) return {};
  const streams = new Map();
  /** When the page was hidden, from and to; the last may last. */
  const hidden = [];
  const cleanups = [];
  const { supportedEntryTypes } = PerformanceObserver;
  let freezes = "onfreeze" in document ? 0 : undefined;
  let restored = false;

  see();
  listen(document, "visibilitychange", see);
  listen(document, "freeze", () => freezes++);
  listen(window, "pageshow", ({ persisted }) => (restored ||= persisted));
  // Out here the target of a click inside a shadow root is its host.
  listen(window, "click", (event) => event.composedPath().some(isStop) && userStopped());
  observe("resource", join);
  observe("long-animation-frame", slow);
  core.probe.userStopped = userStopped;

  return { saw, add, stop: () => cleanups.forEach((cleanup) => cleanup()) };

  function saw(stream, moment, value, time) {
    if (moment == OPEN) begin(stream);
    const about = streams.get(stream);
    if (!about) return;
    if (moment == HEADERS) about.url = value.url ?? stream.url;
    if (moment == CHUNK) waste(about, value.length, time);
    if (moment >= CLOSED) about.over = time;
    if (moment == CLOSED) about.whole = true;
  }

  function begin(stream) {
    for (const oldest of streams.keys()) if (streams.size >= MAX_STREAMS) streams.delete(oldest);
    const prerendered = !!document.prerendering;
    streams.set(stream, { time: stream.time, freezes, prerendered, hiddenBytes: 0, slow: 0, slowMs: 0 });
  }

  function waste(about, length, time) {
    if (hiddenMs(time, time + 1)) about.hiddenBytes += length;
    if (about.stopped) about.stoppedBytes += length;
  }

  /** The user asked for no more: what arrives from now on is of no use. */
  function userStopped() {
    for (const about of streams.values())
      if (!about.over && !about.stopped) [about.stopped, about.stoppedBytes] = [true, 0];
  }

  function see() {
    const last = hidden.at(-1);
    if (last) last.to ??= performance.now();
    if (document.hidden) hidden.push({ from: performance.now() });
    if (hidden.length > MAX_SPANS) hidden.shift();
  }

  function hiddenMs(from, to) {
    return hidden.reduce((sum, span) => sum + Math.max(Math.min(span.to ?? to, to) - Math.max(span.from, from), 0), 0);
  }

  /** The browser's entry of a request, by its address and the nearest start. */
  function join(entry) {
    const away = ({ time }) => Math.abs(entry.startTime - time);
    const fits = (about) => about.url == entry.name && !about.entry && away(about) < START_MS;
    const [nearest] = [...streams.values()].filter(fits).sort((one, other) => away(one) - away(other));
    if (nearest) nearest.entry = entry;
  }

  function slow({ startTime, duration }) {
    for (const about of streams.values()) {
      if (startTime + duration < about.time || startTime > about.over) continue;
      about.slow++;
      about.slowMs += duration;
    }
  }

  function add(report, stream) {
    const about = streams.get(stream);
    if (!about) return;
    const { time, over = performance.now(), entry } = about;
    const around = {
      hidden_ms: thousandths(hiddenMs(time, over)),
      freezes: freezes >= 0 ? freezes - about.freezes : undefined,
      restored,
      prerendered: about.prerendered,
      hidden_bytes: about.hiddenBytes,
      after_stop_bytes: about.stoppedBytes,
    };
    if (supportedEntryTypes.includes("long-animation-frame"))
      Object.assign(around, { long_frames: about.slow, long_frames_ms: thousandths(about.slowMs) });
    if (entry) timed(report, around, about, entry);
    // Firefox tells the page of headers no earlier than of the first byte.
    if (/Firefox\//.test(navigator.userAgent) && !entry?.responseStart) delete report.headers_ms;
    report.around = around;
  }

  function observe(type, see) {
    if (!supportedEntryTypes.includes(type)) return;
    const observer = new PerformanceObserver((list) => core.guard(() => list.getEntries().forEach(see)));
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

/** Of another origin that does not allow it, an entry holds zeros. */
function timed(report, around, { time, over, whole }, entry) {
  const { requestStart, responseStart, responseEnd, connectStart, connectEnd, secureConnectionStart } = entry;
  const protocol = entry.nextHopProtocol;
  if (protocol) around.protocol = PROTOCOLS.includes(protocol) ? protocol : "other";
  if (whole && responseEnd) around.end_delay_ms = thousandths(over - responseEnd);
  if (responseStart) report.headers_ms = thousandths(responseStart - time);
  if (!requestStart || !responseStart) return;
  report.phases = {
    dns_ms: thousandths(entry.domainLookupEnd - entry.domainLookupStart),
    connect_ms: thousandths((secureConnectionStart || connectEnd) - connectStart),
    tls_ms: secureConnectionStart ? thousandths(connectEnd - secureConnectionStart) : undefined,
    wait_ms: thousandths(responseStart - requestStart),
  };
}
