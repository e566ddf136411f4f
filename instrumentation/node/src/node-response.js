// Responses of Node's `http` and `http2`, which Express, connect and Fastify write to.

import { CommentWriter } from "./comment-writer.js";
import { canCarryComments, isFromBrowser } from "./eligibility.js";
import { logFault } from "./faults.js";
import { keepMarks } from "./marks.js";
import { StreamFact } from "./stream-fact.js";

/** @typedef {import("node:http").IncomingMessage} Request */
/** @typedef {import("node:http").ServerResponse} Response */

/**
 * Begins to measure if a browser asks. For all others the response keeps its own methods.
 * @param {Request} request
 * @param {Response} response
 * @param {object} [handle] Another object by which the app may name the request.
 * @returns {import("./marks.js").Marks | undefined}
 */
export function watchNodeResponse(request, response, handle) {
  try {
    if (request.method === "HEAD" || !isFromBrowser((name) => request.headers[name])) return undefined;
    const marks = {};
    keepMarks(marks, [request, handle]);
    const nowMs = performance.now();
    const fact = new StreamFact(nowMs);
    patch(response, new CommentWriter(nowMs, marks, fact.id), (comments) => {
      const brokeOff = response.errored ? "error" : "client_gone";
      fact.send(response.writableFinished ? "complete" : brokeOff, comments, marks);
    });
    return marks;
  } catch (error) {
    logFault(error);
    return undefined;
  }
}

/**
 * Puts comments into the body that the app writes, if its headers allow that.
 * @param {Response} response
 * @param {CommentWriter} comments
 * @param {(comments: CommentWriter) => void} onClose Called when a response with comments is over.
 */
function patch(response, comments, onClose) {
  const { write, end, writeHead } = response;
  /** Known with the headers. @type {boolean | undefined} */
  let isCarrier;

  /** @param {number} status @param {(name: string) => unknown} header */
  const decide = (status, header) => {
    if (isCarrier !== undefined) return isCarrier;
    const hasLength = response.hasHeader("content-length");
    // If the app sent its headers before it called the middleware, their length must stay right.
    isCarrier = canCarryComments(status, header) && !(hasLength && response.headersSent);
    if (isCarrier && hasLength) response.removeHeader("content-length");
    if (isCarrier) response.once("close", () => onClose(comments));
    return isCarrier;
  };

  /** What the original method gets for what the app gave. @param {any[]} given @param {boolean} isLast */
  const commented = (given, isLast) => {
    try {
      if (!decide(response.statusCode, (name) => response.getHeader(name))) return given;
      const bytes = bytesOf(given[0], given[1]);
      const parts = bytes ? [comments.feed(bytes, performance.now())] : [];
      const last = isLast && comments.end();
      if (last) parts.push(last);
      if (parts.length === 0 || (parts.length === 1 && parts[0] === bytes)) return given;
      const callback = given.find((it) => typeof it === "function");
      return [Buffer.concat(parts), undefined, ...(callback ? [callback] : [])];
    } catch (error) {
      isCarrier = false;
      logFault(error);
      return given;
    }
  };

  response.writeHead = /** @type {any} */ (
    /** @this {Response} @param {any[]} given */
    function (...given) {
      return writeHead.apply(this, /** @type {any} */ (withoutLength(given, decide, response)));
    }
  );
  response.write = /** @type {any} */ (
    /** @this {Response} @param {any[]} given */
    function (...given) {
      return write.apply(this, /** @type {any} */ (commented(given, false)));
    }
  );
  response.end = /** @type {any} */ (
    /** @this {Response} @param {any[]} given */
    function (...given) {
      return end.apply(this, /** @type {any} */ (commented(given, true)));
    }
  );
}

/**
 * The arguments of `writeHead`, without a length that comments would make wrong.
 * @param {any[]} given
 * @param {(status: number, header: (name: string) => unknown) => boolean} decide
 * @param {Response} response
 */
function withoutLength(given, decide, response) {
  try {
    const headers = given.at(-1);
    const pairs = typeof headers === "object" && headers ? headerPairs(headers) : [];
    const find = (/** @type {string} */ name) => pairs.find(([it]) => String(it).toLowerCase() === name)?.[1];
    const hasLength = find("content-length") !== undefined;
    if (!decide(Number(given[0]), (name) => find(name) ?? response.getHeader(name)) || !hasLength) return given;
    const kept = pairs.filter(([name]) => String(name).toLowerCase() !== "content-length");
    const asList = Array.isArray(headers?.[0]) ? kept : kept.flat();
    return [...given.slice(0, -1), Array.isArray(headers) ? asList : Object.fromEntries(kept)];
  } catch (error) {
    logFault(error);
    return given;
  }
}

/**
 * Node takes an object, pairs, or a flat list of names and values.
 * @param {any} headers
 * @returns {[unknown, unknown][]}
 */
function headerPairs(headers) {
  if (!Array.isArray(headers)) return Object.entries(headers);
  if (Array.isArray(headers[0])) return /** @type {any} */ (headers);
  return headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1]]] : []));
}

/** The bytes that Node would send for a chunk; undefined if the value is not a chunk. @param {unknown} chunk @param {unknown} encoding */
function bytesOf(chunk, encoding) {
  if (typeof chunk === "string") {
    return Buffer.from(chunk, typeof encoding === "string" ? /** @type {BufferEncoding} */ (encoding) : "utf8");
  }
  return chunk instanceof Uint8Array ? chunk : undefined;
}
