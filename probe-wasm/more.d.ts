import type { Extension, StreamOptions } from "./llm-rum.js";

/** The streams of the page to watch. */
export interface Addresses {
  /** Accepts the address of a stream. Default: every address. */
  isStream?: (url: string) => boolean;
  /** Options of the streams of an address. Each replaces the probe's option of the same name. */
  optionsOf?: (url: string) => StreamOptions | undefined;
}

/**
 * Watches streams over `EventSource`. Each response is a stream, also the one to a browser that reconnects by itself,
 * as with a client that does so by `fetch`. It counts from the time when the response before it broke off. A browser
 * does not report the status of a refusal, nor whether a response ended or was cut: `network_error` and `truncated`.
 */
export function eventSource(options?: Addresses): Extension;

/**
 * Watches streams over `XMLHttpRequest` whose `responseText` grows while they arrive: responses of the same content
 * types as with `fetch`, or to requests that ask for one. Other response types are not watched. `headers_ms` is absent
 * without `networkTiming`, as a browser reports headers with the first byte. `isStream` accepts more addresses; default: none.
 */
export function xhr(options?: Addresses): Extension;

/** The sockets that carry streams, and their protocol. */
export interface Sockets {
  /** Accepts the address of such a socket. */
  isStream: (url: string) => boolean;
  /**
   * Accepts the sent texts that ask for a stream. If a stream is open, it ends there. Default: texts with words of a
   * user, by the rules of `docs/sockets.md`; then several streams may be open.
   */
  asks?: (sent: string) => boolean;
  /** Accepts the texts that end a stream. Default: those with the end marker of a known format. */
  ends?: (received: string) => boolean;
  /** Options of the stream that a sent text asks for. Each replaces the probe's option of the same name. */
  optionsOf?: (url: string, sent: string) => StreamOptions | undefined;
}

/**
 * Watches streams over `WebSocket`, and over the long polling of Engine.IO. A sent text that asks begins a stream, and so
 * does a request with `fetch` that names the id of the socket. Texts that come are its events, also in packets of
 * socket.io. Binary frames are ignored. Such a stream has no status and no headers.
 */
export function webSocket(options: Sockets): Extension;

/**
 * Adds `ttfp_ms`, the first frame with the first visible token in it: in the element that `probe.watchOutput()` names,
 * or else where most of the text grows while the response begins. Absent if that is ambiguous, and in workers.
 */
export function paint(): Extension;

/** Where a page shows answers, as CSS selectors. */
export interface Outputs {
  /** The elements in which answers grow, now or later. Default: the page without headers, menus, forms and buttons. */
  output?: string;
  /** Parts whose text is not the answer, such as the user's own messages or "Thinking…". */
  ignore?: string;
  /** The fields in which users ask. Default: each in which they type. */
  input?: string;
  /** What asks by a click without typed text, such as a suggestion. */
  send?: string;
  /** What stops the answer by a click. Default: `[data-llm-stop]`. */
  stop?: string;
  /** Present while the app is at work. Default: `[aria-busy="true"]`, and what Streamlit has. */
  busy?: string;
  /** The answer has ended after this silence, in milliseconds, unless the app has shown that it is at work. Default: 5000. */
  quietMs?: number;
}

/**
 * Reports answers whose streams cannot be read, by the growth of text in the page: `ttfp_ms` from the user's gesture to the
 * first frame with text, `e2e_ms` to the last, gaps and stalls. Such reports have `observed: "output"`, and are apart from
 * the others. The typed text is compared in the page with what appears, and is not kept.
 */
export function output(options?: Outputs): Extension;

/**
 * Adds `network_timing` and `page_lifecycle`, and corrects `headers_ms` by Resource Timing. These come after the end, so they are in
 * the report that is sent, not in the one that `onStreamEnd` gets. Absent where the browser hides them, and in workers.
 */
export function networkTiming(): Extension;

/**
 * Adds `arrivals`: when the text of a stream came, as a digit for each of at most 44 equal steps of time. Reports of open
 * streams have none.
 */
export function arrivals(): Extension;

/**
 * Adds `marks` to reports, and `probe.mark(name)`: moments between the request and the end of a stream that the app
 * names. At most eight a stream.
 */
export function marks(): Extension;

/**
 * Reports failed requests of LLM clients that do not say that they ask for a stream, such as `useChat`: by a route that
 * has streamed text before, or by the shape of their JSON body. Requests that succeed are measured as without it.
 */
export function failures(): Extension;

/**
 * Tells the calls apart that share one stream of a Gradio app's queue, such as those of two chats on one page. Without it
 * the answers of such a stream are one report.
 */
export function gradio(): Extension;

/**
 * Adds `visit`, a random number of the tab, which the extension stores in `sessionStorage`. The collector counts visits
 * with a bad stream by it, and keeps only a hash. It draws the number with the first report that is sent, so never
 * without consent.
 */
export function visits(): Extension;

/**
 * Adds `trace_id`, the id of the server's trace of a response, from its header `traceresponse` or `Server-Timing`.
 * Another origin has to expose them. The collector matches timings of the backend by it. Only for streams over `fetch`.
 */
export function traceId(): Extension;

/**
 * Adds `probe_overhead`: the time of the probe's own code, its memory, and the bytes that it has sent. It has to be the last
 * extension, as its times end before later ones run.
 */
export function probeOverhead(): Extension;

/**
 * Leaves reports of open streams with the browser, which sends them when the page is gone. So a tab that is killed or
 * crashes reports its state of up to a second before. Without `fetchLater`, which only Chromium has in secure contexts,
 * it does nothing. `beforeSend` gets each open stream once a second.
 */
export function lastWord(): Extension;

declare global {
  interface Window {
    /** Set by the script-tag build. */
    llmRumMore?: typeof import("./more.js");
  }
}
