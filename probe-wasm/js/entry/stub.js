// Goes inline into the page's head, before anything that may keep a reference to fetch.

import { installTap } from "../tap/install.js";

installTap(window);
