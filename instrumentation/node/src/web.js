// Handlers that take a web `Request` and return a `Response`.

import { CommentWriter } from "./comment-writer.js";
import { canCarryComments, isFromBrowser } from "./eligibility.js";
import { logFault } from "./faults.js";
import { keepMarks, withMarks } from "./marks.js";
import { StreamFact } from "./stream-fact.js";

/** @typedef {{ comments: CommentWriter, marks: import("./marks.js").Marks, fact: StreamFact, waitUntil?: (sent: Promise<void>) => void }} Watched */

/**
 * @template {(...args: any[]) => unknown} Handler
 * @param {Handler} handler
 * @returns {Handler}
 */
export function withLlmRum(handler) {
  /** @this {unknown} @param {any[]} args */
  function handle(...args) {
    const watched = watch(args[0], args);
    if (!watched) return handler.apply(this, args);
    const response = withMarks(watched.marks, () => handler.apply(this, args));
    const isPromise = typeof (/** @type {any} */ (response)?.then) === "function";
    if (isPromise) return /** @type {any} */ (response).then((/** @type {unknown} */ it) => commented(it, watched));
    return commented(response, watched);
  }
  return /** @type {Handler} */ (handle);
}

/**
 * Begins to measure if a browser asks.
 * @param {any} argument The handler's first.
 * @param {any[]} args
 * @returns {Watched | undefined}
 */
function watch(argument, args) {
  try {
    const request = requestOf(argument);
    if (!request || request.method === "HEAD" || !isFromBrowser((name) => request.headers.get(name))) return undefined;
    const marks = {};
    keepMarks(marks, [request, argument]);
    const nowMs = performance.now();
    const fact = new StreamFact(nowMs);
    return { comments: new CommentWriter(nowMs, marks, fact.id), marks, fact, waitUntil: waitUntilOf(args) };
  } catch (error) {
    logFault(error);
    return undefined;
  }
}

/** Of the context that a Worker's handler gets. @param {any[]} args */
function waitUntilOf(args) {
  const context = args.find((it) => typeof it?.waitUntil === "function");
  return context && ((/** @type {Promise<void>} */ sent) => context.waitUntil(sent));
}

/** A request, SvelteKit's or Remix's event with one, or a context of Hono. @param {any} argument */
function requestOf(argument) {
  const isRequest = (/** @type {any} */ it) => typeof it?.headers?.get === "function";
  // First as it is: a request of Next.js's edge runtime throws when it is asked for its `request`.
  if (isRequest(argument)) return argument;
  return [argument?.request, argument?.req?.raw].find(isRequest);
}

/** The response with comments in its body, or itself. @param {any} response @param {Watched} watched */
function commented(response, watched) {
  try {
    const { headers, status, body } = response;
    if (!body || body.locked || !canCarryComments(status, (name) => headers.get(name))) return response;
    const copied = new Headers(headers);
    copied.delete("content-length");
    // Not with the response itself as the second argument: Hono's server for Node reads the body of such a copy ahead.
    return new Response(commentedBody(body, watched), { status, statusText: response.statusText, headers: copied });
  } catch (error) {
    logFault(error);
    return response;
  }
}

/**
 * Reads when it is read, and not before: the app's own stream sees the same demand, the same cancel and passes on the
 * same errors.
 * @param {ReadableStream} body
 * @param {Watched} watched
 */
function commentedBody(body, { comments, marks, fact, waitUntil }) {
  /** @type {ReadableStreamDefaultReader | undefined} */
  let reader;
  return new ReadableStream(
    {
      async pull(controller) {
        const open = (reader ??= body.getReader());
        // The app's stream may call `mark` when it is asked for more.
        const { done, value } = await withMarks(marks, () => open.read()).catch((error) => {
          fact.send("error", comments, marks, waitUntil);
          throw error;
        });
        const bytes = done ? comments.end() : comments.feed(value, performance.now());
        if (bytes) controller.enqueue(bytes);
        if (done) controller.close();
        if (done) fact.send("complete", comments, marks, waitUntil);
      },
      cancel(reason) {
        fact.send("client_gone", comments, marks, waitUntil);
        reader ??= body.getReader();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
