// The probe for dedicated and shared workers: the same, but for what the build puts in the place of its
// window and document (`worker-page.js`). Importing it does nothing.

import { withAssets } from "../page/assets.js";
import { startProbe } from "../page/probe.js";
import { window } from "../page/worker-page.js";

export function start(options) {
  return startProbe(withAssets(options)).use(inWorker);
}

/** A probe that is off takes nobody in. */
function inWorker() {
  return {
    stop: leaveBeforeClosing(),
    // Whether somebody sees the page, a worker does not know.
    addFields: ({ page }) => delete page?.visibility,
  };
}

let ours;

/** A worker that closes itself is told of no `pagehide`; one that is terminated has told what it had. */
function leaveBeforeClosing() {
  const { close } = window;
  // Started twice, it is the same probe.
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
    // Somebody may have wrapped ours since.
    if (window.close != mine) return;
    window.close = close;
    if (!isOwn) delete window.close;
  };
}
