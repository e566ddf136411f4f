// The fact about one stream that the collector gets: how it ended, and its times.

import { logFault } from "./faults.js";
import { currentPush } from "./push.js";

/** @typedef {"complete" | "client_gone" | "error"} Ended */

export class StreamFact {
  #push = currentPush();
  #arrivedMs;
  #isSent = false;
  /** By it the collector finds the stream: the first comment has it. Empty if no facts are sent. */
  id = "";

  /** @param {number} arrivedMs */
  constructor(arrivedMs) {
    this.#arrivedMs = arrivedMs;
    if (this.#push) this.id = randomId();
  }

  /**
   * Sends it, once. If the client left, it is sent once more when the app has counted the tokens after that: the
   * collector keeps the fact that has more values.
   * @param {Ended} ended
   * @param {import("./comment-writer.js").CommentWriter} comments
   * @param {import("./marks.js").Marks} marks
   * @param {(sent: Promise<void>) => void} [waitUntil] Of a runtime that ends with the response.
   */
  send(ended, comments, marks, waitUntil) {
    if (!this.#push || this.#isSent) return;
    this.#isSent = true;
    try {
      const push = this.#push;
      const measured = {
        id: this.id,
        layer: "app",
        source: "llm-rum-server",
        starts_from: "arrival",
        duration_ms: Math.round((performance.now() - this.#arrivedMs) * 1000) / 1000,
        ended,
        ...comments.times(),
      };
      const isGone = ended === "client_gone";
      const send = () => {
        const { queue_ms, output_tokens, tokens_after_gone } = marks;
        return push.send({ ...measured, queue_ms, output_tokens, ...(isGone && { tokens_after_gone }) });
      };
      const sent = send();
      waitUntil?.(sent);
      if (isGone && marks.tokens_after_gone === undefined) marks.onLate = send;
    } catch (error) {
      logFault(error);
    }
  }
}

function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => (0x100 + byte).toString(16).slice(1)).join("");
}
