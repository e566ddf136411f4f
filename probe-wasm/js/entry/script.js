// The script-tag build, which starts itself with the options of its own tag.

import { startProbe } from "../page/probe.js";

const tag = document.currentScript;
const beside = (name) => new URL(name, tag.src).href;
const llmRum = (window.llmRum = {
  start: (options) =>
    (llmRum.probe = startProbe({
      collector: new URL(tag.src).origin,
      wasmUrl: beside("llm-rum.wasm"),
      wasmAllUrl: beside("llm-rum-all.wasm"),
      ...options,
    })),
});

if (tag.dataset.site) llmRum.start(tag.dataset);
