// Middleware for Express and for everything else that calls `(request, response, next)`.

import { withMarks } from "./marks.js";
import { watchNodeResponse } from "./node-response.js";

/** @typedef {import("node:http").IncomingMessage} Request */
/** @typedef {import("node:http").ServerResponse} Response */

/** @returns {(request: Request, response: Response, next: (error?: unknown) => void) => void} */
export function expressMiddleware() {
  return (request, response, next) => {
    const marks = watchNodeResponse(request, response);
    if (marks) withMarks(marks, next);
    else next();
  };
}
