// The script-tag build: starts by itself with what its own tag says.

import { startProbe } from "./probe.js";

const tag = document.currentScript;
const start = (options) => startProbe({ wasmUrl: new URL("llm-rum.wasm", tag.src).href, ...options });
const options = { collector: new URL(tag.src).origin, ...tag.dataset };

window.llmRum = { start, probe: options.site && start(options) };
