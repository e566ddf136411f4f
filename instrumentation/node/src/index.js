// Writes the server's time into streams of server-sent events, for the llm-rum probe in the browser.

export { expressMiddleware } from "./express.js";
export { fastifyPlugin } from "./fastify.js";
export { mark } from "./marks.js";
export { sendTimingsTo } from "./push.js";
export { withLlmRum } from "./web.js";
