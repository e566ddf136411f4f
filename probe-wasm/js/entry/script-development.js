// The script-tag build for development.

import { startDevelopment, tellUnusedTag } from "../development/development.js";

const tag = document.currentScript;
const beside = (name) => new URL(name, tag.src).href;
const llmRum = (window.llmRum = {
  start: (options, more) =>
    (llmRum.probe = startDevelopment(
      {
        collector: new URL(tag.src).origin,
        wasmUrl: beside("llm-rum.wasm"),
        wasmAllUrl: beside("llm-rum-all.wasm"),
        ...options,
      },
      more,
    )),
});

if (tag.dataset.site) llmRum.start(tag.dataset, { isTag: true });
else tellUnusedTag(tag.dataset);
