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
  rev?: number | null;
  /**
   * The stream had not ended when this was sent. Its outcome then is what it would be if the page died now:
   * `abandoned`.
   */
  open?: boolean | null;
  /** Name of the site, set by the collector from the site key; ignored when sent. */
  site?: string | null;
  /** Purpose of the model in the app, which selects the targets. Absent: the site's default. */
  use_case?: string | null;
  /** How much of the stream the probe could see. */
  observed?: "events" | "chunks" | "arrival" | null;
  /**
   * Wire format, recognised from content, by a name of `docs/formats.md`: `openai_chat`, `anthropic`, … Absent before
   * the first event and where content could not be read.
   */
  dialect?: string | null;
  /**
   * Who served it, by OpenTelemetry's `gen_ai.provider.name` where it has one. Absent unless the page said so, or the
   * host or the content proves it.
   */
  provider?: string | null;
  /** Model that the request named. Absent if its body could not be read or named none. */
  model?: string | null;
  /** Model that the response named. Absent in formats whose responses name none. */
  response_model?: string | null;
  /** The provider's id of the response, which finds the stream in the server's logs. Absent in formats without one. */
  response_id?: string | null;
  /** HTTP status. Absent when no response came. */
  status?: number | null;
  /** The provider's finish reason. Absent until the response named one. */
  finish_reason?: string | null;
  /** From the user's gesture to the request. Absent without a gesture in the second before. */
  submit_delay_ms?: number | null;
  /** Response headers. Absent when no response came, and where the browser tells only the first byte. */
  headers_ms?: number | null;
  /** First body chunk handed to the app. Absent for an empty or unread body. */
  first_byte_ms?: number | null;
  /** First whole event. Absent when none came, as in plain text. */
  first_event_ms?: number | null;
  /**
   * First generated text of any kind: answer, reasoning, refusal or tool arguments. Absent if there was none, or if the
   * response was not streamed.
   */
  ttft_ms?: number | null;
  /** First answer text. Absent when there was only reasoning or tool arguments. */
  ttfv_ms?: number | null;
  /** First frame presented with that text in it. Absent without a watched, visible output. */
  ttfp_ms?: number | null;
  /** Last generated text, or a whole response that was not streamed. Absent when there was none. */
  e2e_ms?: number | null;
  /** Stream closed, failed or cancelled. Absent while open. */
  close_ms?: number | null;
  /** Input tokens as the provider counted them. Absent, like the other token counts, if it did not. */
  input_tokens?: number | null;
  /** Output tokens as the provider counted them, reasoning included. */
  output_tokens?: number | null;
  /** Reasoning tokens as the provider counted them, part of `output_tokens`. */
  reasoning_tokens?: number | null;
  /** Input tokens served from the provider's cache, as the provider counted. */
  cached_tokens?: number | null;
  /**
   * Time per output token after the first: `(e2e − ttft) / (output_tokens − 1)`, reasoning that was billed and not
   * streamed left out of the tokens. Absent below two tokens, without the provider's count, when all text came in one
   * read, or where such reasoning may have been a silence in the answer.
   */
  tpot_ms?: number | null;
  /** Longest time between two reads with generated text. Absent until two have come. */
  longest_gap_ms?: number | null;
  /** Times between successive reads with generated text. Absent until two have come. */
  gaps?: Histogram | null;
  /** Gaps over max(2 s, 8 × the stream's median gap). */
  stalls?: number | null;
  /** How often each defect was seen. */
  defects?: Partial<Record<Defect, number>> | null;
  /** Moments that the app named by `probe.mark()`, at most eight, by the extension `marks`. */
  marks?: Mark[] | null;
  /** Network phases before the first byte, by the extension `networkTiming`. Absent if the browser hides them. */
  network_timing?: {
    /** Name look-up; 0 on a reused connection. */
    dns_ms?: number | null;
    /** Connecting, without TLS; 0 on a reused connection. */
    connect_ms?: number | null;
    /** TLS handshake; 0 on a reused connection. */
    tls_ms?: number | null;
    /** From the request on the wire to the first response byte. */
    wait_ms?: number | null;
  } | null;
  /** Events of the page while the stream ran, by the extension `networkTiming`. */
  page_lifecycle?: {
    /** Protocol of the connection. Absent where the browser hides it. */
    protocol?: "http/1.1" | "h2" | "h3" | "other" | null;
    /**
     * From the end of the body in the browser to the app's learning of it: a busy main thread, or an app that reads
     * late. Absent unless the body ended and was read to its end.
     */
    end_delay_ms?: number | null;
    /** How long the page was hidden. */
    hidden_ms?: number | null;
    /** How often the browser froze the page. Absent if the browser does not report it. */
    freezes?: number | null;
    /** The page had come back from the back/forward cache. */
    restored?: boolean | null;
    /** The request was made before the page was shown for the first time. */
    prerendered?: boolean | null;
    /** Frames of 50 ms or longer. Absent if the browser does not report frames. */
    long_frames?: number | null;
    /** Sum of the durations of these frames. */
    long_frames_ms?: number | null;
    /** Bytes that arrived while the page was hidden. */
    hidden_bytes?: number | null;
    /** Bytes that arrived after the user pressed stop. Absent if the user did not. */
    after_stop_bytes?: number | null;
  } | null;
  /** Overhead of the probe in the page, by the extension `probeOverhead`. */
  probe_overhead?: {
    /** Timed chunks: those read by `fetch` after the probe had loaded. Absent if there was none. */
    timed_chunks?: number | null;
    /**
     * Time of the probe's code in all timed chunks together. A single time is shorter than a step of the clock;
     * `docs/metrics.md` bounds the error of the sum.
     */
    chunks_ms?: number | null;
    /** Memory of the Wasm, all streams together. Absent if the page forbids WebAssembly. */
    memory_bytes?: number | null;
    /** Size of all beacons of the page before the one with this report. Absent in the first beacon. */
    sent_bytes?: number | null;
  } | null;
  /** Timing of the same stream as the server measured it. */
  server?: {
    /**
     * Source of the timing: `comment` for `: llm-rum {…}`, or the engine or provider that sent its own fields, by its
     * name in `docs/metrics.md`, such as `llama_cpp` or `vllm`.
     */
    source: string;
    /** The moment from which `ttft_ms` counts. Absent when the source does not say. */
    starts_from?: "arrival" | "scheduled" | "prefill" | null;
    /** Time before the request was scheduled. */
    queue_ms?: number | null;
    /** Time to first token. */
    ttft_ms?: number | null;
    /** First token to last token. */
    generation_ms?: number | null;
    /** Tokens that the server generated. */
    output_tokens?: number | null;
  } | null;
  /** The page and the device. */
  page?: {
    /**
     * Browser family, such as `chrome`. Absent from what the probe sends: the collector reads it from the request, like
     * the two below.
     */
    browser?: string | null;
    /** Operating system family, such as `android`. */
    os?: string | null;
    /** `desktop`, `mobile` or `tablet`. */
    device?: string | null;
    /** The browser's own class of the connection, such as `4g`. */
    connection?: string | null;
    /** `visible`, `hidden`, or `mixed` over the stream. */
    visibility?: string | null;
    /** Release of the app, as the page named it. */
    release?: string | null;
    /** Path with ids replaced, such as `/chat/:id`. */
    route?: string | null;
  } | null;
  /** Smallest step that the page's clock showed. */
  clock_resolution_ms?: number | null;
  /** Share of tabs in which the app runs the probe: one report stands for `1 / sample_rate` streams. Absent: all. */
  sample_rate?: number | null;
  /** Reports that the probe dropped since its last report arrived. */
  dropped?: {
    /** Reports that found the queue full. */
    queue_full?: number | null;
    /** Reports that could not be sent. */
    send_failed?: number | null;
    /** Reports that the collector refused for good. */
    refused?: number | null;
    /** Streams whose early chunks did not fit the queue before the probe had loaded. */
    early?: number | null;
  } | null;
}
// End of the generated part.
