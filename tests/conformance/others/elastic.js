// Elastic's RUM agent, as its README sets it up.

import { init } from "@elastic/apm-rum";

init({ serviceName: "conformance", serverUrl: window.location.origin });
