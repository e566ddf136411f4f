// OpenTelemetry's instrumentation of fetch, as its README sets it up.

import { registerInstrumentations } from "@opentelemetry/instrumentation";
import { FetchInstrumentation } from "@opentelemetry/instrumentation-fetch";
import { WebTracerProvider } from "@opentelemetry/sdk-trace-web";

new WebTracerProvider().register();
const instrumentation = new FetchInstrumentation();
registerInstrumentations({ instrumentations: [instrumentation] });

export const install = () => instrumentation.enable();
export const uninstall = () => instrumentation.disable();
