// Sentry with tracing, as its README sets it up.

import { browserTracingIntegration, init } from "@sentry/browser";

const { host } = window.location;
init({ dsn: `http://key@${host}/1`, integrations: [browserTracingIntegration()], tracesSampleRate: 1 });
