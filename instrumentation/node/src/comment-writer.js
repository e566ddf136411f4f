// Puts the comments with the server's time into one body of server-sent events, by the rules of
// `instrumentation/contract.json`.

import { kindOf } from "./event-kind.js";
import { EventSplitter } from "./event-splitter.js";
import { logFault } from "./faults.js";

const LF = 10;
const CR = 13;
const MARKED = /** @type {const} */ (["queue_ms", "output_tokens"]);

/** @typedef {import("./marks.js").Marks & { ttft_ms?: number, generation_ms?: number, id?: string }} Values */

export class CommentWriter {
  #arrivedMs;
  #marks;
  /** Until a comment has had it. */
  #id;
  #events = new EventSplitter();
  #encoder = new TextEncoder();
  /** Marked values of the comments so far. @type {import("./marks.js").Marks} */
  #written = {};
  /** @type {number | undefined} */
  #firstTextMs;
  /** Of the last event with text, from the second one on. @type {number | undefined} */
  #lastTextMs;
  /** Waits for the next byte: the rest of a line end may come. @type {Uint8Array | undefined} */
  #late;
  /** After the end event, and after an internal fault. */
  #isDone = false;

  /**
   * @param {number} arrivedMs When the request arrived, by the clock of all other times.
   * @param {import("./marks.js").Marks} marks What the app marks until then is in the next comment.
   * @param {string} [id] By it the collector finds the stream of a fact. Empty if none is sent.
   */
  constructor(arrivedMs, marks, id = "") {
    this.#arrivedMs = arrivedMs;
    this.#marks = marks;
    this.#id = id;
  }

  /** The times so far. @returns {{ ttft_ms?: number, generation_ms?: number }} */
  times() {
    const [first, last] = [this.#firstTextMs, this.#lastTextMs];
    if (first === undefined) return {};
    const ttft_ms = rounded(first - this.#arrivedMs);
    return last === undefined ? { ttft_ms } : { ttft_ms, generation_ms: rounded(last - first) };
  }

  /**
   * The chunk with the comments that belong there; without any, the same object.
   * @template {Uint8Array} Chunk
   * @param {Chunk} chunk
   * @param {number} nowMs
   * @returns {Chunk | Uint8Array}
   */
  feed(chunk, nowMs) {
    if (this.#isDone && !this.#late) return chunk;
    try {
      return this.#commented(chunk, nowMs);
    } catch (error) {
      this.#fail(error);
      return chunk;
    }
  }

  /** What follows the last chunk of a body that has ended well. @returns {Uint8Array | undefined} */
  end() {
    try {
      const last = this.#isDone || this.#events.isOpen ? undefined : this.#secondComment();
      const late = this.#late;
      this.#isDone = true;
      this.#late = undefined;
      return late && last ? concat([late, last]) : (late ?? last);
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  /** @param {unknown} error */
  #fail(error) {
    this.#isDone = true;
    this.#late = undefined;
    logFault(error);
  }

  /** @param {Uint8Array} chunk @param {number} nowMs */
  #commented(chunk, nowMs) {
    if (chunk.length === 0) return chunk;
    /** @type {Uint8Array[]} */
    const parts = [];
    let done = 0;
    const insert = (/** @type {Uint8Array} */ comment, /** @type {number} */ at) => {
      parts.push(chunk.subarray(done, at), comment);
      done = at;
    };
    if (this.#late) insert(this.#late, chunk[0] === LF ? 1 : 0);
    this.#late = undefined;
    for (const event of this.#isDone ? [] : this.#events.feed(chunk)) {
      const comment = this.#commentOf(event, nowMs);
      if (!comment) continue;
      if (event.start >= 0) insert(comment, event.start);
      else if (event.end === chunk.length && chunk[event.end - 1] === CR) this.#late = comment;
      else insert(comment, event.end);
    }
    return parts.length === 0 ? chunk : concat([...parts, chunk.subarray(done)]);
  }

  /** @param {import("./event-splitter.js").Event} event @param {number} nowMs */
  #commentOf(event, nowMs) {
    if (this.#isDone) return undefined;
    const kind = kindOf(event);
    if (kind === "end") {
      this.#isDone = true;
      return this.#secondComment(event);
    }
    if (kind === "other") return undefined;
    if (this.#firstTextMs !== undefined) {
      this.#lastTextMs = nowMs;
      return undefined;
    }
    this.#firstTextMs = nowMs;
    return this.#comment({ ttft_ms: rounded(nowMs - this.#arrivedMs) }, event);
  }

  /** @param {{ hasIds: boolean, lineEnd: string }} event */
  #secondComment(event = this.#events) {
    const [first, last] = [this.#firstTextMs, this.#lastTextMs];
    const times = first === undefined || last === undefined ? {} : { generation_ms: rounded(last - first) };
    return this.#comment(times, event);
  }

  /**
   * The comment with `times` and new marks; none if it would be empty.
   * @param {Values} times
   * @param {{ hasIds: boolean, lineEnd: string }} event
   */
  #comment(times, { hasIds, lineEnd }) {
    /** @type {Values} */
    const values = { ...times };
    if (this.#id) values.id = this.#id;
    this.#id = "";
    for (const field of MARKED) {
      const value = this.#marks[field];
      if (value !== undefined && value !== this.#written[field]) values[field] = this.#written[field] = value;
    }
    if (Object.keys(values).length === 0) return undefined;
    // Some clients take an empty line after an `id:` line for an event without data, and fail.
    const end = hasIds ? lineEnd : lineEnd + lineEnd;
    return this.#encoder.encode(`: llm-rum ${JSON.stringify(values)}${end}`);
  }
}

/** Whole microseconds: the difference of two floats has digits without meaning. @param {number} ms */
function rounded(ms) {
  return Math.round(ms * 1000) / 1000;
}

/** @param {Uint8Array[]} parts */
function concat(parts) {
  const whole = new Uint8Array(parts.reduce((bytes, part) => bytes + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
