// The probe as it is built for npm.

import { start } from "/probe/llm-rum.mjs";
import * as more from "/probe/llm-rum-more.mjs";

/** Options of the extensions that need some. */
const OPTIONS = { webSocket: { isStream: () => true } };

let probe;

export function install() {
  probe = start({ collector: location.origin, site: "demo" });
  // All that there are: an extension that is added later is among them.
  probe.use(...Object.entries(more).map(([name, extension]) => extension(OPTIONS[name])));
}

export function uninstall() {
  probe.stop();
}

/** Resolves when all reports have been sent. */
export const flush = () => probe.flush();

/** Resolves after the first stream report: by then the Wasm has loaded. Before it the tap only buffers. */
export async function ready() {
  const reported = new Promise((resolve) => {
    const off = probe.onStreamEnd(() => resolve(off()));
  });
  await (await fetch("/play/ready?steps=event")).text();
  await reported;
}

install();
