// The script-tag build of the extensions. It watches at once what its own tag names, and hands over to the probe of the
// other tag, whichever of the two has loaded first.

import { bufferInto } from "../tap/early-buffer.js";
import { FORGET, OPEN } from "../tap/tap-events.js";
import * as more from "./extensions.js";

const { with: names = "", socket, asks, ...named } = document.currentScript.dataset;
const options = {
  webSocket: {
    // Sockets are for many things: of a tag that does not say which, none is watched.
    isStream: (url) => socket && url.includes(socket),
    asks: asks && ((sent) => sent.includes(asks)),
  },
  output: named,
};
const buffered = [];
let emit = bufferInto(buffered);
/** What extensions get until there is a probe, which then takes over what they have added to this one. */
const core = {
  probe: {},
  openReports: () => [],
  emit: (...event) => emit(...event),
  guard: (job) => caught(job, () => (emit = silent)),
  attempt: (job) => caught(job, reportError),
};
const extensions = names.split(/\s+/).filter((name) => name in more).map((name) => more[name](options[name])(core));

window.llmRumMore = more;
document.addEventListener("load", findProbe, true);
findProbe();

/** Finds out whether the other tag has loaded, wherever it stands and whatever its file is called. */
function findProbe() {
  const { llmRum } = window;
  if (!llmRum) return;
  document.removeEventListener("load", findProbe, true);
  const { probe, start } = llmRum;
  if (probe) return handOver(probe);
  // That tag names no site: the page starts the probe when it will.
  llmRum.start = (...call) => {
    const probe = (llmRum.start = start)(...call);
    handOver(probe);
    return probe;
  };
}

function handOver(probe) {
  if (emit == silent) return;
  let found;
  probe.use(...extensions.map((extension) => () => extension), (core) => {
    found = core;
    return {};
  });
  // The probe of a user who is not watched accepts no extensions.
  if (!found) return stop();
  Object.assign(probe, core.probe);
  ({ emit, sender: core.sender, openReports: core.openReports } = found);
  for (const [stream, event, ...args] of buffered.splice(0))
    if (!stream.overflowed_) emit(stream, event, ...args);
    else if (event == OPEN) reportDropped(stream, args);
}

/** A probe that still buffers counts the stream as dropped: it gets the begin of it, and can get no more. */
function reportDropped(stream, args) {
  stream.overflowed_ = false;
  emit(stream, OPEN, ...args);
  stream.overflowed_ = true;
  emit(stream, FORGET);
}

function stop() {
  for (const { stop } of extensions) stop?.();
  emit = silent;
  buffered.length = 0;
}

function caught(job, failed) {
  try {
    return job();
  } catch (error) {
    failed(error);
  }
}

function silent() {}
