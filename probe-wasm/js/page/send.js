// Sends the session's bodies to the collector, by the fetch from before the tap: neither the tap nor another script's
// watcher sees these requests.

import { silent } from "../tap/install.js";

/** A collector that does not answer in this time counts as unreachable. */
const TIMEOUT_MS = 30_000;

/**
 * `post` sends and resolves to status and delay of the answer. `lastPost` sends without waiting for one, as the page is
 * hidden or, if `unloads`, may be about to end.
 */
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
    lastPost(body, unloads) {
      // Firefox drops requests of its last page as it ends, and before version 133 of any page that is gone. A report
      // that comes twice counts once. Elsewhere there is no need for beacons, which carry cookies. If the page's
      // referrer policy hides its origin, Firefox and WebKit send them with `Origin: null`.
      if (unloads && /Firefox\//.test(navigator.userAgent)) navigator.sendBeacon?.(url, body);
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
