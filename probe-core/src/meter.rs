//! One stream's moments, counts and end: bytes and times come in, a [`StreamReport`] goes out.
//! Definitions: `docs/metrics.md`.

use std::borrow::Cow;
use std::mem;

use beacon::{Defect, Histogram, Outcome, StreamReport};

use crate::dialect::{Facts, GENERIC, PLAIN_TEXT, Text};
use crate::framing::{Frame, Framing};
use crate::integrity::{DEAD_AIR_MS, Flow, LATE_CLOSE_MS, LongGaps, is_coarse};
use crate::time::{Timestamp, whole_micros};

/// Watches one stream.
///
/// Call it in the order in which things happen. A time earlier than the one before counts as equal
/// to it, so that no duration is negative. What comes after the end is ignored.
#[derive(Clone)]
pub struct Meter {
    request: Timestamp,
    /// The latest of all times. Like all of them, in milliseconds since the request.
    now_ms: f64,
    last_byte_ms: Option<f64>,
    end_marker_ms: Option<f64>,
    end: Option<End>,
    content_type: String,
    /// `None` until the first bytes have decided it.
    framing: Option<Framing>,
    /// Those bytes, while they are too few.
    start: Vec<u8>,
    /// The array that held all events was not closed when the stream ended.
    unclosed: bool,
    /// Holds the report, where all other moments and counts are kept.
    facts: Facts,
    long_gaps: LongGaps,
    flow: Flow,
}

/// What a chunk brought for the first time, or what all of them together have brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Generated text of any kind.
    pub first_token: bool,
    /// Text that the user reads: an answer, or a refusal in its place.
    pub first_visible: bool,
    /// The end marker of its dialect.
    pub ended: bool,
}

/// How the reading of a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The body ended.
    Closed,
    /// The request or the read failed, and nobody had aborted it.
    Failed,
    /// The app cancelled or aborted.
    Cancelled,
    /// A timeout signal aborted it.
    TimedOut,
    /// The page went away.
    PageGone,
    /// Nobody watches any longer: what was not seen by now cannot be judged.
    Unseen,
}

impl Meter {
    /// Starts with the request. `id` becomes the report's.
    #[must_use]
    pub fn new(id: impl Into<String>, request: Timestamp) -> Self {
        Self {
            request,
            now_ms: 0.0,
            last_byte_ms: None,
            end_marker_ms: None,
            end: None,
            content_type: String::new(),
            framing: None,
            start: Vec::new(),
            unclosed: false,
            facts: Facts::new(StreamReport::new(id)),
            long_gaps: LongGaps::default(),
            flow: Flow::default(),
        }
    }

    /// The user's gesture that led to the request, and came before it.
    pub fn on_submit(&mut self, at: Timestamp) {
        self.facts.report.submit_delay_ms = Some(self.request.since(at));
    }

    /// The response headers. Without them the status is unknown, and so is whether `Failed` came
    /// before any response.
    pub fn on_headers(&mut self, now: Timestamp, status: u16, content_type: &str) {
        if self.end.is_some() {
            return;
        }
        let now_ms = self.advance(now);
        self.facts.report.headers_ms.get_or_insert(now_ms);
        self.facts.report.status = Some(status);
        self.content_type = content_type.to_owned();
    }

    /// One read of the body. Nothing in it is an error: what is wrong with it becomes a defect.
    pub fn on_chunk(&mut self, now: Timestamp, bytes: &[u8]) -> Seen {
        if self.end.is_some() || bytes.is_empty() {
            return Seen::default();
        }
        let now_ms = self.advance(now);
        self.end_silence();
        let report = &mut self.facts.report;
        report.chunks = report.chunks.saturating_add(1);
        report.bytes = report.bytes.saturating_add(bytes.len() as u64);
        report.first_byte_ms.get_or_insert(now_ms);
        self.last_byte_ms = Some(now_ms);
        if self.is_http_error() {
            return Seen::default();
        }
        let before = self.seen();
        self.read(bytes);
        let after = self.seen();
        Seen {
            first_token: !before.first_token && after.first_token,
            first_visible: !before.first_visible && after.first_visible,
            ended: !before.ended && after.ended,
        }
    }

    /// The end of reading. Only the first counts.
    pub fn on_end(&mut self, now: Timestamp, end: End) {
        if self.end.is_some() {
            return;
        }
        let now_ms = self.advance(now);
        self.read_pending(end);
        match self.end_marker_ms {
            Some(marker_ms) if now_ms - marker_ms > LATE_CLOSE_MS => {
                self.facts.report.defects.add(Defect::LateClose);
            }
            Some(_) => {}
            None => self.end_silence(),
        }
        self.facts.report.close_ms = Some(now_ms);
        self.end = Some(end);
    }

    /// What is known so far: open before [`Meter::on_end`], final after it.
    #[must_use]
    pub fn report(&self) -> StreamReport {
        let mut meter = self.clone();
        meter.settle();
        meter.facts.report
    }

    /// The same where it lies. Fields that bytes and times cannot tell are the caller's to set, and
    /// stay as they are set; a provider that the content proves goes before the caller's.
    pub fn settle(&mut self) -> &mut StreamReport {
        let (outcome, dialect) = (self.outcome(), self.dialect());
        self.settle_defects();
        let facts = &mut self.facts;
        let report = &mut facts.report;
        report.open = self.end.is_none();
        report.outcome = outcome;
        report.dialect = dialect.map(Cow::Borrowed);
        if let Some(provider) = facts.provider {
            report.provider = Some(Cow::Borrowed(provider));
        }
        report.input_tokens = facts.usage.input();
        report.output_tokens = facts.usage.output();
        report.reasoning_tokens = facts.usage.reasoning();
        report.cached_tokens = facts.usage.cached();
        report.tpot_ms = tpot_ms(report);
        report.server = facts.server.merged(report.output_tokens);
        report
    }

    /// Reads what has come as soon as its framing is known.
    fn read(&mut self, bytes: &[u8]) {
        if self.framing.is_some() {
            return self.read_frames(bytes);
        }
        self.start.extend_from_slice(bytes);
        self.framing = Framing::of(&self.content_type, &self.start);
        if self.framing.is_some() {
            let start = mem::take(&mut self.start);
            self.read_frames(&start);
        }
    }

    fn read_frames(&mut self, bytes: &[u8]) {
        let Some(framing) = &mut self.framing else {
            return;
        };
        let facts = &mut self.facts;
        let (mut input, mut events, mut deltas, mut text) = (bytes, 0, 0, Text::NONE);
        while let Some(frame) = framing.next(&mut input) {
            match &frame {
                Frame::Event(event) => {
                    events += 1;
                    let brought = facts.read(event);
                    // Another answer has begun, and may end in the same read.
                    if !facts.ended {
                        self.end_marker_ms = None;
                    }
                    deltas += u32::from(brought.any());
                    text = text.and(brought);
                }
                Frame::Text { is_utf8, .. } => {
                    if !is_utf8 {
                        facts.report.defects.set(Defect::InvalidUtf8, 1);
                    }
                    text = Text::ANSWER;
                }
                Frame::Comment(comment) => facts.read_comment(comment),
                Frame::Oversize => facts.report.defects.add(Defect::Oversize),
                // One page has many such lines.
                Frame::Html => facts.report.defects.set(Defect::HtmlInStream, 1),
            }
        }
        if facts.ended {
            self.end_marker_ms.get_or_insert(self.now_ms);
        }
        self.flow.observe(bytes.len(), deltas);
        self.count(self.now_ms, events, deltas, text);
    }

    /// Counts what one read brought, with one time for all of it.
    fn count(&mut self, now_ms: f64, events: u32, deltas: u32, text: Text) {
        let report = &mut self.facts.report;
        report.events = report.events.saturating_add(events);
        report.deltas = report.deltas.saturating_add(deltas);
        if events > 0 {
            report.first_event_ms.get_or_insert(now_ms);
        }
        if text.is_visible() {
            report.ttfv_ms.get_or_insert(now_ms);
        }
        if !text.any() {
            return;
        }
        report.ttft_ms.get_or_insert(now_ms);
        if let Some(last_ms) = report.e2e_ms.replace(now_ms) {
            let gap_ms = whole_micros(now_ms - last_ms);
            report.gaps.get_or_insert_default().record(gap_ms);
            report.longest_gap_ms = Some(report.longest_gap_ms.unwrap_or(0.0).max(gap_ms));
            self.long_gaps.observe(gap_ms);
        }
    }

    /// Reads what the stream ended in. A last line of NDJSON needs no line end and is an event like
    /// any other; of an unfinished SSE event only the facts are taken, as by the standard it was
    /// never dispatched. A failed or cancelled read ends anywhere, and what is pending is no defect.
    fn read_pending(&mut self, end: End) {
        let Some(arrived_ms) = self.last_byte_ms else {
            return;
        };
        if self.framing.is_none() && !self.start.is_empty() {
            self.framing = Some(Framing::named(&self.content_type));
            let start = mem::take(&mut self.start);
            self.read_frames(&start);
        }
        let Some(framing) = &mut self.framing else {
            return;
        };
        let lines = framing.ends_anywhere();
        let pending = framing.finish();
        self.unclosed = pending.unclosed;
        let text = pending.event.and_then(|event| self.facts.read_pending(&event));
        let unread = pending.bytes > 0 && !(lines && text.is_some());
        if self.facts.ended {
            self.end_marker_ms.get_or_insert(arrived_ms);
        }
        if let Some(text) = text.filter(|_| lines) {
            self.count(arrived_ms, 1, u32::from(text.any()), text);
        }
        if unread && end == End::Closed {
            self.facts.report.defects.add(Defect::PendingAtEof);
        }
    }

    fn outcome(&self) -> Outcome {
        if self.is_http_error() {
            return Outcome::HttpError;
        }
        if self.facts.failed {
            return Outcome::ProviderError;
        }
        if self.facts.ended || self.facts.finished {
            return Outcome::Complete;
        }
        match self.end {
            None | Some(End::PageGone) => Outcome::Abandoned,
            Some(End::Unseen) => Outcome::Unobserved,
            Some(End::Cancelled) => Outcome::Aborted,
            Some(End::TimedOut) => Outcome::Timeout,
            Some(End::Failed) => Outcome::NetworkError,
            Some(End::Closed) => match (self.facts.dialect, self.dialect()) {
                (_, None) => Outcome::Empty,
                (dialect, _) if !self.unclosed && dialect.is_none_or(|known| known.ends_by_closing) => {
                    Outcome::Complete
                }
                _ => Outcome::Truncated,
            },
        }
    }

    /// The format, once anything has come by which it could be told.
    fn dialect(&self) -> Option<&'static str> {
        match (self.facts.dialect, &self.framing) {
            (Some(dialect), _) => Some(dialect.name),
            (None, Some(Framing::Text(_))) => Some(PLAIN_TEXT),
            (None, _) => (self.facts.report.events > 0).then_some(GENERIC),
        }
    }

    /// Sets the defects that only the whole stream shows.
    fn settle_defects(&mut self) {
        self.settle_flow();
        let facts = &mut self.facts;
        let report = &mut facts.report;
        let contradicts = facts.usage.contradicts_itself(facts.server.counted());
        report.defects.set(Defect::UsageMismatch, contradicts.into());
        if let (Some(dialect), Some(end)) = (facts.dialect, self.end) {
            let unmarked = dialect.marks_end && facts.finished && !facts.ended && end == End::Closed;
            report.defects.set(Defect::NoSentinel, unmarked.into());
            let unreasoned = dialect.gives_reason && facts.ended && report.finish_reason.is_none();
            report.defects.set(Defect::SentinelOnly, (unreasoned && !facts.failed).into());
        }
    }

    /// Judges how the text came: with silences, at once, in bundles.
    fn settle_flow(&mut self) {
        let facts = &mut self.facts;
        let report = &mut facts.report;
        let median_ms = report.gaps.as_ref().and_then(|gaps| gaps.quantile(0.5)).unwrap_or(0.0);
        let thought = facts.usage.reasoning().unwrap_or(0);
        let hidden = thought > 0 && !facts.said.has(Text::REASONING);
        report.defects.set(Defect::HiddenReasoning, hidden.into());
        // Where thinking is not shown, a silence may be it.
        report.stalls = if hidden { 0 } else { self.long_gaps.stalls(median_ms) };
        report.defects.set(Defect::Stall, report.stalls);
        let (Some(first_ms), Some(last_ms)) = (report.ttft_ms, report.e2e_ms) else {
            return;
        };
        let server_ms = facts.server.generation_ms();
        let buffered = self.flow.is_buffered(report.deltas, last_ms - first_ms, last_ms, server_ms);
        report.defects.set(Defect::Buffered, buffered.into());
        let shown = facts.usage.output().unwrap_or(0).saturating_sub(if hidden { thought } else { 0 });
        let longest_ms = report.longest_gap_ms.unwrap_or(f64::INFINITY);
        let gaps = report.gaps.as_ref().map_or(0, Histogram::count);
        let coarse = !buffered && is_coarse(shown, report.deltas, gaps, longest_ms, median_ms);
        report.defects.set(Defect::Coarse, coarse.into());
    }

    /// What has been seen so far.
    #[must_use]
    pub fn seen(&self) -> Seen {
        let StreamReport { ttft_ms, ttfv_ms, .. } = self.facts.report;
        Seen { first_token: ttft_ms.is_some(), first_visible: ttfv_ms.is_some(), ended: self.facts.ended }
    }

    fn is_http_error(&self) -> bool {
        self.facts.report.status.is_some_and(|status| status >= 400)
    }

    fn advance(&mut self, now: Timestamp) -> f64 {
        self.now_ms = now.since(self.request).max(self.now_ms);
        self.now_ms
    }

    /// Judges the silence that ends now. It begins with the headers: before them there is no stream.
    fn end_silence(&mut self) {
        if let Some(since_ms) = self.last_byte_ms.or(self.facts.report.headers_ms)
            && self.now_ms - since_ms > DEAD_AIR_MS
        {
            self.facts.report.defects.add(Defect::DeadAir);
        }
    }
}

/// `None` too when all text came in one read: then no time between tokens was seen.
fn tpot_ms(report: &StreamReport) -> Option<f64> {
    report.longest_gap_ms?;
    let tokens = report.output_tokens.filter(|&tokens| tokens >= 2)?;
    Some(whole_micros((report.e2e_ms? - report.ttft_ms?) / (tokens - 1) as f64))
}
