// The extensions, each for `probe.use()`. A page loads the code of those that it names.

export { arrivals } from "../extensions/arrivals.js";
export { eventSource } from "../extensions/event-source.js";
export { failures } from "../extensions/failures.js";
export { lastWord } from "../extensions/fetch-later.js";
export { gradio } from "../extensions/gradio.js";
export { marks } from "../extensions/marks.js";
export { networkTiming } from "../extensions/network-timing.js";
export { output } from "../extensions/output.js";
export { paint } from "../extensions/paint.js";
export { probeOverhead } from "../extensions/probe-overhead.js";
export { traceId } from "../extensions/trace-id.js";
export { visits } from "../extensions/visits.js";
export { webSocket } from "../extensions/web-socket.js";
export { xhr } from "../extensions/xhr.js";
