// Datadog RUM, as its README sets it up; what it sends goes to the suite's server instead of Datadog's.

import { datadogRum } from "@datadog/browser-rum";

datadogRum.init({
  applicationId: "00000000-0000-0000-0000-000000000000",
  clientToken: "pub00000000000000000000000000000000",
  service: "conformance",
  proxy: `${window.location.origin}/datadog`,
  // In a cookie, as by default, it would be sent with the requests of the other frame, too.
  sessionPersistence: "local-storage",
  sessionSampleRate: 100,
  trackResources: true,
  trackUserInteractions: true,
  trackLongTasks: true,
});
