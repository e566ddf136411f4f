// The script-tag build: starts by itself with what its own tag says.

import { startProbe } from "./probe.js";

const tag = document.currentScript;
const { site, useCase, provider, release, collector = new URL(tag.src).origin } = tag.dataset;
const start = (options) => startProbe({ wasmUrl: new URL("llm-rum.wasm", tag.src).href, ...options });

window.llmRum = { start, probe: site ? start({ collector, site, useCase, provider, release }) : undefined };
