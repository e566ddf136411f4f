// The probe for dedicated and shared workers: the same, but for what the build puts in the place of its
// window and document (`worker-page.js`). Importing it does nothing.

import { withAssets } from "./assets.js";
import { startProbe } from "./probe.js";
import { window } from "./worker-page.js";

export function start(options) {
  const probe = startProbe(withAssets(options));
  if (!window) return probe;
  leaveBeforeClosing();
  // Whether somebody sees the page, a worker does not know.
  return probe.use(() => ({ add: ({ page }) => delete page?.visibility }));
}

/** A worker that closes itself is told of no `pagehide`; one that is terminated has told what it had. */
function leaveBeforeClosing() {
  const { close } = window;
  window.close = () => {
    window.dispatchEvent(Object.assign(new Event("pagehide"), { persisted: false }));
    close.call(window);
  };
}
