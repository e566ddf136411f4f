// Replaces the page in a worker: window is the worker itself, the document is always visible, and the navigator has
// beacons, which workers lack.

import { silent } from "../tap/install.js";

const { self } = globalThis;
/** The natives, before any script has replaced them. */
const { fetch, XMLHttpRequest } = self;

/** How long a worker that closes itself may wait for the collector in all. */
const TIMEOUT_MS = 2000;
/** The end of that time. */
let until;

export const window = self;

export const document = { hidden: false, addEventListener() {}, removeEventListener() {} };

export const navigator = new Proxy(self.navigator, {
  get: (target, name) => (name == "sendBeacon" ? sendLast : target[name]),
});

/** Sends as the worker closes itself. In Chromium no request outlives its worker, so this waits for the answer. */
function sendLast(url, body) {
  if (!/Chrom/.test(self.navigator.userAgent)) {
    fetch.call(self, url, { method: "POST", body, keepalive: true, credentials: "omit" }).catch(silent);
    return true;
  }
  until ??= performance.now() + TIMEOUT_MS;
  const request = new XMLHttpRequest();
  request.open("POST", url, false);
  request.timeout = Math.max(1, until - performance.now());
  try {
    request.send(body);
  } catch {
    // No answer came, and there is no time for another try.
  }
  return true;
}
