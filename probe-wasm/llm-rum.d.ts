// Generated from beacon/src/report.rs by `cargo xtask generate`.
/** Kinds of defects. */
export type Defect =
  | "no_sentinel"
  | "sentinel_only"
  | "malformed"
  | "invalid_utf8"
  | "sequence_gap"
  | "duplicate"
  | "reordered"
  | "spliced"
  | "html_in_stream"
  | "oversize"
  | "pending_at_eof"
  | "late_close"
  | "replay"
  | "usage_mismatch"
  | "stall"
  | "dead_air"
  | "buffered"
  | "coarse"
  | "hidden_reasoning";

/** Base-2 exponential histogram of milliseconds: `counts[i]` belongs to bucket `offset + i`. */
export interface Histogram {
  scale: number;
  offset: number;
  counts: number[];
  zero?: number;
  sum: number;
}

/** What the probe reports of one stream. Durations are milliseconds since the request. */
export interface StreamReport {
  /** Schema version. */
  v: number;
  /** Random, 32 hexadecimal digits, made by the probe. Names the stream and nothing else. */
  id: string;
  /** How it ended. */
  outcome: "complete" | "truncated" | "provider_error" | "http_error" | "network_error" | "timeout" | "empty" | "aborted" | "abandoned" | "unobserved";
  /** Reads that carried bytes. */
  chunks: number;
  /** Dispatched events; comments and pings are not among them. */
  events: number;
  /** Events with generated text. */
  deltas: number;
  /** Body bytes as the app got them, after decompression. */
  bytes: number;
  /** Revision: 0 for the first report of a stream, higher for each that replaces it. */
  rev?: number;
  /**
   * The stream had not ended when this was sent. Its outcome then is what it would be if the page died now:
   * `abandoned`.
   */
  open?: boolean;
  /** Purpose of the model in the app, which selects the targets. Absent: the site's default. */
  use_case?: string;
  /** How much of the stream the probe could see. */
  observed?: "events" | "chunks" | "arrival";
  /**
   * Wire format, recognised from content, by a name of `docs/formats.md`: `openai_chat`, `anthropic`, … Absent before
   * the first event and where content could not be read.
   */
  dialect?: string;
  /**
   * Who served it, by OpenTelemetry's `gen_ai.provider.name` where it has one. Absent unless the page said so, or the
   * host or the content proves it.
   */
  provider?: string;
  /** Model that the request named. Absent if its body could not be read or named none. */
  model?: string;
  /** Model that the response named. Absent in formats whose responses name none. */
  response_model?: string;
  /** The provider's id of the response, which finds the stream in the server's logs. Absent in formats without one. */
  response_id?: string;
  /** HTTP status. Absent when no response came. */
  status?: number;
  /** The provider's finish reason. Absent until the response named one. */
  finish_reason?: string;
  /** From the user's gesture to the request. Absent without a gesture in the second before. */
  submit_delay_ms?: number;
  /** Response headers. Absent when no response came, and where the browser tells only the first byte. */
  headers_ms?: number;
  /** First body chunk handed to the app. Absent for an empty or unread body. */
  first_byte_ms?: number;
  /** First whole event. Absent when none came, as in plain text. */
  first_event_ms?: number;
  /** First generated text of any kind: answer, reasoning, refusal or tool arguments. Absent if there was none. */
  ttft_ms?: number;
  /** First answer text. Absent when there was only reasoning or tool arguments. */
  ttfv_ms?: number;
  /** First frame presented with that text in it. Absent without a watched, visible output. */
  ttfp_ms?: number;
  /** Last generated text. Absent when there was none. */
  e2e_ms?: number;
  /** Stream closed, failed or cancelled. Absent while open. */
  close_ms?: number;
  /** Input tokens as the provider counted them. Absent, like the other token counts, if it did not. */
  input_tokens?: number;
  /** Output tokens as the provider counted them, reasoning included. */
  output_tokens?: number;
  /** Reasoning tokens as the provider counted them, part of `output_tokens`. */
  reasoning_tokens?: number;
  /** Input tokens served from the provider's cache, as the provider counted. */
  cached_tokens?: number;
  /**
   * Time per output token after the first: `(e2e − ttft) / (output_tokens − 1)`, reasoning that was billed and not
   * streamed left out of the tokens. Absent below two tokens, without the provider's count, when all text came in one
   * read, or where such reasoning may have been a silence in the answer.
   */
  tpot_ms?: number;
  /** Longest time between two reads with generated text. Absent until two have come. */
  longest_gap_ms?: number;
  /** Times between successive reads with generated text. Absent until two have come. */
  gaps?: Histogram;
  /** Gaps over max(2 s, 8 × the stream's median gap). */
  stalls?: number;
  /** How often each defect was seen. */
  defects?: Partial<Record<Defect, number>>;
  /** Network phases before the first byte, by the extension `phases`. Absent if the browser hides them. */
  phases?: {
    /** Name look-up; 0 on a reused connection. */
    dns_ms?: number;
    /** Connecting, without TLS; 0 on a reused connection. */
    connect_ms?: number;
    /** TLS handshake; 0 on a reused connection. */
    tls_ms?: number;
    /** From the request on the wire to the first response byte. */
    wait_ms?: number;
  };
  /** Events of the page while the stream ran, by the extension `phases`. */
  around?: {
    /** Protocol of the connection. Absent where the browser hides it. */
    protocol?: "http/1.1" | "h2" | "h3" | "other";
    /**
     * From the end of the body in the browser to the app's learning of it: a busy main thread, or an app that reads
     * late. Absent unless the body ended and was read to its end.
     */
    end_delay_ms?: number;
    /** How long the page was hidden. */
    hidden_ms?: number;
    /** How often the browser froze the page. Absent where it does not tell. */
    freezes?: number;
    /** The page had come back from the back/forward cache. */
    restored?: boolean;
    /** The request was made before the page was shown for the first time. */
    prerendered?: boolean;
    /** How many frames took 50 ms or longer. Absent where the browser does not tell. */
    long_frames?: number;
    /** Their durations together. */
    long_frames_ms?: number;
    /** Bytes that arrived while the page was hidden. */
    hidden_bytes?: number;
    /** Bytes that arrived after the user had asked for no more. Absent when nobody asked. */
    after_stop_bytes?: number;
  };
  /** Cost of the probe itself, by the extension `cost`. */
  cost?: {
    /** How many chunks were timed: those read by `fetch` since the probe had loaded. Absent: no chunk. */
    timed_chunks?: number;
    /**
     * What the probe's code took in all of them together. Single times are shorter than a step of the clock: how far
     * off a sum of them may be, `docs/metrics.md` says.
     */
    chunks_ms?: number;
    /** Size of the memory of the compiled part, all streams together. Absent where the page forbids WebAssembly. */
    memory_bytes?: number;
    /** Bodies of all beacons of the page before the one with this report. Absent: this is in the first. */
    sent_bytes?: number;
  };
  /** Timing of the same stream as the server measured it. */
  server?: {
    /**
     * Source of the timing: `comment` for `: llm-rum {…}`, or the engine or provider that sent its own fields, by its
     * name in `docs/metrics.md`, such as `llama_cpp` or `vllm`.
     */
    source: string;
    /** The moment from which `ttft_ms` counts. Absent when the source does not say. */
    starts_from?: "arrival" | "scheduled" | "prefill";
    /** Time before the request was scheduled. */
    queue_ms?: number;
    /** Time to first token. */
    ttft_ms?: number;
    /** First token to last token. */
    generation_ms?: number;
    /** Tokens that the server generated. */
    output_tokens?: number;
  };
  /** The page and the device. */
  page?: {
    /**
     * Browser family, such as `chrome`. Absent from what the probe sends: the collector reads it from the request, like
     * the two below.
     */
    browser?: string;
    /** Operating system family, such as `android`. */
    os?: string;
    /** `desktop`, `mobile` or `tablet`. */
    device?: string;
    /** The browser's own class of the connection, such as `4g`. */
    connection?: string;
    /** `visible`, `hidden`, or `mixed` over the stream. */
    visibility?: string;
    /** Release of the app, as the page named it. */
    release?: string;
    /** Path with ids replaced, such as `/chat/:id`. */
    route?: string;
  };
  /** Smallest step that the page's clock showed. */
  clock_resolution_ms?: number;
  /** Share of tabs in which the app runs the probe: one report stands for `1 / sample_rate` streams. Absent: all. */
  sample_rate?: number;
  /** Reports that the probe dropped since its last report arrived. */
  dropped?: {
    /** Reports that found the queue full. */
    queue_full?: number;
    /** Reports that could not be sent. */
    send_failed?: number;
    /** Reports that the collector refused for good. */
    refused?: number;
    /** Streams whose early chunks did not fit the queue before the probe had loaded. */
    early?: number;
  };
}
// End of the generated part.

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
