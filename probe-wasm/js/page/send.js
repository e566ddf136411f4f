// Sends the session's bodies to the collector, by the fetch from before the tap: neither the tap nor another script's
// watcher sees these requests.

import { silent } from "../tap/install.js";

/** A collector that does not answer in this time counts as unreachable. */
const TIMEOUT_MS = 30_000;

/** `post` sends and resolves to status and delay of the answer; `lastPost` sends as the page is left. */
export function createSender(collector, site, fetch) {
  const url = collector.replace(/\/*$/, "/v1/beacons?site=") + encodeURIComponent(site.trim());
  // A failure may be due to the limit of 64 KiB that all keepalive requests of a page share.
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
        // Without a network the outbox waits, and drops nothing.
        return [navigator.onLine ? 0 : 503, 0];
      }
    },
    lastPost(body) {
      // Firefox before 133 cancels requests of a page that is gone. Elsewhere not `sendBeacon`: it sends cookies. If
      // the page's referrer policy hides its origin, Firefox and WebKit send `Origin: null` with it.
      if (!("keepalive" in Request.prototype) && navigator.sendBeacon?.(url, body)) return;
      // With the limit used up, a page that is only hidden can still send without keepalive.
      request(body, true)
        .catch(() => request(body))
        .catch(silent);
    },
  };

  // A string is sent as text/plain, which needs no preflight. Reports go to the collector alone, without the page's
  // address and without cookies.
  function request(body, keepalive) {
    const signal = AbortSignal.timeout?.(TIMEOUT_MS);
    const alone = { credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" };
    return fetch.call(window, url, { method: "POST", body, keepalive, signal, ...alone });
  }
}

/** `Retry-After` is a number of seconds or a date. */
function milliseconds(retryAfter) {
  return (retryAfter > 0 ? retryAfter * 1000 : Date.parse(retryAfter) - Date.now()) || 0;
}
