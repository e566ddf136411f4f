// What the app says about its stream by `mark`, and how a call finds the stream that it belongs to.

import { AsyncLocalStorage } from "#async-local-storage";

/**
 * @typedef {object} Marks
 * @property {number} [queue_ms]
 * @property {number} [output_tokens]
 * @property {number} [tokens_after_gone] Only for the collector.
 * @property {() => void} [onLate] Called once when the app counts what came after its client had left, if the fact was
 *   sent without it.
 */
/**
 * @typedef {object} Shared
 * @property {import("node:async_hooks").AsyncLocalStorage<Marks>} [current]
 * @property {WeakMap<object, Marks>} byRequest
 */

/**
 * Bundlers give each entry of an app its own copy of this module, and `mark` may be called in another one than the
 * handler: all copies share this.
 * @type {Shared}
 */
const shared = (/** @type {any} */ (globalThis)[Symbol.for("llm-rum-server")] ??= {
  current: AsyncLocalStorage && new AsyncLocalStorage(),
  byRequest: new WeakMap(),
});

/**
 * Adds what only the app knows to the next comment of a stream: of `request`, or of the request that is being handled.
 * @param {Marks} values
 * @param {object} [request]
 */
export function mark(values, request) {
  const marks = request ? shared.byRequest.get(request) : shared.current?.getStore();
  if (!marks) return;
  const { queue_ms, output_tokens, tokens_after_gone } = values ?? {};
  if (isAmount(queue_ms)) marks.queue_ms = queue_ms;
  if (isCount(output_tokens)) marks.output_tokens = output_tokens;
  if (!isCount(tokens_after_gone)) return;
  marks.tokens_after_gone = tokens_after_gone;
  marks.onLate?.();
  marks.onLate = undefined;
}

/** @param {unknown} value @returns {value is number} */
function isCount(value) {
  return isAmount(value) && Number.isInteger(value);
}

/** @param {unknown} value @returns {value is number} */
function isAmount(value) {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

/**
 * Lets `mark` find `marks` by each of the `requests`, which name the same one.
 * @param {Marks} marks
 * @param {unknown[]} requests
 */
export function keepMarks(marks, requests) {
  for (const request of requests) if (typeof request === "object" && request) shared.byRequest.set(request, marks);
}

/**
 * Calls `call`; in it and in what it starts, `mark` finds `marks` without a request, where the runtime can tell.
 * @template T
 * @param {Marks} marks
 * @param {() => T} call
 * @returns {T}
 */
export function withMarks(marks, call) {
  return shared.current ? shared.current.run(marks, call) : call();
}
