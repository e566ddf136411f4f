// The probe as it is built for npm.

import { start } from "/probe/llm-rum.mjs";
import { eventSource, lastWord, marks, networkTiming, paint, probeOverhead, webSocket, xhr } from "/probe/llm-rum-more.mjs";

let probe;

export function install() {
  probe = start({ collector: location.origin, site: "demo" });
  probe.use(eventSource(), xhr(), webSocket({ isStream: () => true }), paint(), networkTiming(), lastWord(), marks(), probeOverhead());
}

export function uninstall() {
  probe.stop();
}

/** Until what was reported has been sent. */
export const flush = () => probe.flush();

/** Until a stream has been reported, which takes the compiled part: before that the tap only queues. */
export async function ready() {
  const reported = new Promise((resolve) => {
    const off = probe.onStreamEnd(() => resolve(off()));
  });
  await (await fetch("/play/ready?steps=event")).text();
  await reported;
}

install();
