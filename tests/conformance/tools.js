// What the checks are written with: scripted requests, and words for what came of them.

/**
 * One outcome as it should be; `differs` names the engines that natively do otherwise, and `tooLongMs` says how
 * long is too long where that is known.
 */
export function check(name, expect, run, more) {
  return { name, expect, run, ...more };
}

/** Where an engine lacks the feature that a check is about. */
export const UNSUPPORTED = "unsupported";

/** How many answers in turn, and how long between two of them, tell that nothing more comes of a flood. */
const STILL = 20;
const STILL_MS = 50;

/** The text of the first `count` events that the server sends. */
export function events(count) {
  return Array.from({ length: count }, (_, at) => `data: {"n":${at + 1}}\n\n`).join("");
}

/** A step that sends this text. */
export function hexed(text) {
  return `hex=${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

export function createTools(sdkName) {
  // The top has no SDK: what is asked through it is seen by none.
  const { fetch: ask } = window.top;
  const id = crypto.randomUUID();
  /** What errors said, for comparison: engines word them as they like. */
  const messages = [];
  /** An abort's reason, to be recognised. */
  const reason = new Error("the user pressed stop");
  /** Rejections that nobody handled. */
  const unhandled = [];
  /** What an engine might lose. */
  const kept = [];
  window.addEventListener("unhandledrejection", (event) => {
    unhandled.push(event.reason === reason ? "the reason" : `${event.reason?.name ?? event.reason}`);
    event.preventDefault();
  });

  const tools = {
    id,
    sdkName,
    messages,
    reason,

    /** The address of an answer that goes by these steps. `name` tells the requests of a check apart. */
    play(steps, parameters = {}, name = "") {
      const { headers = {}, ...others } = parameters;
      const query = new URLSearchParams({ ...others, steps });
      for (const header in headers) query.append("header", `${header}:${headers[header]}`);
      return `/play/${id}${name}?${query}`;
    },

    /** Fetches such an answer as an app would. */
    open: (steps, init, parameters) => fetch(tools.play(steps, parameters), init),

    /** Lets the server pass its next gate. */
    go: async (name = "") => void (await ask(`/go/${id}${name}`)),

    /** What the server did, as it is now, or after `end`. */
    log: async (after = "", name = "") => (await ask(`/log/${id}${name}?${after}`)).json(),

    /** How the server's connection ended. */
    end: async (name) => (await tools.log("end", name)).end,

    /**
     * Whether a flood's server could push all it had, or has come to a stop. A stop is told by the page's own
     * requests, not by a clock: while several in turn were served, nothing more of the flood went out. Where the
     * machine halts, these halt too.
     */
    async flood() {
      let before;
      for (let served = 0; served < STILL; ) {
        const { pushed, unbounded } = await tools.log();
        if (unbounded) return "unbounded";
        served = pushed == before ? served + 1 : 0;
        before = pushed;
        await new Promise((resolve) => setTimeout(resolve, STILL_MS));
      }
      return "stalled";
    },

    /**
     * The same, held until the check is over. WebKit collects a signal that nobody holds, be it one that an abort is
     * to reach: what a check then came to would depend on when that was.
     */
    keep: (value) => (kept.push(value), value),

    /** A round trip and a task later: what was to happen by itself has happened. */
    async settle() {
      await ask(`/log/${id}`);
      await new Promise((resolve) => setTimeout(resolve));
    },

    /** Names of the rejections that nobody handled, up to now. */
    async unhandled() {
      await tools.settle();
      return [...unhandled];
    },

    /** The same once there is one. */
    async unhandledOnce() {
      while (!unhandled.length) await tools.settle();
      return tools.unhandled();
    },

    /** An error's name, or "the reason" for the reason of the check's own abort. */
    named(error) {
      if (error === reason) return "the reason";
      messages.push(`${error?.message}`);
      return error?.constructor == DOMException || error instanceof Error ? error.name : `${error}`;
    },

    /** What calling comes to: `returns`, `throws NAME`, `resolves`, `rejects NAME`. */
    async how(job) {
      let result;
      try {
        result = job();
      } catch (error) {
        return `throws ${tools.named(error)}`;
      }
      if (typeof result?.then != "function") return "returns";
      return result.then(
        () => "resolves",
        (error) => `rejects ${tools.named(error)}`,
      );
    },

    /** All text that a reader still gives, after what was read before, and the error that ends it, if one does. */
    async drain(reader, text = "") {
      const decoder = new TextDecoder();
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return text;
          text += typeof value == "string" ? value : decoder.decode(value, { stream: true });
        }
      } catch (error) {
        return [text, tools.named(error)];
      }
    },

    /** The first event, whole: the next read has to wait for the next one. */
    async first(reader) {
      const decoder = new TextDecoder();
      let text = "";
      while (!text.endsWith("\n\n")) {
        const { done, value } = await reader.read();
        if (done) break;
        text += typeof value == "string" ? value : decoder.decode(value, { stream: true });
      }
      return text;
    },

    read: (body) => tools.drain(body.getReader()),
  };
  return tools;
}
