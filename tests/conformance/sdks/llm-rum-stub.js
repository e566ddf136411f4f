// The inline stub alone, as in a page whose probe has not loaded yet.

import "/probe/stub.js";
