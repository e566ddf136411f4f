// The script-tag build of what watches more than fetch: it watches at once what its own tag names, and
// hands over to the probe of the other tag, whichever of the two has loaded first.

import * as more from "./extensions.js";
import { FORGET, OPEN } from "../tap/tap-events.js";
import { holdIn } from "../tap/early-buffer.js";

const { with: names = "", socket, asks } = document.currentScript.dataset;
const options = {
  webSocket: {
    // Sockets are for many things: of a tag that does not say which, none is watched.
    isStream: (url) => socket && url.includes(socket),
    asks: asks && ((sent) => sent.includes(asks)),
  },
};
const held = [];
let tell = holdIn(held);
/** What extensions know until there is a probe, which then gets what they have added to this one. */
const core = {
  probe: {},
  standing: () => [],
  tell: (...moment) => tell(...moment),
  guard: (job) => caught(job, () => (tell = silent)),
  attempt: (job) => caught(job, reportError),
};
const extensions = names.split(/\s+/).filter((name) => name in more).map((name) => more[name](options[name])(core));

window.llmRumMore = more;
document.addEventListener("load", look, true);
look();

/** Whether the other tag has loaded, wherever it stands and whatever its file is called. */
function look() {
  const { llmRum } = window;
  if (!llmRum) return;
  document.removeEventListener("load", look, true);
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
  if (tell == silent) return;
  let found;
  probe.use(...extensions.map((extension) => () => extension), (core) => {
    found = core;
    return {};
  });
  // Whoever does not want to be watched has a probe that takes nobody in.
  if (!found) return stop();
  Object.assign(probe, core.probe);
  ({ tell, url: core.url, standing: core.standing } = found);
  for (const [stream, moment, ...told] of held.splice(0))
    if (!stream.early) tell(stream, moment, ...told);
    else if (moment == OPEN) giveUp(stream, told);
}

/** The probe counts what it was told of and cannot be told more of, where it still holds what it is told. */
function giveUp(stream, told) {
  stream.early = false;
  tell(stream, OPEN, ...told);
  stream.early = true;
  tell(stream, FORGET);
}

function stop() {
  for (const { stop } of extensions) stop?.();
  tell = silent;
  held.length = 0;
}

function caught(job, failed) {
  try {
    return job();
  } catch (error) {
    failed(error);
  }
}

function silent() {}
