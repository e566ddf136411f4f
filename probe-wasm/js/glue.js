// The compiled probe, as wasm-bindgen wraps it. The build makes the module behind this name.

import {
  answered,
  batch,
  begin,
  chunk,
  due_in,
  end,
  forget,
  headers,
  hurry,
  initSync,
  last_words,
  lost_early,
  open,
  page_gone,
  read,
  report,
  set_visible,
} from "llm-rum-glue";

export function createSession(module, { useCase, provider, release }) {
  initSync({ module });
  // A tablet may take itself for a desktop, but no desktop of its kind has a touch screen.
  const touch = navigator.maxTouchPoints > 1;
  begin(useCase, provider, release, navigator.userAgent, touch, !document.hidden);
  return { open, headers, read, chunk, end, forget, report, lost_early, set_visible, page_gone, hurry, due_in, batch, last_words, answered };
}
