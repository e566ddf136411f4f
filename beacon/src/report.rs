//! One stream's report: every duration, count and judgement, and no text.
//!
//! Durations are milliseconds since the request unless a field says otherwise. Definitions:
//! `docs/metrics.md`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Around, Cost, Defects, Histogram, Outcome};

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

/// What one stream was, as the user's browser saw it.
///
/// A report may be sent again with a higher [`rev`](Self::rev); the latest replaces the earlier.
/// `None` always means "not visible" or "did not happen", never zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamReport {
    /// Schema version, [`SCHEMA_VERSION`].
    pub v: u32,
    /// Random, 32 hexadecimal digits, made by the probe. Names the stream and nothing else.
    pub id: String,
    /// Revision: 0 for the first report of a stream, higher for each that replaces it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rev: u32,
    /// The stream had not ended when this was sent. Its outcome then is what it would be if the
    /// page died now: `abandoned`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub open: bool,
    /// Name of the site, set by the collector from the site key; ignored when sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<Cow<'static, str>>,
    /// What the app uses the model for: it picks the targets. `None`: the site's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_case: Option<Cow<'static, str>>,
    /// How much of the stream the probe could see.
    #[serde(default, skip_serializing_if = "Observed::is_events")]
    pub observed: Observed,
    /// Wire format, recognised from content, by a name of `docs/formats.md`: `openai_chat`,
    /// `anthropic`, … `None` before the first event and where content could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Cow<'static, str>>,
    /// Who served it, by OpenTelemetry's `gen_ai.provider.name` where it has one. `None` unless
    /// the page said so, or the host or the content proves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Cow<'static, str>>,
    /// Model that the request named. `None` where its body could not be read, or named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Cow<'static, str>>,
    /// Model that the answer named, up to 128 bytes. `None` in formats whose answers name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_model: Option<Cow<'static, str>>,
    /// The provider's id of the answer, up to 128 bytes, for finding the same stream in the server's
    /// logs. `None` in formats without one, and where it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<Cow<'static, str>>,
    /// HTTP status. `None` when no response came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How it ended.
    pub outcome: Outcome,
    /// The provider's own word for why it stopped, up to 128 bytes. `None` until it said one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<Cow<'static, str>>,

    /// From the user's gesture to the request. `None` without a gesture in the second before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit_delay_ms: Option<f64>,
    /// Response headers. `None` when no response came, and where the browser tells only the first byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers_ms: Option<f64>,
    /// First body chunk handed to the app. `None` for an empty or unread body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ms: Option<f64>,
    /// First whole event. `None` when none came, as in plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_event_ms: Option<f64>,
    /// First generated text of any kind: answer, reasoning, refusal or tool arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<f64>,
    /// First answer text. `None` when there was only reasoning or tool arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttfv_ms: Option<f64>,
    /// First frame presented with that text in it. `None` without a watched, visible output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttfp_ms: Option<f64>,
    /// Last generated text. `None` when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e2e_ms: Option<f64>,
    /// Stream closed, failed or cancelled. `None` while open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close_ms: Option<f64>,

    /// Reads that carried bytes.
    pub chunks: u32,
    /// Dispatched events; comments and pings are not among them.
    pub events: u32,
    /// Events with generated text.
    pub deltas: u32,
    /// Body bytes as the app got them, after decompression.
    pub bytes: u64,

    /// As the provider counted. `None`, like the other counts of tokens, where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// As the provider counted, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// As the provider counted; part of `output_tokens`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Input tokens served from the provider's cache, as the provider counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Time per output token after the first: `(e2e − ttft) / (output_tokens − 1)`, reasoning that was billed
    /// and not streamed left out of the tokens. `None` below two tokens, without the provider's count, when
    /// all text came in one read, or where such reasoning may have been a silence in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpot_ms: Option<f64>,

    /// Longest time between two reads with generated text. `None` until two have come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_gap_ms: Option<f64>,
    /// Times between successive reads with generated text. `None` until two have come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Histogram>,
    /// Gaps over max(2 s, 8 × the stream's median gap).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stalls: u32,
    /// What else was wrong.
    #[serde(default, skip_serializing_if = "Defects::is_empty")]
    pub defects: Defects,

    /// Where the time before the first byte went. `None` where the browser hides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    /// What happened around the stream. `None` where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<Around>,
    /// What the probe itself cost the page. `None` where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// What the server said of the same stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerTiming>,
    /// Where the user was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<Page>,
    /// Smallest step that the page's clock showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_resolution_ms: Option<f64>,
    /// The share of tabs in which the probe is on, as the app set it: one report stands for `1 / sample_rate`
    /// streams. `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_rate: Option<f64>,
    /// What the probe had to drop since its last report arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Dropped>,
}

/// How much of a stream the probe could see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observed {
    /// Content was parsed: events, tokens and the end are known.
    #[default]
    Events,
    /// Only chunks and their times: the page forbids WebAssembly.
    Chunks,
    /// As [`Self::Events`], but the body was cloned or teed: times are those of whichever branch was read
    /// first, perhaps by another script, ahead of the app.
    Arrival,
}

impl Observed {
    /// Whether the content was parsed, as it usually is.
    #[must_use]
    pub const fn is_events(&self) -> bool {
        matches!(self, Self::Events)
    }
}

/// Where the time before the first byte went, by Resource Timing. All in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Name look-up; 0 on a reused connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_ms: Option<f64>,
    /// Connecting, without TLS; 0 on a reused connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_ms: Option<f64>,
    /// TLS handshake; 0 on a reused connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_ms: Option<f64>,
    /// From the request on the wire to the first response byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<f64>,
}

/// What the server measured of the same stream. Durations on its own clock, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerTiming {
    /// Where it was read: `comment` (`: llm-rum {…}`), or the name of who told it in fields of its own,
    /// by `docs/metrics.md`: `llama_cpp`, `vllm`, …
    pub source: Cow<'static, str>,
    /// The moment from which `ttft_ms` counts. `None` when the source does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_from: Option<ServerStart>,
    /// Time before the request was scheduled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_ms: Option<f64>,
    /// Time to first token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<f64>,
    /// First token to last token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation_ms: Option<f64>,
    /// Tokens that the server generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

/// The moment from which a server counts its time to first token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerStart {
    /// The request arrived: queueing is in it.
    Arrival,
    /// The request left the queue.
    Scheduled,
    /// Prompt processing began.
    Prefill,
}

impl ServerStart {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Arrival => "arrival",
            Self::Scheduled => "scheduled",
            Self::Prefill => "prefill",
        }
    }
}

/// Where the user was: families and classes, nothing that could tell one user from another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Browser family, such as `chrome`. Absent from what the probe sends: the collector reads it from the
    /// request, like the two below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<Cow<'static, str>>,
    /// Operating system family, such as `android`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<Cow<'static, str>>,
    /// `desktop`, `mobile` or `tablet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Cow<'static, str>>,
    /// The browser's own class of the connection, such as `4g`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<Cow<'static, str>>,
    /// `visible`, `hidden`, or `mixed` over the stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Cow<'static, str>>,
    /// Release of the app, as the page named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Cow<'static, str>>,
    /// Path with ids replaced, such as `/chat/:id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Cow<'static, str>>,
}

/// What the probe had to drop, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Reports that found the queue full.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queue_full: u32,
    /// Reports that could not be sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub send_failed: u32,
    /// Reports that the collector refused for good.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused: u32,
    /// Streams whose early chunks did not fit the queue before the probe had loaded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub early: u32,
}

impl StreamReport {
    /// An open report with nothing seen yet.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            v: SCHEMA_VERSION,
            id: id.into(),
            rev: 0,
            open: true,
            site: None,
            use_case: None,
            observed: Observed::Events,
            dialect: None,
            provider: None,
            model: None,
            response_model: None,
            response_id: None,
            status: None,
            outcome: Outcome::Abandoned,
            finish_reason: None,
            submit_delay_ms: None,
            headers_ms: None,
            first_byte_ms: None,
            first_event_ms: None,
            ttft_ms: None,
            ttfv_ms: None,
            ttfp_ms: None,
            e2e_ms: None,
            close_ms: None,
            chunks: 0,
            events: 0,
            deltas: 0,
            bytes: 0,
            input_tokens: None,
            output_tokens: None,
            reasoning_tokens: None,
            cached_tokens: None,
            tpot_ms: None,
            longest_gap_ms: None,
            gaps: None,
            stalls: 0,
            defects: Defects::default(),
            phases: None,
            around: None,
            cost: None,
            server: None,
            page: None,
            clock_resolution_ms: None,
            sample_rate: None,
            dropped: None,
        }
    }

    /// Complete, and nothing was lost on the way: what streaming integrity counts as good.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.outcome == Outcome::Complete && !self.defects.any_loss()
    }

    /// Client TTFT minus server TTFT. `None` unless both are known.
    #[must_use]
    pub fn overhead_ms(&self) -> Option<f64> {
        Some(self.ttft_ms? - self.server.as_ref()?.ttft_ms?)
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}
