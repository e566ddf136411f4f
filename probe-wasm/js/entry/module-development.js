// The ES module of the npm package for development: bundlers take it by the condition `development`.

import { startDevelopment } from "../development/development.js";
import { withAssets } from "../page/assets.js";

export const start = (options) => startDevelopment(withAssets(options));
