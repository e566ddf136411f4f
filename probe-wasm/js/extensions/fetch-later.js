// Reports the open streams of a page that is killed. The browser holds their last state, by `fetchLater`, and sends it
// when the page is gone. A newer state replaces it each second.

import { CHUNK } from "../tap/tap-events.js";

const RENEW_MS = 1000;
/** Browsers hold 64 KiB for one origin, of all scripts of a page together. */
const MAX_BODY_BYTES = 16_384;

/** Leaves the reports of open streams with the browser, where it has `fetchLater`. */
export const lastWord = () => (core) => {
  if (!globalThis.fetchLater) return {};
  let request, timer;
  const cancel = () => request?.abort();
  const guardedRenew = () => core.guard(renew);
  // A page that is left in good order sends its reports itself.
  window.addEventListener("pagehide", cancel, true);

  return {
    onEvent(stream, event) {
      // Beginnings and ends are reported at once, chunks each second.
      if (event != CHUNK) clearTimeout(timer);
      if (event != CHUNK || !timer) timer = setTimeout(guardedRenew);
    },
    stop() {
      clearTimeout(timer);
      cancel();
      window.removeEventListener("pagehide", cancel, true);
    },
  };

  function renew() {
    cancel();
    timer = undefined;
    const body = bodyOf(core.openReports() || []);
    if (!body) return;
    timer = setTimeout(guardedRenew, RENEW_MS);
    request = new AbortController();
    try {
      const alone = { credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" };
      fetchLater(core.sender.url, { method: "POST", body, signal: request.signal, ...alone });
    } catch {
      // Other scripts have used up the browser's limit, or the page may not reach the collector. It still sends its
      // reports itself.
    }
  }
};

/** Of more than fits, the oldest. */
function bodyOf(reports) {
  let room = MAX_BODY_BYTES;
  const taken = reports.filter((report) => report && (room -= new TextEncoder().encode(report).length) > 0);
  return taken.length ? `{"reports":[${taken}]}` : "";
}
