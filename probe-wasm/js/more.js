// What watches more than fetch, each for `probe.use()`. A page pays for those that it names.

export { cost } from "./more/cost.js";
export { eventSource } from "./more/event-source.js";
export { lastWord } from "./more/last-word.js";
export { paint } from "./more/paint.js";
export { phases } from "./more/phases.js";
export { webSocket } from "./more/web-socket.js";
export { xhr } from "./more/xhr.js";
