/** What the probe tells of one stream. Durations are milliseconds since the request. */
export interface StreamReport {
  v: 1;
  /** Random, 32 hexadecimal digits. */
  id: string;
  /** Higher for each revision of the same stream that was sent. Absent: 0. */
  rev?: number;
  /** The stream had not ended. */
  open?: true;
  use_case?: string;
  /**
   * `"chunks"`: the page forbids WebAssembly, so only chunks and their times are known. `"arrival"`: the body
   * was cloned or teed, and times are those of whichever branch was read first, perhaps ahead of the app.
   */
  observed?: "chunks" | "arrival";
  /** Wire format, recognised from content. */
  dialect?: string;
  provider?: string;
  /** As the request names it. */
  model?: string;
  /** As the answer names it. */
  response_model?: string;
  response_id?: string;
  status?: number;
  /** While the stream is open: what it would be if the page died now. */
  outcome:
    | "complete"
    | "truncated"
    | "provider_error"
    | "http_error"
    | "network_error"
    | "timeout"
    | "empty"
    | "aborted"
    | "abandoned"
    | "unobserved";
  finish_reason?: string;
  /** From the user's gesture to the request. */
  submit_delay_ms?: number;
  headers_ms?: number;
  first_byte_ms?: number;
  first_event_ms?: number;
  /** First generated text of any kind. */
  ttft_ms?: number;
  /** First answer text. */
  ttfv_ms?: number;
  /** First frame presented with that text in it. Only with the extension `paint`. */
  ttfp_ms?: number;
  /** Last generated text so far. */
  e2e_ms?: number;
  close_ms?: number;
  chunks: number;
  events: number;
  deltas: number;
  bytes: number;
  /** Tokens are as the provider counted them, never guessed. */
  input_tokens?: number;
  output_tokens?: number;
  reasoning_tokens?: number;
  cached_tokens?: number;
  tpot_ms?: number;
  longest_gap_ms?: number;
  /** Times between reads with generated text: base-2 exponential buckets. */
  gaps?: { scale: 5; offset: number; counts: number[]; zero?: number; sum: number };
  stalls?: number;
  /** How often each defect was seen. */
  defects?: Record<string, number>;
  /** Where the time before the first byte went. Only with the extension `phases`. */
  phases?: { dns_ms?: number; connect_ms?: number; tls_ms?: number; wait_ms?: number };
  /** What happened around the stream. Only with the extension `phases`. */
  around?: {
    protocol?: "http/1.1" | "h2" | "h3" | "other";
    end_delay_ms?: number;
    hidden_ms?: number;
    freezes?: number;
    restored?: boolean;
    prerendered?: boolean;
    long_frames?: number;
    long_frames_ms?: number;
    hidden_bytes?: number;
    after_stop_bytes?: number;
  };
  /** What the probe itself cost the page. Only with the extension `cost`. */
  cost?: {
    /** Chunks in which it timed itself, and the time of its own code in all of them together. */
    timed_chunks?: number;
    chunks_ms?: number;
    /** Memory of its compiled part. */
    memory_bytes?: number;
    /** Bodies of all beacons of the page before the one with this report. */
    sent_bytes?: number;
  };
  /** What the server said of the same stream. */
  server?: {
    source: string;
    starts_from?: "arrival" | "scheduled" | "prefill";
    queue_ms?: number;
    ttft_ms?: number;
    generation_ms?: number;
    output_tokens?: number;
  };
  /** The collector adds browser, system and device from the request's `User-Agent`, where nothing names them. */
  page?: {
    /** Not set by the probe, and for `beforeSend` to name. */
    browser?: string;
    os?: string;
    /** Set by the probe only on an iPad that takes itself for a Mac. */
    device?: "desktop" | "mobile" | "tablet";
    connection?: string;
    visibility?: "visible" | "hidden" | "mixed";
    release?: string;
    route?: string;
  };
  /** Smallest step that the page's clock showed. */
  clock_resolution_ms?: number;
  /** The `sampleRate` of the page, in what goes to the collector. */
  sample_rate?: number;
}

export interface ProbeOptions {
  /** Origin of the collector, such as `https://rum.example`. */
  collector: string;
  /** Key of the site, as the collector's configuration has it. */
  site: string;
  /** What the app uses the model for: it picks the targets. Default: the site's own. */
  useCase?: string;
  /** Who serves the model, such as `openai`. What an answer proves goes before it. */
  provider?: string;
  /** Release of the app. */
  release?: string;
  /**
   * Where `llm-rum.wasm` lies. Default: beside this script, and where an import finds none there, with the
   * collector. `false`: do without, and see chunks only.
   * Without it a page under a CSP that has no `'wasm-unsafe-eval'` does the same, but the browser
   * reports each attempt as a violation.
   */
  wasmUrl?: string | false;
  /**
   * Where `llm-rum-all.wasm` lies, which a page loads only when it meets a stream of a rarer format. Default:
   * as with the other. `false`: do without, and see chunks only of such streams.
   */
  wasmAllUrl?: string | false;
  /**
   * What `llm-rum.wasm` and `llm-rum-all.wasm` must be, as in the `integrity` of a tag: the hashes of both, with
   * a blank between them. One that is neither is not run.
   */
  wasmIntegrity?: string;
  /**
   * The share of tabs in which the probe is on, above 0 and up to 1. Decided by a lot that
   * the tab draws once and keeps in `sessionStorage`; with a `consent` that is not `"granted"`, and where nothing can be kept, by
   * one for each page. Reports say it, so that counts can be weighted. Default: all, and nothing is kept.
   */
  sampleRate?: number;
  /**
   * What the user has said so far. `"pending"`: nothing yet, so measure, and send nothing until
   * `setConsent("granted")`; what waits is held in memory, the newest 200 reports of it, and nothing is stored on
   * the device. `"denied"`: the probe stays off. Default: `"granted"`. Any other word counts as `"pending"`.
   */
  consent?: "granted" | "denied" | "pending";
  /**
   * Whether the probe stays off where the browser says Global Privacy Control or Do Not Track. Default true;
   * `false` is for an app that asks its users itself.
   */
  respectSignals?: boolean;
  /**
   * Sees each report before it goes to the collector, those of streams that are still open too. What it
   * returns goes in its place; `null` keeps it back, and so does an error. The fields and their limits are
   * the collector's: a report that it cannot take is refused as a whole.
   */
  beforeSend?: (report: StreamReport) => StreamReport | null;
  /** Whether to watch the page's own `fetch`. Default true; `false` leaves it to `wrapFetch`. */
  patchFetch?: boolean;
  /**
   * Tells streams that the probe would not know: those with another content type than
   * `text/event-stream`, `application/x-ndjson`, `application/stream+json`, `application/json-seq`
   * and `application/jsonl`, and whose request neither accepts one of these nor says `"stream":true`.
   * Called with the arguments of `fetch`, right after each call of it.
   */
  isStream?: (input: RequestInfo | URL, init?: RequestInit) => boolean;
}

export interface Probe {
  /** Faults of the probe itself. After the first it is off, and the page goes on as without it. */
  readonly faults: number;
  /** Calls back after the app got the chunk with the first generated text. Returns how to stop that. */
  onFirstToken(callback: (report: StreamReport) => void): () => void;
  /** Calls back once for each stream that ended. Returns how to stop that. */
  onStreamEnd(callback: (report: StreamReport) => void): () => void;
  /** A fetch that the probe watches, for clients that take one; the page's own is left alone. */
  wrapFetch<F extends typeof fetch>(fetch: F): F;
  /**
   * Adds what watches more than `fetch`, from `llm-rum/more`. As early as can be: what a page has made
   * before is not seen.
   */
  use(...extensions: Extension[]): Probe;
  /**
   * Names the element, or one around it, in which answers appear. Returns how to take that back.
   * Without the extension `paint`, which is to be there first, it does nothing.
   */
  watchOutput(element: Node): () => void;
  /**
   * The user asked for no more: what arrives from now on of the streams that are open was for nobody.
   * A click on an element with `data-llm-stop` says the same. Only with the extension `phases`.
   */
  userStopped?(): void;
  /**
   * The latest report as the collector gets it, to show to the user. `null`: `beforeSend` kept it back.
   * `undefined`: there has been none.
   */
  lastReport(): StreamReport | null | undefined;
  /**
   * The user's answer. `"granted"` sends what waits and all that follows. `"denied"` drops what waits and stops,
   * and so does any other word: a user who thinks better of it needs `start()` again, after `stop()` where the
   * probe was off from the start.
   */
  setConsent(answer: "granted" | "denied"): void;
  /** Sends what waits, open streams included. Resolves after the attempt, whatever came of it. */
  flush(): Promise<void>;
  /** Stops watching, sends what waits, and gives the page its own `fetch` back. */
  stop(): void;
}

/** Something for `probe.use()`. */
export type Extension = (core: never) => object;

/**
 * Starts watching. Safe to call before anything has loaded, and twice: the probe that runs is
 * returned. On a server it does nothing.
 */
export function start(options: ProbeOptions): Probe;

declare global {
  interface Window {
    /** Made by the script-tag build; its probe runs when the tag names a site, or from `start` on. */
    llmRum?: { start: typeof start; probe?: Probe };
  }
}
