// The inline stub alone, as it is before the probe has loaded.

import "/probe/stub.js";
