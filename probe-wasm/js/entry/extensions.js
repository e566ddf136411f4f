// What watches more than fetch, each for `probe.use()`. A page pays for those that it names.

export { cost } from "../extensions/probe-overhead.js";
export { eventSource } from "../extensions/event-source.js";
export { lastWord } from "../extensions/fetch-later.js";
export { paint } from "../extensions/paint.js";
export { phases } from "../extensions/phases.js";
export { webSocket } from "../extensions/web-socket.js";
export { xhr } from "../extensions/xhr.js";
