// Goes inline into the page's head, before anything that may keep a reference to fetch.

import { installTap } from "./install.js";

installTap(window);
