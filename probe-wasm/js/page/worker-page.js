// What stands in a worker for the page: the worker itself, a document that is always seen, and beacons, which
// workers have none of.

import { silent } from "../tap/install.js";

const { self } = globalThis;
/** Before anybody has replaced them. */
const { fetch, XMLHttpRequest } = self;

/** As long as a worker that closes itself may wait for the collector, whatever it has to send. */
const PATIENCE_MS = 2000;
/** When it has. */
let until;

export const window = self;

export const document = { hidden: false, addEventListener() {}, removeEventListener() {} };

export const navigator = new Proxy(self.navigator, {
  get: (target, name) => (name == "sendBeacon" ? sendLast : target[name]),
});

/** Sends as the worker closes itself. Of Chromium's workers no request outlives them: there it waits for the answer. */
function sendLast(url, body) {
  if (!/Chrom/.test(self.navigator.userAgent)) {
    fetch.call(self, url, { method: "POST", body, keepalive: true, credentials: "omit" }).catch(silent);
    return true;
  }
  until ??= performance.now() + PATIENCE_MS;
  const request = new XMLHttpRequest();
  request.open("POST", url, false);
  request.timeout = Math.max(1, until - performance.now());
  try {
    request.send(body);
  } catch {
    // No answer came, and there is no later to try it again in.
  }
  return true;
}
