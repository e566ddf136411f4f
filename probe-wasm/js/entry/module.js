// The ES module of the npm package. Importing it does nothing, so it may be imported on a server.

import { withAssets } from "../page/assets.js";
import { startProbe } from "../page/probe.js";

export const start = (options) => startProbe(withAssets(options));
