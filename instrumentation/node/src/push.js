// Sends what the middleware measured to the collector, in the background.

const MOST_WAITING = 1000;
const MOST_IN_BATCH = 200;
const LINGER_MS = 500;
const TIMEOUT_MS = 5000;

/** @typedef {{ collector: string, token?: string, site?: string }} Target */
/** @typedef {Record<string, unknown>} Fact */

/** A bounded queue of facts. The app never waits for it, and no fault reaches it. */
export class Push {
  #url;
  /** @type {Record<string, string>} */
  #headers = { "content-type": "application/json" };
  /** @type {Fact[]} */
  #waiting = [];
  /** @type {Promise<void> | undefined} */
  #sending;
  #isLogged = false;
  /** Facts that were lost: the queue was full, or the collector did not take them. */
  dropped = 0;

  /** @param {Target} target */
  constructor({ collector, token, site }) {
    this.#url = new URL(`${collector.replace(/\/+$/, "")}/v1/server-timings`);
    if (!/^https?:$/.test(this.#url.protocol)) throw new TypeError("the collector's address must begin with http");
    if (site) this.#url.searchParams.set("site", site);
    if (token) this.#headers.authorization = `Bearer ${token}`;
  }

  /**
   * Queues a fact. It returns at once. The promise, which never fails, is for runtimes that end with the response.
   * @param {Fact} fact
   */
  send(fact) {
    if (this.#waiting.length >= MOST_WAITING) this.#drop(1, "the queue is full");
    else this.#waiting.push(fact);
    return (this.#sending ??= this.#sendAll());
  }

  async #sendAll() {
    await lingered();
    while (this.#waiting.length > 0) await this.#post(this.#waiting.splice(0, MOST_IN_BATCH));
    this.#sending = undefined;
  }

  /** @param {Fact[]} facts */
  async #post(facts) {
    try {
      const body = JSON.stringify({ facts });
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetch(this.#url, { method: "POST", headers: this.#headers, body, signal });
      await response.body?.cancel();
      if (!response.ok) this.#drop(facts.length, `status ${response.status}`);
    } catch (error) {
      this.#drop(facts.length, error);
    }
  }

  /** @param {number} count @param {unknown} reason */
  #drop(count, reason) {
    this.dropped += count;
    if (this.#isLogged) return;
    this.#isLogged = true;
    console.error(`llm-rum-server: the collector did not take timings: ${this.#url.origin}:`, reason);
  }
}

/** Waits for more facts, without keeping the process alive. @returns {Promise<void>} */
function lingered() {
  return new Promise((resolve) => {
    const timer = /** @type {any} */ (setTimeout(resolve, LINGER_MS));
    timer.unref?.();
  });
}

/** @type {Push | undefined} */
let current;
let isFromEnvironment = true;

/**
 * Sends facts there from now on; `undefined` sends none. Without a call, the environment says where.
 * @param {Target | undefined} target
 */
export function sendTimingsTo(target) {
  isFromEnvironment = false;
  current = target && new Push(target);
}

/** Where facts go; undefined if nowhere. */
export function currentPush() {
  if (!isFromEnvironment) return current;
  isFromEnvironment = false;
  const { LLM_RUM_COLLECTOR: collector, LLM_RUM_TOKEN: token, LLM_RUM_SITE: site } =
    /** @type {any} */ (globalThis).process?.env ?? {};
  try {
    current = collector ? new Push({ collector, token, site }) : undefined;
  } catch (error) {
    console.error("llm-rum-server: LLM_RUM_COLLECTOR is no address, no timings are sent:", error);
  }
  return current;
}
