//! One stream's moments, counts and end: bytes and times come in, a [`StreamReport`] goes out.
//! Definitions: `docs/metrics.md`.

use std::borrow::Cow;

use beacon::{Defect, Defects, Histogram, Outcome, StreamReport};

use crate::dialect::{Facts, GENERIC, Text};
use crate::framing::{Frame, Framing, is_type};
use crate::integrity::{DEAD_AIR_MS, Flow, LATE_CLOSE_MS, LongGaps};
use crate::time::{Timestamp, whole_micros};

/// Watches one stream.
///
/// Call it in the order in which things happen. A time earlier than the one before counts as equal
/// to it, so that no duration is negative. What comes after the end is ignored.
pub struct Meter {
    id: String,
    submit: Option<Timestamp>,
    request: Timestamp,
    headers: Option<Timestamp>,
    first_byte: Option<Timestamp>,
    first_event: Option<Timestamp>,
    first_token: Option<Timestamp>,
    first_visible: Option<Timestamp>,
    last_token: Option<Timestamp>,
    last_byte: Option<Timestamp>,
    end_marker: Option<Timestamp>,
    end: Option<(End, Timestamp)>,
    /// The latest of all times.
    now: Timestamp,

    status: Option<u16>,
    content_type: String,
    /// `None` before the first byte, which may decide it.
    framing: Option<Framing>,
    facts: Facts,
    chunks: u32,
    events: u32,
    deltas: u32,
    bytes: u64,
    gaps: Histogram,
    longest_gap_ms: Option<f64>,
    long_gaps: LongGaps,
    flow: Flow,
}

/// What a chunk brought for the first time.
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
}

impl Meter {
    /// Starts with the request. `id` becomes the report's.
    #[must_use]
    pub fn new(id: impl Into<String>, request: Timestamp) -> Self {
        Self {
            id: id.into(),
            submit: None,
            request,
            headers: None,
            first_byte: None,
            first_event: None,
            first_token: None,
            first_visible: None,
            last_token: None,
            last_byte: None,
            end_marker: None,
            end: None,
            now: request,
            status: None,
            content_type: String::new(),
            framing: None,
            facts: Facts::default(),
            chunks: 0,
            events: 0,
            deltas: 0,
            bytes: 0,
            gaps: Histogram::default(),
            longest_gap_ms: None,
            long_gaps: LongGaps::default(),
            flow: Flow::default(),
        }
    }

    /// The user's gesture that led to the request, and came before it.
    pub fn on_submit(&mut self, at: Timestamp) {
        self.submit = Some(at);
    }

    /// The response headers. Without them the status is unknown, and so is whether `Failed` came
    /// before any response.
    pub fn on_headers(&mut self, now: Timestamp, status: u16, content_type: &str) {
        if self.end.is_some() {
            return;
        }
        let now = self.advance(now);
        self.headers.get_or_insert(now);
        self.status = Some(status);
        self.content_type = content_type.to_owned();
    }

    /// One read of the body. Nothing in it is an error: what is wrong with it becomes a defect.
    pub fn on_chunk(&mut self, now: Timestamp, bytes: &[u8]) -> Seen {
        if self.end.is_some() || bytes.is_empty() {
            return Seen::default();
        }
        let now = self.advance(now);
        self.end_silence(now);
        self.chunks = self.chunks.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        self.first_byte.get_or_insert(now);
        self.last_byte = Some(now);
        if self.is_http_error() {
            return Seen::default();
        }
        let before = (self.first_token, self.first_visible, self.facts.ended);
        self.read_frames(now, bytes);
        Seen {
            first_token: before.0 != self.first_token,
            first_visible: before.1 != self.first_visible,
            ended: !before.2 && self.facts.ended,
        }
    }

    /// The end of reading. Only the first counts.
    pub fn on_end(&mut self, now: Timestamp, end: End) {
        if self.end.is_some() {
            return;
        }
        let now = self.advance(now);
        self.read_pending(end);
        match self.end_marker {
            Some(marker) if now.since(marker) > LATE_CLOSE_MS => self.facts.defects.add(Defect::LateClose),
            Some(_) => {}
            None => self.end_silence(now),
        }
        self.end = Some((end, now));
    }

    /// What is known so far: open before [`Meter::on_end`], final after it.
    #[must_use]
    pub fn report(&self) -> StreamReport {
        let facts = &self.facts;
        let gaps = (!self.gaps.is_empty()).then(|| self.gaps.clone());
        let stalls = self.long_gaps.stalls(self.gaps.quantile(0.5).unwrap_or(0.0));
        StreamReport {
            open: self.end.is_none(),
            dialect: self.dialect().map(Cow::Borrowed),
            provider: facts.provider.map(Cow::Borrowed),
            response_model: owned(&facts.model),
            response_id: owned(&facts.response_id),
            status: self.status,
            outcome: self.outcome(),
            finish_reason: owned(&facts.finish_reason),
            submit_delay_ms: self.submit.map(|submit| self.request.since(submit)),
            headers_ms: self.after_request(self.headers),
            first_byte_ms: self.after_request(self.first_byte),
            first_event_ms: self.after_request(self.first_event),
            ttft_ms: self.after_request(self.first_token),
            ttfv_ms: self.after_request(self.first_visible),
            e2e_ms: self.after_request(self.last_token),
            close_ms: self.after_request(self.end.map(|(_, at)| at)),
            chunks: self.chunks,
            events: self.events,
            deltas: self.deltas,
            bytes: self.bytes,
            input_tokens: facts.usage.input(),
            output_tokens: facts.usage.output(),
            reasoning_tokens: facts.usage.reasoning(),
            cached_tokens: facts.usage.cached(),
            tpot_ms: self.tpot_ms(),
            longest_gap_ms: self.longest_gap_ms,
            gaps,
            stalls,
            defects: self.defects(stalls),
            server: facts.server.merged(),
            ..StreamReport::new(self.id.as_str())
        }
    }

    fn read_frames(&mut self, now: Timestamp, bytes: &[u8]) {
        let framing = self.framing.get_or_insert_with(|| Framing::of(&self.content_type, bytes[0]));
        let facts = &mut self.facts;
        let (mut input, mut events, mut deltas, mut text) = (bytes, 0, 0, Text::NONE);
        while let Some(frame) = framing.next(&mut input) {
            match frame {
                Frame::Event(event) => {
                    events += 1;
                    let brought = facts.read(&event);
                    deltas += u32::from(brought.any());
                    text = text.and(brought);
                }
                Frame::Comment(comment) => facts.read_comment(comment),
                Frame::Oversize => facts.defects.add(Defect::Oversize),
                // One page has many such lines.
                Frame::Html => facts.defects.set(Defect::HtmlInStream, 1),
            }
        }
        self.end_marker = if facts.ended { self.end_marker.or(Some(now)) } else { None };
        self.flow.observe(bytes.len(), deltas);
        self.count(now, events, deltas, text);
    }

    /// Counts what one read brought, with one time for all of it.
    fn count(&mut self, now: Timestamp, events: u32, deltas: u32, text: Text) {
        self.events = self.events.saturating_add(events);
        self.deltas = self.deltas.saturating_add(deltas);
        if events > 0 {
            self.first_event.get_or_insert(now);
        }
        if text.is_visible() {
            self.first_visible.get_or_insert(now);
        }
        if !text.any() {
            return;
        }
        self.first_token.get_or_insert(now);
        if let Some(last) = self.last_token.replace(now) {
            let gap = now.since(last);
            self.gaps.record(gap);
            self.long_gaps.observe(gap);
            self.longest_gap_ms = Some(self.longest_gap_ms.map_or(gap, |longest| longest.max(gap)));
        }
    }

    /// Reads what the stream ended in. A last line of NDJSON needs no line end and is an event like
    /// any other; of an unfinished SSE event only the facts are taken, as by the standard it was
    /// never dispatched.
    fn read_pending(&mut self, end: End) {
        let (Some(framing), Some(arrived)) = (&mut self.framing, self.last_byte) else {
            return;
        };
        let lines = matches!(framing, Framing::Ndjson(_));
        let pending = framing.finish();
        let text = pending.event.and_then(|event| self.facts.read_pending(&event));
        let unread = pending.bytes > 0 && !(lines && text.is_some());
        if self.facts.ended {
            self.end_marker.get_or_insert(arrived);
        }
        if let Some(text) = text.filter(|_| lines) {
            self.count(arrived, 1, u32::from(text.any()), text);
        }
        if unread && end == End::Closed && !self.is_plain_text() {
            self.facts.defects.add(Defect::PendingAtEof);
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
            None | Some((End::PageGone, _)) => Outcome::Abandoned,
            Some((End::Cancelled, _)) => Outcome::Aborted,
            Some((End::TimedOut, _)) => Outcome::Timeout,
            Some((End::Failed, _)) => Outcome::NetworkError,
            Some((End::Closed, _)) => match self.dialect() {
                None => Outcome::Empty,
                Some(GENERIC) => Outcome::Complete,
                Some(_) => Outcome::Truncated,
            },
        }
    }

    /// The format, once anything has come by which it could be told.
    fn dialect(&self) -> Option<&'static str> {
        let known = self.facts.dialect.map(|dialect| dialect.name);
        known.or_else(|| (self.events > 0 || self.is_plain_text()).then_some(GENERIC))
    }

    /// The body is text under a type of its own, without a line that is SSE.
    fn is_plain_text(&self) -> bool {
        let named = !self.content_type.is_empty() && !is_type(&self.content_type, "text/event-stream");
        let foreign = self.framing.as_ref().is_some_and(Framing::is_foreign);
        named && foreign && self.facts.defects.get(Defect::HtmlInStream) == 0
    }

    /// The defects seen on the way, and those that only the whole stream shows.
    fn defects(&self, stalls: u32) -> Defects {
        let facts = &self.facts;
        let mut defects = facts.defects;
        defects.set(Defect::Stall, stalls);
        if let (Some(first), Some(last)) = (self.first_token, self.last_token)
            && self.flow.is_buffered(self.deltas, last.since(first), last.since(self.request))
        {
            defects.add(Defect::Buffered);
        }
        if let (Some(dialect), Some((end, _))) = (facts.dialect, self.end) {
            if dialect.marks_end && facts.finished && !facts.ended && end == End::Closed {
                defects.add(Defect::NoSentinel);
            }
            if dialect.gives_reason && facts.ended && facts.finish_reason.is_none() && !facts.failed {
                defects.add(Defect::SentinelOnly);
            }
        }
        defects
    }

    /// `None` too when all text came in one read: then no time between tokens was seen.
    fn tpot_ms(&self) -> Option<f64> {
        self.longest_gap_ms?;
        let tokens = self.facts.usage.output().filter(|&tokens| tokens >= 2)?;
        let generation = self.last_token?.since(self.first_token?);
        Some(whole_micros(generation / (tokens - 1) as f64))
    }

    // As with `Timestamp::since`: a report has eight of these.
    #[inline(never)]
    fn after_request(&self, moment: Option<Timestamp>) -> Option<f64> {
        moment.map(|moment| moment.since(self.request))
    }

    fn is_http_error(&self) -> bool {
        self.status.is_some_and(|status| status >= 400)
    }

    fn advance(&mut self, now: Timestamp) -> Timestamp {
        self.now = self.now.at_least(now);
        self.now
    }

    /// Judges the silence that ends now. It begins with the headers: before them there is no stream.
    fn end_silence(&mut self, now: Timestamp) {
        if let Some(since) = self.last_byte.or(self.headers)
            && now.since(since) > DEAD_AIR_MS
        {
            self.facts.defects.add(Defect::DeadAir);
        }
    }
}

fn owned(name: &Option<String>) -> Option<Cow<'static, str>> {
    name.clone().map(Cow::Owned)
}
