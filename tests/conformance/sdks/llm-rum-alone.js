// The probe as the README's first snippet installs it, without extensions.

import { start } from "/probe/llm-rum.mjs";

export let probe;

export function install() {
  probe = start({ collector: location.origin, site: "demo" });
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
