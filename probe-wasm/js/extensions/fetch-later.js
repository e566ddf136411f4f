// For a page that is killed: what is open goes out as it last stood. The browser holds it, by `fetchLater`,
// and sends it when the page is gone; each second something newer takes its place.

import { CHUNK } from "../tap/tap-events.js";

const RENEW_MS = 1000;
/** Browsers hold 64 KiB for one origin, of all scripts of a page together. */
const MAX_BODY_BYTES = 16_384;

/** Leaves word of open streams with the browser, where it has `fetchLater`. */
export const lastWord = () => (core) => {
  if (!globalThis.fetchLater) return {};
  let held, timer;
  const forget = () => held?.abort();
  const leave = () => core.guard(renew);
  // A page that is left in good order tells by itself.
  window.addEventListener("pagehide", forget, true);

  return {
    saw(stream, moment) {
      // What has begun or ended is known at once, what arrives each second.
      if (moment != CHUNK) clearTimeout(timer);
      if (moment != CHUNK || !timer) timer = setTimeout(leave);
    },
    stop() {
      clearTimeout(timer);
      forget();
      window.removeEventListener("pagehide", forget, true);
    },
  };

  function renew() {
    forget();
    timer = undefined;
    const body = bodyOf(core.standing() || []);
    if (!body) return;
    timer = setTimeout(leave, RENEW_MS);
    held = new AbortController();
    try {
      fetchLater(core.url, { method: "POST", body, signal: held.signal, credentials: "omit" });
    } catch {
      // Others have used up what the browser holds, or the page may not reach the collector: it still tells
      // by itself.
    }
  }
};

/** Of more than fits, the oldest. */
function bodyOf(reports) {
  let room = MAX_BODY_BYTES;
  const taken = reports.filter((report) => report && (room -= new TextEncoder().encode(report).length) > 0);
  return taken.length ? `{"reports":[${taken}]}` : "";
}
