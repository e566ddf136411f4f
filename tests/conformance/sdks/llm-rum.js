// The probe as it is built for npm, with every extension.

import * as more from "/probe/llm-rum-more.mjs";
import { install as installAlone, probe } from "./llm-rum-alone.js";

export { flush, ready, uninstall } from "./llm-rum-alone.js";

/** Options of the extensions that need some. */
const OPTIONS = { webSocket: { isStream: () => true } };

export function install() {
  installAlone();
  extend();
}

/** With all that there are: an extension that is added later is among them. */
function extend() {
  probe.use(...Object.entries(more).map(([name, extension]) => extension(OPTIONS[name])));
}

extend();
