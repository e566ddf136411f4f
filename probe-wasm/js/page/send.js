// Carries a session's batches to the collector, by the fetch that was there before the tap: nobody
// else's, so that no other watcher sees these requests, and not ours, so that we do not.

import { silent } from "../tap/install.js";

/** One that never answers counts as one that is not there. */
const PATIENCE_MS = 30_000;

/** `post` sends and resolves to the answer; `lastPost` sends as the page is left. */
export function createSender(collector, site, fetch) {
  const url = collector.replace(/\/*$/, "/v1/beacons?site=") + encodeURIComponent(site.trim());
  // A failure may have been the budget of 64 KiB that all keepalive requests of a page share.
  let keepalive = true;

  return {
    url,
    async post(body) {
      try {
        const { status, headers } = await request(body, keepalive);
        keepalive = true;
        return [status, milliseconds(headers.get("retry-after"))];
      } catch {
        keepalive = false;
        // Without a network there is no hurry, and nothing is given up.
        return [navigator.onLine ? 0 : 503, 0];
      }
    },
    lastPost(body) {
      // The answer comes to a page that is gone. Where the budget is used up, one that is only hidden can
      // still send without it. Some users have no beacons.
      if (!navigator.sendBeacon?.(url, body)) request(body, !navigator.sendBeacon).catch(silent);
    },
  };

  // A string goes as text/plain, which needs no preflight.
  function request(body, keepalive) {
    const signal = AbortSignal.timeout?.(PATIENCE_MS);
    return fetch.call(window, url, { method: "POST", body, keepalive, credentials: "omit", signal });
  }
}

/** `Retry-After` is a number of seconds or a date. */
function milliseconds(retryAfter) {
  return (retryAfter > 0 ? retryAfter * 1000 : Date.parse(retryAfter) - Date.now()) || 0;
}
