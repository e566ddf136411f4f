// The script-tag build of what watches more than fetch: it watches at once what its own tag names, and
// hands over to the probe of the other tag, whichever of the two has loaded first.

import * as more from "./more.js";
import { holdIn } from "./queue.js";

const { with: names = "", socket } = document.currentScript.dataset;
/** Sockets are for many things: of a tag that does not say which, none is watched. */
const options = { webSocket: { isStream: (url) => socket && url.includes(socket) } };
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
const extensions = names.split(" ").filter((name) => name in more).map((name) => more[name](options[name])(core));

window.llmRumMore = more;
document.addEventListener("load", look, true);
look();

/** Whether the other tag has loaded, wherever it stands and whatever its file is called. */
function look() {
  if (!window.llmRum) return;
  document.removeEventListener("load", look, true);
  handOver();
}

function handOver() {
  const { probe } = window.llmRum;
  if (tell == silent || !probe) return;
  let found;
  probe.use(...extensions.map((extension) => () => extension), (core) => {
    found = core;
    return {};
  });
  // Whoever does not want to be watched has a probe that takes nobody in.
  if (!found) return stop();
  Object.assign(probe, core.probe);
  ({ tell, url: core.url, standing: core.standing } = found);
  for (const [stream, ...moment] of held.splice(0)) if (!stream.early) tell(stream, ...moment);
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
