// The ES module of the npm package. The import alone does nothing, so a server may import it.

import { withAssets } from "../page/assets.js";
import { startProbe } from "../page/probe.js";

export const start = (options) => startProbe(withAssets(options));
