import type { Extension } from "./llm-rum.js";

/** Which of the page's streams to watch. */
export interface Addresses {
  /** Takes the address of a stream. Default: each. */
  isStream?: (url: string) => boolean;
}

/**
 * Watches answers over `EventSource`. Each answer is a stream: also that to a browser which connects
 * again by itself, as with a client that does so by `fetch`. It counts from the moment the answer
 * before it broke off. Which status a refusal had, and whether an answer ended or was cut, a browser
 * does not tell: `network_error` and `truncated`.
 */
export function eventSource(options?: Addresses): Extension;

/**
 * Watches answers over `XMLHttpRequest` whose `responseText` grows while they arrive: those of the same
 * content types as with `fetch`, or whose request asks for one. Of other response types nothing is seen.
 * `headers_ms` is absent without `phases`: a browser tells the page of headers with the first byte.
 * `isStream` takes the addresses of more; default: none.
 */
export function xhr(options?: Addresses): Extension;

/** Which sockets carry answers, and how. */
export interface Sockets {
  /** Takes the address of such a socket. */
  isStream: (url: string) => boolean;
  /**
   * Takes the texts that ask for an answer, when the app sends them; where one is under way it ends there. Default:
   * each, while none is under way. To be given where the app sends anything else, such as a ping or a stop.
   */
  asks?: (sent: string) => boolean;
  /** Takes the texts that end an answer. Default: those with the end marker of a known format. */
  ends?: (received: string) => boolean;
}

/**
 * Watches answers over `WebSocket`. Each asking text begins a stream, each text that comes is an event of
 * it, and its end marker its end; binary frames are not looked at. Such a stream has no status and no
 * headers.
 */
export function webSocket(options: Sockets): Extension;

/**
 * Adds `ttfp_ms`, the first frame with the first visible token in it: in what `probe.watchOutput()` names,
 * or else where most of the text grows while the answer begins. Absent where that cannot be told, and in workers.
 */
export function paint(): Extension;

/**
 * Adds `phases` and `around`, and corrects `headers_ms` by Resource Timing. These come after the end, so
 * they are in what is sent, not in what `onStreamEnd` gets. Absent where the browser hides them, and in workers.
 */
export function phases(): Extension;

/**
 * Adds `cost`: what the probe's own code took, what memory it has, and what it has sent. Of several extensions the
 * last: what those behind it do is not in its times.
 */
export function cost(): Extension;

/**
 * Leaves word of open streams with the browser, which sends it when the page is gone: so that a tab that is
 * killed or crashes has told what it had seen up to a second before. Where there is no `fetchLater` (it is in
 * Chromium, in secure contexts), it does nothing. `beforeSend` sees each open stream once a second.
 */
export function lastWord(): Extension;

declare global {
  interface Window {
    /** Made by the script-tag build. */
    llmRumMore?: typeof import("./more.js");
  }
}
