// The script-tag build: starts by itself with what its own tag says.

import { startProbe } from "./probe.js";

const tag = document.currentScript;
const beside = (name) => new URL(name, tag.src).href;
const options = { collector: new URL(tag.src).origin, ...tag.dataset };
const llmRum = (window.llmRum = {
  start: (options) =>
    (llmRum.probe = startProbe({ wasmUrl: beside("llm-rum.wasm"), wasmAllUrl: beside("llm-rum-all.wasm"), ...options })),
});

if (options.site) llmRum.start(options);
