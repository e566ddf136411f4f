// The compiled probe, as wasm-bindgen wraps it. The build makes the module behind this name.

import { initSync, Session } from "llm-rum-glue";

export function createSession(module, { useCase, provider, release }) {
  initSync({ module });
  // A tablet may take itself for a desktop, but no desktop of its kind has a touch screen.
  const touch = navigator.maxTouchPoints > 1;
  return new Session(useCase, provider, release, navigator.userAgent, touch, !document.hidden);
}
