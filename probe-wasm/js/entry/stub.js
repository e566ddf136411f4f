// The inline script for the page's head. It runs before any script that may keep a reference to fetch.

import { installTap } from "../tap/install.js";

installTap(window);
