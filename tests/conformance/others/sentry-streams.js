// Sentry with tracing and with its measurement of streamed bodies.

import { browserTracingIntegration, fetchStreamPerformanceIntegration, init } from "@sentry/browser";

const { host } = window.location;
const integrations = [browserTracingIntegration(), fetchStreamPerformanceIntegration()];
init({ dsn: `http://key@${host}/1`, integrations, tracesSampleRate: 1 });
