// The probe for dedicated and shared workers. The build replaces window and document by those of `worker-page.js`. The
// import alone does nothing.

import { withAssets } from "../page/assets.js";
import { startProbe } from "../page/probe.js";
import { window } from "../page/worker-page.js";
import { waitForLastPost } from "../page/worker-send.js";

export function start(options) {
  return startProbe(withAssets(options)).use(inWorker);
}

/** An extension, so that a probe that is off does not change the worker. */
function inWorker({ sender }) {
  waitForLastPost(sender);
  return {
    stop: leaveBeforeClosing(),
    // A worker does not know whether the page is visible.
    addFields: ({ page }) => delete page?.visibility,
  };
}

let ours;

/** A worker that closes itself gets no `pagehide`. Of one that is terminated, the reports so far have been sent. */
function leaveBeforeClosing() {
  const { close } = window;
  // A second start returns the same probe.
  if (close == ours) return;
  const isOwn = Object.hasOwn(window, "close");
  let watching = true;
  const mine = new Proxy(close, {
    apply(...call) {
      if (watching) window.dispatchEvent(Object.assign(new Event("pagehide"), { persisted: false }));
      return Reflect.apply(...call);
    },
  });
  window.close = ours = mine;
  return () => {
    watching = false;
    // A script may have wrapped ours since.
    if (window.close != mine) return;
    window.close = close;
    if (!isOwn) delete window.close;
  };
}
