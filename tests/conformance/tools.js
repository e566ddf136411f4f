// Helpers for the checks: scripted requests, and functions that describe outcomes for comparison.

/**
 * A check with its expected native outcome. `differs` holds the outcome of engines that differ from it, `tooLongMs` a
 * timeout other than the default.
 */
export function check(name, expect, run, more) {
  return { name, expect, run, ...more };
}

/** The outcome in an engine that lacks the feature under test. */
export const UNSUPPORTED = "unsupported";

/** A flood has stalled when this many polls in a row, this far apart, show no new byte. */
const STALLED_POLLS = 20;
const POLL_MS = 50;

/** The text of the first `count` events that the server sends. */
export function events(count) {
  return Array.from({ length: count }, (_, at) => `data: {"n":${at + 1}}\n\n`).join("");
}

/** A step that sends this text. */
export function hexed(text) {
  return `hex=${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

export function createTools(sdkName) {
  // The top frame has no SDK, so no SDK sees these requests.
  const { fetch: unwatchedFetch } = window.top;
  const id = crypto.randomUUID();
  /** Error messages. They are compared within one engine, because each engine has its own wording. */
  const messages = [];
  /** The reason of each abort. Checks compare it by identity. */
  const reason = new Error("the user pressed stop");
  /** Names of unhandled rejections. */
  const unhandled = [];
  /** Objects that must survive garbage collection. */
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

    /** The URL of a response that plays these steps. `name` distinguishes several requests of one check. */
    play(steps, parameters = {}, name = "") {
      const { headers = {}, ...others } = parameters;
      const query = new URLSearchParams({ ...others, steps });
      for (const header in headers) query.append("header", `${header}:${headers[header]}`);
      return `/play/${id}${name}?${query}`;
    },

    /** Fetches such a response as an app would. */
    open: (steps, init, parameters) => fetch(tools.play(steps, parameters), init),

    /** Lets the server pass its next gate. */
    openGate: async (name = "") => void (await unwatchedFetch(`/go/${id}${name}`)),

    /** What the server did so far; with `after` = "end", once the connection has ended. */
    serverLog: async (after = "", name = "") => (await unwatchedFetch(`/log/${id}${name}?${after}`)).json(),

    /** How the server's connection ended. */
    connectionEnd: async (name) => (await tools.serverLog("end", name)).end,

    /**
     * `unbounded` if the server could push the whole flood, `stalled` if it had to stop. It has stopped when several
     * polls in a row were answered and no byte of the flood went out. On a slow machine the polls are slow as well.
     */
    async floodResult() {
      let before;
      for (let unchanged = 0; unchanged < STALLED_POLLS; ) {
        const { pushed, unbounded } = await tools.serverLog();
        if (unbounded) return "unbounded";
        unchanged = pushed == before ? unchanged + 1 : 0;
        before = pushed;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
      return "stalled";
    },

    /**
     * Keeps `value` from garbage collection until the check is over. WebKit collects an unreferenced signal even if
     * an abort is still to come, so the outcome would depend on the time of the collection.
     */
    keep: (value) => (kept.push(value), value),

    /** Waits for a round trip and a task: events that need no further action have happened by then. */
    async settle() {
      await unwatchedFetch(`/log/${id}`);
      await new Promise((resolve) => setTimeout(resolve));
    },

    /** Names of the unhandled rejections so far. */
    async unhandled() {
      await tools.settle();
      return [...unhandled];
    },

    /** The same, once there is at least one. */
    async unhandledOnce() {
      while (!unhandled.length) await tools.settle();
      return tools.unhandled();
    },

    /** An error's name, or "the reason" for the reason of the check's own abort. */
    errorName(error) {
      if (error === reason) return "the reason";
      messages.push(`${error?.message}`);
      return error?.constructor == DOMException || error instanceof Error ? error.name : `${error}`;
    },

    /** The outcome of a call: `returns`, `throws NAME`, `resolves` or `rejects NAME`. */
    async outcome(job) {
      let result;
      try {
        result = job();
      } catch (error) {
        return `throws ${tools.errorName(error)}`;
      }
      if (typeof result?.then != "function") return "returns";
      return result.then(
        () => "resolves",
        (error) => `rejects ${tools.errorName(error)}`,
      );
    },

    /** `text` and all that the reader still returns. If a read fails, an array of that text and the error's name. */
    async drain(reader, text = "") {
      const decoder = new TextDecoder();
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return text;
          text += typeof value == "string" ? value : decoder.decode(value, { stream: true });
        }
      } catch (error) {
        return [text, tools.errorName(error)];
      }
    },

    /** Reads the first event to its end, so that the next read has to wait for the second one. */
    async firstEvent(reader) {
      const decoder = new TextDecoder();
      let text = "";
      while (!text.endsWith("\n\n")) {
        const { done, value } = await reader.read();
        if (done) break;
        text += typeof value == "string" ? value : decoder.decode(value, { stream: true });
      }
      return text;
    },

    readAll: (body) => tools.drain(body.getReader()),
  };
  return tools;
}
