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

/** A moment that the app named by `probe.mark()`. */
export interface Mark {
  /** Name of the moment, such as `retrieval`. */
  name: string;
  /** From the request to the moment. */
  at_ms: number;
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
  observed?: "events" | "chunks" | "arrival" | "output";
  /** The stream shows no text to the user. The app says so, or the collector finds it. */
  background?: boolean;
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
  /** A random id of the backend's middleware, from its comment in the stream. Absent without one. */
  server_id?: string;
  /**
   * Id of the server's trace of the response, by the extension `traceId`. Absent where the page can read no header with
   * one.
   */
  trace_id?: string;
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
  /**
   * First generated text of any kind: answer, reasoning, refusal or tool arguments. Absent if there was none, or if the
   * response was not streamed.
   */
  ttft_ms?: number;
  /** First answer text. Absent when there was only reasoning or tool arguments. */
  ttfv_ms?: number;
  /** First frame presented with that text in it. Absent without a watched, visible output. */
  ttfp_ms?: number;
  /** Last generated text, or a whole response that was not streamed. Absent when there was none. */
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
  /** Moments that the app named by `probe.mark()`, at most eight, by the extension `marks`. */
  marks?: Mark[];
  /** Variant of an experiment, as the app named it. */
  variant?: string;
  /** Facts that the app names, such as `{"plan":"pro"}`, with keys from the site's configuration. */
  attributes?: Record<string, string>;
  /**
   * Random number of the tab, by the extension `visits`. The collector replaces it by a keyed hash at once, and no
   * answer has it.
   */
  visit?: string;
  /**
   * When text came, by the extension `arrivals`: digits of base 36. The first says how often 10 ms were doubled to get
   * the length of a step. Each further one, at most 44, is a step from the first byte on: its deltas relative to those
   * of the busiest step, which has `z`. Rounded up, so that only a step without deltas has `0`. Absent while open, and
   * without text.
   */
  arrivals?: string;
  /** Network phases before the first byte, by the extension `networkTiming`. Absent if the browser hides them. */
  network_timing?: {
    /** Name look-up; 0 on a reused connection. */
    dns_ms?: number;
    /** Connecting, without TLS; 0 on a reused connection. */
    connect_ms?: number;
    /** TLS handshake; 0 on a reused connection. */
    tls_ms?: number;
    /** From the request on the wire to the first response byte. */
    wait_ms?: number;
  };
  /** Events of the page while the stream ran, by the extension `networkTiming`. */
  page_lifecycle?: {
    /** Protocol of the connection. Absent where the browser hides it. */
    protocol?: "http/1.1" | "h2" | "h3" | "other";
    /**
     * From the end of the body in the browser to the app's learning of it: a busy main thread, or an app that reads
     * late. Absent unless the body ended and was read to its end.
     */
    end_delay_ms?: number;
    /** How long the page was hidden. */
    hidden_ms?: number;
    /** How often the browser froze the page. Absent if the browser does not report it. */
    freezes?: number;
    /** The page had come back from the back/forward cache. */
    restored?: boolean;
    /** The request was made before the page was shown for the first time. */
    prerendered?: boolean;
    /** Frames of 50 ms or longer. Absent if the browser does not report frames. */
    long_frames?: number;
    /** Sum of the durations of these frames. */
    long_frames_ms?: number;
    /** Bytes that arrived while the page was hidden. */
    hidden_bytes?: number;
    /** Bytes that arrived after the user pressed stop. Absent if the user did not. */
    after_stop_bytes?: number;
  };
  /** Overhead of the probe in the page, by the extension `probeOverhead`. */
  probe_overhead?: {
    /** Timed chunks: those read by `fetch` after the probe had loaded. Absent if there was none. */
    timed_chunks?: number;
    /**
     * Time of the probe's code in all timed chunks together. A single time is shorter than a step of the clock;
     * `docs/phases.md` bounds the error of the sum.
     */
    chunks_ms?: number;
    /** Memory of the Wasm, all streams together. Absent if the page forbids WebAssembly. */
    memory_bytes?: number;
    /** Size of all beacons of the page before the one with this report. Absent in the first beacon. */
    sent_bytes?: number;
  };
  /** Timing of the same stream as the server measured it. */
  server?: {
    /**
     * Source of the timing: `comment` for `: llm-rum {…}`, or the engine or provider that sent its own fields, by its
     * name in `docs/phases.md`, such as `llama_cpp` or `vllm`.
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
     * the three below.
     */
    browser?: string;
    /** Family and major version of the browser, such as `firefox 153`. */
    browser_version?: string;
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
  /**
   * Numbers that were out of range: durations and tokens that the probe left out, and amounts that the collector
   * lowered.
   */
  left_out?: number;
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

/**
 * Facts about the user or the request in the terms of the app, such as `{ plan: "pro" }`. The collector keeps the keys
 * that the site's configuration names, at most five. Values are short identifiers: at most 32 letters, digits and `._-`,
 * at most eight of them digits. Never name a person: no names, addresses or ids.
 */
export type Attributes = Record<string, string | number | boolean>;

/** Options that may differ from stream to stream. */
export interface StreamOptions {
  /** What the app uses the model for. */
  useCase?: ProbeOptions["useCase"];
  /** The provider of the model. */
  provider?: string;
  /** Variant of an experiment. */
  variant?: string;
  /** Attributes, which replace all that were set before. */
  attributes?: Attributes;
  /** The streams show the user no text, such as suggestions. They are apart from answers. */
  background?: boolean;
}

export interface ProbeOptions {
  /** Origin of the collector, such as `https://rum.example`. */
  collector: string;
  /** Key of the site, as in the collector's configuration. */
  site: string;
  /**
   * What the app uses the model for. It selects the targets: these four have defaults, any other name has those that
   * the collector sets. Default: the use case of the site.
   */
  useCase?: "chat" | "coding" | "batch_rag" | "extraction" | (string & {});
  /** The provider of the model, such as `openai`. A provider that the response proves overrides it. */
  provider?: string;
  /** Release of the app. */
  release?: string;
  /** Variant of an experiment, such as `short-prompt`. */
  variant?: string;
  /** Facts in the terms of the app. */
  attributes?: Attributes;
  /**
   * Routes of the app, such as `["/projects/:id/chat"]`. A report's `page.route` keeps the words in them. Every other
   * part of the path becomes `:id`, except for a few usual words such as `chat` and `settings`.
   */
  routes?: string[];
  /**
   * Address of `llm-rum.wasm`. Default: beside this script, and then, for an imported probe, the collector. `false`:
   * no Wasm, so that the probe sees chunks only. The same happens without this option under a CSP without
   * `'wasm-unsafe-eval'`, but then the browser reports each attempt as a violation.
   */
  wasmUrl?: string | false;
  /**
   * Address of `llm-rum-all.wasm`, which a page loads only when it meets a stream of a rare format. Default: as with
   * `wasmUrl`. `false`: of such streams the probe sees chunks only.
   */
  wasmAllUrl?: string | false;
  /**
   * The hashes of `llm-rum.wasm` and `llm-rum-all.wasm`, separated by a blank, as in the `integrity` of a tag. A file
   * with another hash is not run.
   */
  wasmIntegrity?: string;
  /**
   * The share of tabs in which the probe is on, above 0 and up to 1. A tab draws a random number once and keeps it in
   * `sessionStorage`. With a `consent` other than `"granted"`, or without storage, each page draws its own. Reports
   * carry the rate, so that counts can be weighted. Default: all tabs, and nothing is stored.
   */
  sampleRate?: number;
  /**
   * The user's consent so far. `"pending"`: measure, and send nothing until `setConsent("granted")`; the newest 200
   * reports wait in memory, and nothing is stored on the device. `"denied"`: the probe stays off. Default: `"granted"`.
   * Any other word counts as `"pending"`.
   */
  consent?: "granted" | "denied" | "pending";
  /**
   * Whether the probe stays off if the browser sends Global Privacy Control or Do Not Track. Default: true. `false` is
   * for an app that asks its users itself.
   */
  respectSignals?: boolean;
  /**
   * Gets each report before it goes to the collector, also those of open streams, and returns what is sent instead.
   * `null` keeps the report back, and so does an error. The collector refuses a report with fields or values that it
   * does not accept as a whole.
   */
  beforeSend?: (report: StreamReport) => StreamReport | null;
  /** The development build tells each stream that ended in the console. Other builds ignore it. */
  debug?: boolean;
  /** Whether to watch the page's own `fetch`. Default: true. `false` leaves it to `wrapFetch`. */
  patchFetch?: boolean;
  /**
   * Selects streams that the probe does not recognise. It recognises the content types `text/event-stream`,
   * `application/x-ndjson`, `application/stream+json`, `application/json-seq` and `application/jsonl`, and requests
   * that accept one of these or have `"stream":true` in their body. Called with the arguments of `fetch`, right after
   * each call of it.
   */
  isStream?: (input: RequestInfo | URL, init?: RequestInit) => boolean;
  /**
   * Selects streams that show the user no text, such as suggestions or the name of a chat. Called like `isStream`. They
   * are in no statistics of answers. Requests from before the probe has loaded are not asked about.
   */
  isBackground?: (input: RequestInfo | URL, init?: RequestInit) => boolean;
  /** Formats of your own, which replace the recognised ones. `docs/custom-formats.md` has the rules. */
  formats?: CustomFormat | CustomFormat[];
}

/** A rule, or several of which one has to hold: a path such as `choices.0.text`, with a value as in `type=done`. */
export type FormatRule = string | string[];

/** What the events of a format mean. */
export interface CustomFormat {
  /** A part of the response's address. Default: every stream. */
  url?: string;
  /** Generated text that the user reads. */
  text: FormatRule;
  /** Generated text that is reasoning. */
  reasoning?: FormatRule;
  /** What the model writes to a tool. */
  tool?: FormatRule;
  /** The answer is over. Default: the body ends. */
  end?: FormatRule;
  /** The answer has failed. */
  error?: FormatRule;
  /** The id of the response. */
  id?: FormatRule;
  /** Input tokens as the server counted them. */
  inputTokens?: FormatRule;
  /** Output tokens as the server counted them. */
  outputTokens?: FormatRule;
  /** Each event has the whole text so far. Default: false. */
  cumulative?: boolean;
}

export interface Probe {
  /** Faults of the probe itself. After the first one it is off, and the page goes on as without it. */
  readonly faults: number;
  /** Calls back after the app got the chunk with the first generated text. Returns a function that stops it. */
  onFirstToken(callback: (report: StreamReport) => void): () => void;
  /**
   * Calls back once for each stream that ended. If more comes after its end marker, only the collector hears of it.
   * Returns a function that stops it.
   */
  onStreamEnd(callback: (report: StreamReport) => void): () => void;
  /**
   * A fetch that the probe watches, for clients that accept one. The page's own is not changed. `own` are options of the
   * streams of this fetch alone: each replaces the probe's option of the same name.
   */
  wrapFetch<F extends typeof fetch>(fetch: F, own?: StreamOptions): F;
  /** Changes options from the next stream on, as when the user of a single-page app changes the view. */
  set(options: StreamOptions): void;
  /**
   * Adds extensions from `llm-rum/more`, which watch more than `fetch`. Call it as early as possible: objects that the
   * page has made before are not watched.
   */
  use(...extensions: Extension[]): Probe;
  /**
   * Names the element in which responses appear, or one around it. Returns a function that revokes it. It needs the
   * extension `paint`, which has to be added first.
   */
  watchOutput(element: Node): () => void;
  /**
   * The user asked to stop: bytes of open streams that arrive from now on count as useless. A click on an element with
   * `data-llm-stop` does the same. Only with the extension `networkTiming`.
   */
  userStopped?(): void;
  /**
   * Names a moment of the newest open stream of this page, such as `retrieval`. The name has at most 32 letters, digits
   * and `._:/@+~#=-`, in at most four words; any other is ignored, and so are marks after the eighth and those while no
   * stream is open. Only with the extension `marks`.
   */
  mark?(name: string): void;
  /**
   * The latest report as the collector gets it, to show to the user. `null`: `beforeSend` kept it back. `undefined`:
   * there is none so far.
   */
  lastReport(): StreamReport | null | undefined;
  /**
   * The user's answer. `"granted"` sends all waiting and future reports. `"denied"`, or any other word, drops waiting
   * reports and stops the probe. A user who changes the answer later needs `start()` again, after `stop()` if the probe
   * was off from the start.
   */
  setConsent(answer: "granted" | "denied"): void;
  /** Sends waiting reports, and reports of open streams. Resolves after the attempt, even if it failed. */
  flush(): Promise<void>;
  /** Stops watching, sends waiting reports, and gives the page its own `fetch` back. */
  stop(): void;
}

/** An extension for `probe.use()`. */
export type Extension = (core: never) => object;

/**
 * Starts the probe. It may be called before anything has loaded, and twice: then it returns the running probe. On a
 * server it does nothing.
 */
export function start(options: ProbeOptions): Probe;

declare global {
  interface Window {
    /** Set by the script-tag build. Its probe runs if the tag names a site, or after a call of `start`. */
    llmRum?: { start: typeof start; probe?: Probe };
  }
}
