// The development build of the probe: it measures the same, and writes each mistake of the app once to the console. With
// `debug: true`, `data-debug` or `?llm-rum-debug` in the address it also writes a line about each stream that ended.

import { startProbe } from "../page/probe.js";
import { installTap } from "../tap/install.js";
import { mistakesInOptions, mistakesInStreamOptions, namesAnOption } from "./check-options.js";
import { describeStream } from "./describe-stream.js";
import { explainPolicy, watchRequests } from "./watch-requests.js";

const PREFIX = "llm-rum:";
const told = new Set();

function warn(sentence) {
  if (!sentence || told.has(sentence)) return;
  told.add(sentence);
  console.warn(PREFIX, sentence);
}

/** Tells the mistakes of a tag that starts no probe, as it names no site. Without any option it leaves that to the page. */
export function tellUnusedTag(dataset) {
  if (namesAnOption(dataset)) mistakesInOptions({ collector: "of the tag", ...dataset }, { isTag: true }).forEach(warn);
}

/** Starts the probe as the other build does. */
export function startDevelopment(options, tag) {
  if (typeof window == "undefined") return startProbe(options);
  mistakesInOptions(options, tag).forEach(warn);
  const { globalPrivacyControl, doNotTrack } = navigator;
  if ((globalPrivacyControl || doNotTrack == 1) && `${options?.respectSignals}` != "false")
    warn("the browser sends Global Privacy Control or Do Not Track, so nothing is measured");
  if (options?.wasmUrl !== false) explainPolicy().then(warn);
  const probe = startWatched(options);
  const { set, wrapFetch } = probe;
  probe.set = (more) => {
    mistakesInStreamOptions(more).forEach(warn);
    set(more);
  };
  probe.wrapFetch = (fetch, own) => {
    mistakesInStreamOptions(own).forEach(warn);
    return wrapFetch(fetch, own);
  };
  probe.onStreamEnd(({ dialect, events, ttft_ms: ttft }) => {
    if (dialect == "custom" && ttft === undefined)
      warn(`in a stream of ${events} events there was none of the text that \`formats\` describes`);
  });
  const isDebugged = options?.debug ?? new URLSearchParams(location.search).has("llm-rum-debug");
  if (`${isDebugged}` != "false") probe.onStreamEnd((report) => console.info(PREFIX, describeStream(report)));
  return probe;
}

/** The probe takes for its own requests the fetch that it finds when it starts: a watched one, for that moment. */
function startWatched(options) {
  const tap = window.__llmRum ?? (options?.patchFetch === false ? undefined : installTap(window));
  const native = tap?.native_ ?? window.fetch;
  const watched = watchRequests(native, warn);
  if (tap) tap.native_ = watched;
  else window.fetch = watched;
  try {
    return startProbe(options);
  } finally {
    if (tap) tap.native_ = native;
    // It is still there without a tap, and if the user is not measured.
    if (window.fetch == watched) window.fetch = native;
  }
}
