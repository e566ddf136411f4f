//! One stream's report: every duration, count and judgement, and no text.
//!
//! Durations are milliseconds since the request unless a field says otherwise. Definitions:
//! `docs/metrics.md`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::field::{MAX_BYTES, MAX_EVENTS, MAX_FACTS, MAX_OWN_TEXT_BYTES, MAX_TOKENS, Rule, fields};
use crate::mark::MARKS;
use crate::words::{LayerEnd, Observed, ServerStart, StreamKind};
use crate::{Attributes, Defects, Histogram, Mark, NameShape, Outcome, PageLifecycle, ProbeOverhead};

/// The version in [`StreamReport::v`].
pub const SCHEMA_VERSION: u32 = 1;

/// Most reports in one [`Batch`].
pub const MAX_REPORTS: usize = 100;

/// What a `POST /v1/beacons` carries. Accepted or refused as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// 1 to [`MAX_REPORTS`].
    pub reports: Vec<StreamReport>,
}

fields! {
    /// What one stream was, as the user's browser saw it.
    ///
    /// A report may be sent again with a higher [`rev`](Self::rev); the latest replaces the earlier.
    /// An absent field was not visible or did not happen. It never means zero.
    pub struct StreamReport {
        required {
            /// Schema version.
            v: u32 = 1, Rule::Between(1, SCHEMA_VERSION as u64), "Version of the schema.";
            /// Random, 32 hexadecimal digits, made by the probe. Names the stream and nothing else.
            id: String = 0, Rule::Id, ID;
            /// How it ended.
            outcome: Outcome = 13, Rule::Word(Outcome::WORDS, false), "How the stream ended, one of ten words.";
            /// Reads that carried bytes.
            chunks: u32 = 24, Rule::Amount(MAX_EVENTS), AMOUNTS;
            /// Dispatched events; comments and pings are not among them.
            events: u32 = 25, Rule::Amount(MAX_EVENTS), AMOUNTS;
            /// Events with generated text.
            deltas: u32 = 26, Rule::Amount(MAX_EVENTS), AMOUNTS;
            /// Body bytes as the app got them, after decompression.
            bytes: u64 = 27, Rule::Amount(MAX_BYTES), AMOUNTS;
        }
        optional {
            /// Revision: 0 for the first report of a stream, higher for each that replaces it.
            rev: u32 = 2, Rule::Count(u32::MAX as u64), REVISION;
            /// The stream had not ended when this was sent. Its outcome then is what it would be if the
            /// page died now: `abandoned`.
            open: bool = 3, Rule::Flag, REVISION;
            /// Name of the site, set by the collector from the site key; ignored when sent.
            site: Option<Cow<'static, str>> = 4, Rule::Collector,
                "The collector sets it from the site key. The probe never sends it.";
            /// Purpose of the model in the app, which selects the targets. Absent: the site's default.
            use_case: Option<Cow<'static, str>> = 5, Rule::OwnText(MAX_OWN_TEXT_BYTES),
                "The app sets it in `start()`. It selects the targets.";
            /// How much of the stream the probe could see.
            observed: Observed = 6, Rule::Word(Observed::WORDS, false),
                "How much of the stream the probe could see.";
            /// The stream shows no text to the user. The app says so, or the collector finds it.
            background: bool = 52, Rule::Flag, "Whether the stream shows no text to the user.";
            /// Wire format, recognised from content, by a name of `docs/formats.md`: `openai_chat`,
            /// `anthropic`, … Absent before the first event and where content could not be read.
            dialect: Option<Cow<'static, str>> = 7, Rule::Name(NameShape::FINISH_REASON), "Wire format, recognised from content.";
            /// Who served it, by OpenTelemetry's `gen_ai.provider.name` where it has one. Absent unless
            /// the page said so, or the host or the content proves it.
            provider: Option<Cow<'static, str>> = 8, Rule::OwnText(MAX_OWN_TEXT_BYTES),
                "The app sets it, or the content proves it.";
            /// Model that the request named. Absent if its body could not be read or named none.
            model: Option<Cow<'static, str>> = 9, Rule::Name(NameShape::MODEL),
                "The top-level key `model` of the request's JSON, if it has the shape of a name.";
            /// Model that the response named. Absent in formats whose responses name none.
            response_model: Option<Cow<'static, str>> = 10, Rule::Name(NameShape::MODEL), RESPONSE_NAMES;
            /// The provider's id of the response, which finds the stream in the server's logs. Absent in formats
            /// without one.
            response_id: Option<Cow<'static, str>> = 11, Rule::Name(NameShape::MODEL), RESPONSE_NAMES;
            /// A random id of the backend's middleware, from its comment in the stream. Absent without one.
            server_id: Option<Cow<'static, str>> = 51, Rule::Name(NameShape::MODEL), SERVER;
            /// Id of the server's trace of the response, by the extension `traceId`. Absent where the page can read no
            /// header with one.
            trace_id: Option<Cow<'static, str>> = 53, Rule::Id, TRACE;
            /// HTTP status. Absent when no response came.
            status: Option<u16> = 12, Rule::Between(100, 999), "HTTP status of the response.";
            /// The provider's finish reason. Absent until the response named one.
            finish_reason: Option<Cow<'static, str>> = 14, Rule::Name(NameShape::FINISH_REASON), RESPONSE_NAMES;
            /// From the user's gesture to the request. Absent without a gesture in the second before.
            submit_delay_ms: Option<f64> = 15, Rule::Milliseconds, SUBMIT;
            /// Response headers. Absent when no response came, and where the browser tells only the first byte.
            headers_ms: Option<f64> = 16, Rule::Milliseconds, ARRIVAL;
            /// First body chunk handed to the app. Absent for an empty or unread body.
            first_byte_ms: Option<f64> = 17, Rule::Milliseconds, ARRIVAL;
            /// First whole event. Absent when none came, as in plain text.
            first_event_ms: Option<f64> = 18, Rule::Milliseconds => after "first_byte_ms", ARRIVAL;
            /// First generated text of any kind: answer, reasoning, refusal or tool arguments. Absent if there was
            /// none, or if the response was not streamed.
            ttft_ms: Option<f64> = 19, Rule::Milliseconds => after "first_event_ms", ARRIVAL;
            /// First answer text. Absent when there was only reasoning or tool arguments.
            ttfv_ms: Option<f64> = 20, Rule::Milliseconds => after "ttft_ms", ARRIVAL;
            /// First frame presented with that text in it. Absent without a watched, visible output.
            ttfp_ms: Option<f64> = 21, Rule::Milliseconds => after "ttfv_ms",
                "Time of the first paint of text, if the page names the output element.";
            /// Last generated text, or a whole response that was not streamed. Absent when there was none.
            e2e_ms: Option<f64> = 22, Rule::Milliseconds => after "ttft_ms" "ttfv_ms", ARRIVAL;
            /// Stream closed, failed or cancelled. Absent while open.
            close_ms: Option<f64> = 23, Rule::Milliseconds => after "e2e_ms", ARRIVAL;
            /// Input tokens as the provider counted them. Absent, like the other token counts, if it did not.
            input_tokens: Option<u64> = 28, Rule::Count(MAX_TOKENS), TOKENS;
            /// Output tokens as the provider counted them, reasoning included.
            output_tokens: Option<u64> = 29, Rule::Count(MAX_TOKENS), TOKENS;
            /// Reasoning tokens as the provider counted them, part of `output_tokens`.
            reasoning_tokens: Option<u64> = 30, Rule::Count(MAX_TOKENS), TOKENS;
            /// Input tokens served from the provider's cache, as the provider counted.
            cached_tokens: Option<u64> = 31, Rule::Count(MAX_TOKENS), TOKENS;
            /// Time per output token after the first: `(e2e − ttft) / (output_tokens − 1)`, reasoning that was billed
            /// and not streamed left out of the tokens. Absent below two tokens, without the provider's count, when
            /// all text came in one read, or where such reasoning may have been a silence in the answer.
            tpot_ms: Option<f64> = 32, Rule::Milliseconds, SPEED;
            /// Longest time between two reads with generated text. Absent until two have come.
            longest_gap_ms: Option<f64> = 33, Rule::Milliseconds, SPEED;
            /// Times between successive reads with generated text. Absent until two have come.
            gaps: Option<Histogram> = 34, Rule::Histogram, SPEED;
            /// Gaps over max(2 s, 8 × the stream's median gap).
            stalls: u32 = 35, Rule::Amount(MAX_EVENTS), SPEED;
            /// How often each defect was seen.
            defects: Defects = 36, Rule::Defects,
                "Defects of the stream, as counts by name.";
            /// Moments that the app named by `probe.mark()`, at most eight, by the extension `marks`.
            marks: Vec<Mark> = 45, Rule::Marks, MARKS;
            /// Variant of an experiment, as the app named it.
            variant: Option<Cow<'static, str>> = 46, Rule::OwnText(MAX_OWN_TEXT_BYTES), "The app sets it.";
            /// Facts that the app names, such as `{"plan":"pro"}`, with keys from the site's configuration.
            attributes: Attributes = 47, Rule::Attributes, ATTRIBUTES;
            /// Random number of the tab, by the extension `visits`. The collector replaces it by a keyed hash at once, and
            /// no answer has it.
            visit: Option<Cow<'static, str>> = 49, Rule::Visit, VISIT;
            /// When text came, by the extension `arrivals`: digits of base 36. The first says how often 10 ms were doubled
            /// to get the length of a step. Each further one, at most 44, is a step from the first byte on: its deltas
            /// relative to those of the busiest step, which has `z`. Rounded up, so that only a step without deltas has
            /// `0`. Absent while open, and without text.
            arrivals: Option<Cow<'static, str>> = 54, Rule::Name(NameShape::ARRIVALS),
                "How much text came in each step of time, without the text.";
            /// Network phases before the first byte, by the extension `networkTiming`. Absent if the browser hides
            /// them.
            network_timing: Option<NetworkTiming> = 37, Rule::Group(NetworkTiming::FIELDS), "";
            /// Events of the page while the stream ran, by the extension `networkTiming`.
            page_lifecycle: Option<PageLifecycle> = 42, Rule::Group(PageLifecycle::FIELDS), "";
            /// Overhead of the probe in the page, by the extension `probeOverhead`.
            probe_overhead: Option<ProbeOverhead> = 44, Rule::Group(ProbeOverhead::FIELDS), "";
            /// Timing of the same stream as the server measured it.
            server: Option<ServerTiming> = 38, Rule::Group(ServerTiming::FIELDS), "";
            /// What the layers of the backend sent to the collector about the same stream. Ignored when sent by a page.
            layers: Option<Layers> = 50, Rule::Group(Layers::FIELDS), LAYER;
            /// The page and the device.
            page: Option<Page> = 39, Rule::Group(Page::FIELDS), "";
            /// Smallest step that the page's clock showed.
            clock_resolution_ms: Option<f64> = 40, Rule::Milliseconds,
                "Step of the page's clock, which bounds how exact the durations are.";
            /// Numbers that were out of range: durations and tokens that the probe left out, and amounts that the collector
            /// lowered.
            left_out: u32 = 55, Rule::Count(u32::MAX as u64), "How many numbers are missing, as they were out of range.";
            /// Share of tabs in which the app runs the probe: one report stands for `1 / sample_rate` streams.
            /// Absent: all.
            sample_rate: Option<f64> = 43, Rule::Share,
                "Share of tabs in which the app runs the probe.";
            /// Reports that the probe dropped since its last report arrived.
            dropped: Option<Dropped> = 41, Rule::Group(Dropped::FIELDS), "";
        }
    }
}

fields! {
    /// Where the time before the first byte went, by Resource Timing. All in milliseconds.
    #[derive(Copy)]
    pub struct NetworkTiming {
        required {
        }
        optional {
            /// Name look-up; 0 on a reused connection.
            dns_ms: Option<f64> = 1, Rule::Milliseconds, NETWORK;
            /// Connecting, without TLS; 0 on a reused connection.
            connect_ms: Option<f64> = 2, Rule::Milliseconds, NETWORK;
            /// TLS handshake; 0 on a reused connection.
            tls_ms: Option<f64> = 3, Rule::Milliseconds, NETWORK;
            /// From the request on the wire to the first response byte.
            wait_ms: Option<f64> = 4, Rule::Milliseconds, NETWORK;
        }
    }
}

fields! {
    /// What the server measured of the same stream. Durations on its own clock, in milliseconds.
    pub struct ServerTiming {
        required {
            /// Source of the timing: `comment` for `: llm-rum {…}`, or the engine or provider that sent its own fields,
            /// by its name in `docs/phases.md`, such as `llama_cpp` or `vllm`.
            source: Cow<'static, str> = 1, Rule::Name(NameShape::FINISH_REASON), SERVER;
        }
        optional {
            /// The moment from which `ttft_ms` counts. Absent when the source does not say.
            starts_from: Option<ServerStart> = 2, Rule::Word(ServerStart::WORDS, false), SERVER;
            /// Time before the request was scheduled.
            queue_ms: Option<f64> = 3, Rule::Milliseconds, SERVER;
            /// Time to first token.
            ttft_ms: Option<f64> = 4, Rule::Milliseconds, SERVER;
            /// First token to last token.
            generation_ms: Option<f64> = 5, Rule::Milliseconds, SERVER;
            /// Tokens that the server generated.
            output_tokens: Option<u64> = 6, Rule::Count(MAX_TOKENS), SERVER;
        }
    }
}

fields! {
    /// Timings of one stream that the backend sent to the collector, by the layer that measured them. The layers from
    /// outside to inside.
    pub struct Layers {
        required {
        }
        optional {
            /// A proxy in front of the app.
            edge: Option<LayerTiming> = 1, Rule::Group(LayerTiming::FIELDS), "";
            /// The app that answers the browser.
            app: Option<LayerTiming> = 2, Rule::Group(LayerTiming::FIELDS), "";
            /// The app's call of the model.
            model_call: Option<LayerTiming> = 3, Rule::Group(LayerTiming::FIELDS), "";
            /// A gateway between the app and the engine.
            gateway: Option<LayerTiming> = 4, Rule::Group(LayerTiming::FIELDS), "";
            /// The engine that ran the model.
            engine: Option<LayerTiming> = 5, Rule::Group(LayerTiming::FIELDS), "";
            /// How many facts added something. It orders the revisions that they make.
            facts: u32 = 6, Rule::Count(MAX_FACTS), LAYER;
        }
    }
}

fields! {
    /// What one layer of the backend measured of a stream. Durations on its own clock, in milliseconds.
    pub struct LayerTiming {
        required {
            /// Program that measured, such as `asgi`, `litellm` or `vllm`.
            source: Cow<'static, str> = 1, Rule::Name(NameShape::FINISH_REASON), LAYER;
        }
        optional {
            /// The moment from which `ttft_ms` counts. Absent: the beginning of the layer's own work.
            starts_from: Option<ServerStart> = 2, Rule::Word(ServerStart::WORDS, false), LAYER;
            /// Time before the request was scheduled.
            queue_ms: Option<f64> = 3, Rule::Milliseconds, LAYER;
            /// Time from the start of the prompt's processing to the first token.
            prefill_ms: Option<f64> = 4, Rule::Milliseconds, LAYER;
            /// Time to first token.
            ttft_ms: Option<f64> = 5, Rule::Milliseconds, LAYER;
            /// First token to last token.
            generation_ms: Option<f64> = 6, Rule::Milliseconds, LAYER;
            /// The whole of the layer's work.
            duration_ms: Option<f64> = 7, Rule::Milliseconds, LAYER;
            /// Tokens that were generated.
            output_tokens: Option<u64> = 8, Rule::Count(MAX_TOKENS), LAYER;
            /// How the work ended.
            ended: Option<LayerEnd> = 9, Rule::Word(LayerEnd::WORDS, false), LAYER;
            /// Tokens that were generated after the client had left.
            tokens_after_gone: Option<u64> = 10, Rule::Count(MAX_TOKENS), LAYER;
            /// The answer came from a cache of the layer.
            cached: bool = 11, Rule::Flag, LAYER;
            /// Id of the trace in which the layer recorded the work.
            trace_id: Option<Cow<'static, str>> = 12, Rule::Id, LAYER;
        }
    }
}

fields! {
    /// Where the user was: families and classes, nothing that could tell one user from another.
    #[derive(Eq)]
    pub struct Page {
        required {
        }
        optional {
            /// Browser family, such as `chrome`. Absent from what the probe sends: the collector reads it from the
            /// request, like the three below.
            browser: Option<Cow<'static, str>> = 1, Rule::Text(128), CLIENT;
            /// Family and major version of the browser, such as `firefox 153`.
            browser_version: Option<Cow<'static, str>> = 8, Rule::Text(128), CLIENT;
            /// Operating system family, such as `android`.
            os: Option<Cow<'static, str>> = 2, Rule::Text(128), CLIENT;
            /// `desktop`, `mobile` or `tablet`.
            device: Option<Cow<'static, str>> = 3, Rule::Text(128), CLIENT;
            /// The browser's own class of the connection, such as `4g`.
            connection: Option<Cow<'static, str>> = 4, Rule::Text(128),
                "Class of the connection that the browser names, such as `4g`.";
            /// `visible`, `hidden`, or `mixed` over the stream.
            visibility: Option<Cow<'static, str>> = 5, Rule::Text(128),
                "Visibility of the page while the stream ran.";
            /// Release of the app, as the page named it.
            release: Option<Cow<'static, str>> = 6, Rule::OwnText(MAX_OWN_TEXT_BYTES), "The app sets it in `start()`.";
            /// Path with ids replaced, such as `/chat/:id`.
            route: Option<Cow<'static, str>> = 7, Rule::Text(256), ROUTE;
        }
    }
}

fields! {
    /// What the probe had to drop, by reason.
    #[derive(Copy, Eq)]
    pub struct Dropped {
        required {
        }
        optional {
            /// Reports that found the queue full.
            queue_full: u32 = 1, Rule::Count(u32::MAX as u64), LOST;
            /// Reports that could not be sent.
            send_failed: u32 = 2, Rule::Count(u32::MAX as u64), LOST;
            /// Reports that the collector refused for good.
            refused: u32 = 3, Rule::Count(u32::MAX as u64), LOST;
            /// Streams whose early chunks did not fit the queue before the probe had loaded.
            early: u32 = 4, Rule::Count(u32::MAX as u64), LOST;
        }
    }
}

impl StreamReport {
    /// An open report with nothing seen yet.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self { v: SCHEMA_VERSION, id: id.into(), open: true, ..Self::default() }
    }

    /// Complete and without a defect that loses content. Streaming integrity counts such streams as good.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.outcome == Outcome::Complete && !self.defects.any_loss()
    }

    /// What the stream is to the user.
    #[must_use]
    pub const fn kind(&self) -> StreamKind {
        match (self.background, self.observed) {
            (true, _) => StreamKind::Background,
            (false, Observed::Output) => StreamKind::Output,
            (false, _) => StreamKind::Answer,
        }
    }

    /// Client TTFT minus server TTFT. `None` unless both are known.
    #[must_use]
    pub fn overhead_ms(&self) -> Option<f64> {
        Some(self.ttft_ms? - self.server.as_ref()?.ttft_ms?)
    }
}

// Notes for `docs/privacy-fields.md` that several fields share.
const ID: &str = "Random, new for each stream. A later report of the stream replaces an earlier one by it.";
const AMOUNTS: &str = "Amounts that arrived.";
const ATTRIBUTES: &str = "\
    The app sets them. Only keys that the site's configuration names, with values of at most 32 letters, digits and \
    `._-`.";
const REVISION: &str = "\
    Which report of the stream it is, and whether the stream still ran: a page that dies has reported what \
    it saw.";
const RESPONSE_NAMES: &str = "\
    Names in the response, if they have the shape of a name. They find the stream in the server's log.";
const SUBMIT: &str = "\
    Time from click, Enter or submit to the request. The probe does not read the place on the page or the \
    typed text.";
const ARRIVAL: &str = "Times of arrival.";
const VISIT: &str = "\
    Random, new for each tab, and only with the extension `visits`. It counts visits with a bad stream. [The \
    collector never stores it](privacy.md#visits).";
const TOKENS: &str = "Token counts of the provider.";
const SPEED: &str = "Speed of the text: one histogram, no list of times.";
const NETWORK: &str = "Parts of the time before the first byte.";
const TRACE: &str = "\
    Id of the server's trace of the response, from the header `traceresponse` or `Server-Timing`, and only with the \
    extension `traceId`. It matches the stream with times that the backend sends.";
const SERVER: &str = "Times and counts that the server reported in the stream.";
const LAYER: &str = "Times and counts that the backend sent to the collector for the same stream.";
const CLIENT: &str = "\
    Family of the browser with its major version, family of the system, class of the device. The collector sets them from the user \
    agent, which it does not keep. The probe sends only `tablet`, on an iPad whose user agent is that of a \
    Mac.";
const ROUTE: &str = "\
    Path of the page without query and fragment. Each part becomes `:id`, unless it is a word of the option `routes` \
    or one of `app`, `assistant`, `c`, `chat`, `chats`, `new`.";
const LOST: &str = "Reports that were lost since the last beacon, by reason.";
