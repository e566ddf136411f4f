// The ES module of the npm package. Importing it does nothing, so it may be imported on a server.

import { withAssets } from "./assets.js";
import { startProbe } from "./probe.js";

export const start = (options) => startProbe(withAssets(options));
