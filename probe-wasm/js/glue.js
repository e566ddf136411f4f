// The compiled probe, as wasm-bindgen wraps it. The build makes the module behind this name.

import { initSync, Session } from "llm-rum-glue";

/** A session in a compiled module. Throws where it cannot be made. */
export function createSession(module, options, wake) {
  initSync({ module });
  const session = Session.create(options, wake);
  if (!session) throw new TypeError("the page has no clock, or an option is of the wrong type");
  return session;
}
