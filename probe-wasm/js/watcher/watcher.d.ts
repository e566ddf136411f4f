/**
 * Reads the streams of a page and makes their reports. `wasm-watcher.js` and, where the page forbids Wasm,
 * `fallback-watcher.js` make one each. Streams go by the number that the session gives them. Times are milliseconds
 * of `performance.now()`.
 */
export interface Watcher {
  /** A request was made. `submit` is the time of the gesture that led to it, if there was one. */
  open(key: number, request: number, submit: number | undefined): void;
  /** The response came. `contentKind` is a number of `tap/content-types.js`. */
  headers(key: number, time: number, status: number, contentKind: number): void;
  /**
   * What the page knows of the stream before its first bytes. With the number of a `socket`, `text` is the question that
   * the stream answers, and its chunks are all messages of that socket. With 0, `text` is the address of the
   * response and, on the next line, the formats that the app describes.
   */
  context(key: number, socket: number, engineIo: boolean, text: Uint8Array): void;
  /** The app got bytes. Returns what has been seen so far, in the bits of `session/progress-flags.js`. */
  chunk(key: number, time: number, bytes: Uint8Array): number | void;
  /** The stream ended. `reason` is a number of `session/end-reasons.js`. */
  end(key: number, time: number, reason: number): void;
  /** The stream's part of a report: what the content and the times show, nothing of the page. */
  report(key: number): object;
  /** The stream is not asked about again. */
  forget(key: number): void;
  /** Calls the page's `wake` in so many milliseconds, in place of any earlier time. */
  wake_in(ms: number): void;
  /** The memory of the compiled watcher. The fallback has none, which tells the two apart. */
  memory?: WebAssembly.Memory;
}
