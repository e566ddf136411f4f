// Sends the last reports of a worker that closes itself.

const { self } = globalThis;
/** The native, before any script has replaced it. */
const { XMLHttpRequest } = self;

/** How long a worker that closes itself may wait for the collector in all. */
const TIMEOUT_MS = 2000;
/** The end of that time. */
let until;

/** In Chromium no request outlives its worker, so there the last post waits for the answer. */
export function waitForLastPost(sender) {
  if (/Chrom/.test(self.navigator.userAgent)) sender.lastPost = (body) => postAndWait(sender.url, body);
}

function postAndWait(url, body) {
  until ??= performance.now() + TIMEOUT_MS;
  const request = new XMLHttpRequest();
  request.open("POST", url, false);
  request.timeout = Math.max(1, until - performance.now());
  try {
    request.send(body);
  } catch {
    // No answer came, and there is no time for another try.
  }
}
