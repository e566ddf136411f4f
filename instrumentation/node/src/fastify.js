// A plugin for Fastify, which has no dependency on it.

import { withMarks } from "./marks.js";
import { watchNodeResponse } from "./node-response.js";

/**
 * @param {any} app
 * @param {unknown} _options
 * @param {() => void} done
 */
export function fastifyPlugin(app, _options, done) {
  /** @type {WeakMap<object, import("./marks.js").Marks>} */
  const watched = new WeakMap();
  /** @param {any} request @param {unknown} _reply @param {() => void} next */
  const goOn = (request, _reply, next) => {
    const marks = watched.get(request);
    if (marks) withMarks(marks, next);
    else next();
  };
  app.addHook("onRequest", (/** @type {any} */ request, /** @type {any} */ reply, /** @type {() => void} */ next) => {
    const marks = watchNodeResponse(request.raw, reply.raw, request);
    if (marks) watched.set(request, marks);
    goOn(request, reply, next);
  });
  // What reads the body of the request calls back outside of any context.
  app.addHook("preValidation", goOn);
  done();
}

// Fastify gives each plugin a scope of its own, unless it says by these that it serves the whole app.
Object.assign(fastifyPlugin, {
  [Symbol.for("skip-override")]: true,
  [Symbol.for("fastify.display-name")]: "llm-rum-server",
});
