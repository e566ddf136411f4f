//! Measures one stream: its times, counts and end. The definitions are in `docs/metrics.md`.

mod inferred_text;

use std::mem;

use beacon::{Defect, Outcome, StreamReport};

use crate::absent::{ABSENT, or};
use crate::build_variant::{ALL_DIALECTS, IN_PAGE};
use crate::custom_format;
use crate::dialect::{GENERIC, PLAIN_TEXT, StreamState};
use crate::framing::{BOM, ContentType, Frame, Framing};
use crate::inference::{self, Inference, OptionalInference, tool_protocol};
use crate::integrity::{DEAD_AIR_MS, Flow, LATE_CLOSE_MS, LongGaps, is_coarse};
use crate::report_builder::{NumberField, ReportBuilder, TextField};
use crate::text_kinds::TextKinds;
use crate::time::{Timestamp, whole_micros};

/// Measures one stream.
///
/// Call it in the order in which things happen. A time earlier than the one before counts as equal to it, so that no
/// duration is negative. Calls after the end are ignored.
#[derive(Clone)]
pub struct Meter {
    id: String,
    request: Timestamp,
    /// The latest of all times, in milliseconds since the request, as all of them.
    now_ms: f64,
    last_byte_ms: f64,
    /// These bytes are more of a read that is counted already: within a read there is no gap.
    goes_on: bool,
    end_marker_ms: f64,
    end: Option<End>,
    content_type: ContentType,
    /// `None` until the first bytes show it.
    framing: Option<Framing>,
    /// The first bytes, while they are too few to show the framing.
    start: Vec<u8>,
    /// The array around all events was not closed when the stream ended, or an end that this format has did not come.
    unclosed: bool,
    /// The latest event was too long to be read: it may have been the end marker.
    unread: bool,
    /// Nothing but an event can show the end of the answer.
    ends_by_event: bool,
    /// What the content shows, and the report with all other times and counts.
    state: StreamState,
    /// What the events show while no dialect knows them.
    inference: OptionalInference,
    long_gaps: LongGaps,
    flow: Flow,
    /// The only event so far, if it is a JSON value that may be the whole body: when it came, and its text.
    whole_body: Option<(f64, TextKinds)>,
}

/// What a chunk brought for the first time, or what all chunks so far have brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Generated text of any kind.
    pub first_token: bool,
    /// Text that the user reads: an answer, or a refusal in its place.
    pub first_visible: bool,
    /// The end marker of its dialect, or an error: nothing more has to come.
    pub ended: bool,
    /// A format that only the full Wasm reads. This build reads no more of the stream.
    pub needs_full_wasm: bool,
}

/// How the reading of a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The body ended.
    Closed,
    /// The request or the read failed without an abort.
    Failed,
    /// The app cancelled or aborted.
    Cancelled,
    /// A timeout signal aborted it.
    TimedOut,
    /// The page went away.
    PageGone,
    /// The stream is watched no longer: its end is unknown.
    Unseen,
}

impl Meter {
    /// Starts with the request. `id` becomes the id of the report.
    #[must_use]
    pub fn new(id: impl Into<String>, request: Timestamp) -> Self {
        Self {
            id: id.into(),
            request,
            now_ms: 0.0,
            last_byte_ms: ABSENT,
            goes_on: false,
            end_marker_ms: ABSENT,
            end: None,
            content_type: ContentType::Events,
            framing: None,
            start: Vec::new(),
            unclosed: false,
            unread: false,
            ends_by_event: false,
            state: StreamState::NONE,
            inference: [Inference::NONE; _],
            long_gaps: LongGaps::NONE,
            flow: Flow::NEW,
            whole_body: None,
        }
    }

    /// The user's gesture that led to the request.
    pub fn on_submit(&mut self, at: Timestamp) {
        self.state.report.set(NumberField::SubmitDelay, self.request.since(at));
    }

    /// The app describes formats: the address of the response and, on the next line, descriptions in JSON by
    /// `docs/custom-formats.md`. Or the id of a call after `call:`: of the calls that share a Gradio app's queue, the stream
    /// is this one. Without an id it is the first.
    pub fn on_formats(&mut self, text: &[u8]) {
        if ALL_DIALECTS && let Some(id) = text.strip_prefix(CALL) {
            return self.state.set_call(id);
        }
        self.state.set_formats(text);
    }

    /// The smallest step of the clock behind all times. `None` if it was not measured.
    pub fn on_clock(&mut self, resolution_ms: Option<f64>) {
        self.state.report.set(NumberField::ClockResolution, resolution_ms.unwrap_or(ABSENT));
    }

    /// The answer comes over a socket, which stays open when it ends: an event shows the end.
    pub fn on_socket(&mut self) {
        self.ends_by_event |= ALL_DIALECTS;
    }

    /// The response headers. Without them the status is unknown, and so is whether a failure came before any response.
    pub fn on_headers(&mut self, now: Timestamp, status: u16, content_type: impl Into<ContentType>) {
        if self.end.is_some() {
            return;
        }
        let now_ms = self.advance(now);
        self.state.report.set_first(NumberField::Headers, now_ms);
        self.state.report.set(NumberField::Status, status.into());
        self.content_type = content_type.into();
    }

    /// One read of the body. With a time earlier than the one before, which no clock of a page gives, it is more of the
    /// same read. Nothing in it is an error: faults become defects.
    pub fn on_chunk(&mut self, now: Timestamp, bytes: &[u8]) -> Progress {
        if self.end.is_some() || bytes.is_empty() {
            return Progress::default();
        }
        let now_ms = self.advance(now);
        self.end_silence();
        let report = &mut self.state.report;
        self.goes_on = now.since(self.request) < self.last_byte_ms;
        report.add(NumberField::Chunks, f64::from(u8::from(!self.goes_on)));
        report.add(NumberField::Bytes, bytes.len() as f64);
        report.set_first(NumberField::FirstByte, now_ms);
        self.last_byte_ms = now_ms;
        if self.is_http_error() {
            return Progress::default();
        }
        let before = self.progress();
        self.read(bytes);
        let after = self.progress();
        Progress {
            first_token: !before.first_token && after.first_token,
            first_visible: !before.first_visible && after.first_visible,
            ended: !before.ended && after.ended,
            needs_full_wasm: !before.needs_full_wasm && after.needs_full_wasm,
        }
    }

    /// The end of reading. Only the first counts.
    pub fn on_end(&mut self, now: Timestamp, end: End) {
        if self.end.is_some() {
            return;
        }
        let now_ms = self.advance(now);
        self.read_pending(end);
        self.end_inference(end);
        if ALL_DIALECTS {
            self.end_whole_body();
        }
        if self.end_marker_ms.is_nan() {
            // Without a watcher it is unknown whether bytes came.
            if end != End::Unseen {
                self.end_silence();
            }
        } else if now_ms - self.end_marker_ms > LATE_CLOSE_MS {
            self.state.report.defects.add(Defect::LateClose);
        }
        self.state.report.set(NumberField::Close, now_ms);
        self.end = Some(end);
    }

    /// The report so far: open before [`Meter::on_end`], final after it.
    #[must_use]
    pub fn report(&self) -> StreamReport {
        let mut meter = self.clone();
        let outcome = meter.outcome(meter.dialect());
        let report = meter.update_report().build(outcome);
        StreamReport { id: meter.id, open: meter.end.is_none(), ..report }
    }

    /// The same report as rows, but for the id and whether it is open.
    pub fn update_report(&mut self) -> &ReportBuilder {
        let dialect = self.dialect();
        let outcome = self.outcome(dialect);
        for inference in self.inference.iter().filter(|it| it.found) {
            self.state.usage.set(inference.tokens);
            if inference.is_comment_early() {
                self.state.server.drop_comment_times();
            }
        }
        if ALL_DIALECTS && self.state.dialect.is_some_and(|dialect| dialect.is_queue) {
            // A middleware takes the first message, which says that a call waits, for text.
            self.state.server.drop_comment_times();
        }
        self.update_defects();
        let StreamState { report, usage, server, .. } = &mut self.state;
        report.set_text(TextField::Outcome, outcome.as_str());
        report.set_text(TextField::Dialect, dialect.unwrap_or_default());
        report.set(NumberField::InputTokens, usage.input());
        report.set(NumberField::OutputTokens, usage.output());
        report.set(NumberField::ReasoningTokens, usage.reasoning());
        report.set(NumberField::CachedTokens, usage.cached());
        report.server = server.merged(usage.output());
        report
    }

    /// Reads all bytes so far as soon as their framing is known.
    fn read(&mut self, bytes: &[u8]) {
        if self.needs_full_wasm() {
            return;
        }
        if self.framing.is_some() {
            return self.read_frames(bytes);
        }
        self.start.extend_from_slice(bytes);
        self.framing = Framing::of(self.content_type, &self.start);
        if self.framing.is_some() {
            self.read_start();
        }
    }

    /// Reads the bytes from before the framing was known. If they are plain text, the first read was text as well.
    fn read_start(&mut self) {
        let first_ms = self.state.report.get(NumberField::FirstByte);
        if ALL_DIALECTS && matches!(self.framing, Some(Framing::PlainText(_))) && first_ms < self.last_byte_ms
        {
            self.count(first_ms, 0.0, 0.0, TextKinds::ANSWER);
        }
        let start = mem::take(&mut self.start);
        self.read_frames(if IN_PAGE { start.strip_prefix(BOM).unwrap_or(&start) } else { &start });
    }

    fn read_frames(&mut self, bytes: &[u8]) {
        let Some(framing) = &mut self.framing else {
            return;
        };
        let state = &mut self.state;
        state.queue.iter_mut().for_each(|queue| queue.now_ms = self.last_byte_ms);
        let (mut input, mut events, mut deltas, mut text) = (bytes, 0.0, 0.0, TextKinds::NONE);
        while let Some(frame) = framing.next(&mut input) {
            match &frame {
                Frame::Event(event) => {
                    self.unread = false;
                    events += 1.0;
                    let mut brought = state.read(event);
                    if state.is_unknown() {
                        for inference in &mut self.inference {
                            brought = inference.read(event, self.last_byte_ms);
                        }
                    }
                    // Another answer has begun, and may end in the same read.
                    if !state.ended {
                        self.end_marker_ms = ABSENT;
                    }
                    deltas += f64::from(u8::from(brought.any()));
                    text = text.and(brought);
                }
                Frame::Text { is_utf8, .. } if ALL_DIALECTS => {
                    if !is_utf8 {
                        state.report.defects.set(Defect::InvalidUtf8, 1);
                    }
                    text = TextKinds::ANSWER;
                }
                Frame::Text { .. } => {}
                Frame::Comment(comment) => {
                    if state.read_comment(comment) {
                        self.inference.iter_mut().for_each(Inference::note_comment);
                    }
                }
                Frame::Oversize => {
                    self.unread = true;
                    state.report.defects.add(Defect::Oversize);
                }
                // One web page has many such lines.
                Frame::Html => state.report.defects.set(Defect::HtmlInStream, 1),
            }
        }
        if state.needs_full_wasm {
            return;
        }
        if state.ended {
            self.end_marker_ms = or(self.end_marker_ms, self.last_byte_ms);
        }
        if ALL_DIALECTS && self.ends_by_event && state.dialect.is_none() {
            text = self.inference.iter_mut().fold(text, |all, it| all.and(it.decide_at_end()));
        }
        self.flow.observe(self.last_byte_ms, deltas, framing.is_inside_event());
        self.count_earlier(self.last_byte_ms);
        self.count(self.last_byte_ms, events, deltas, text);
    }

    /// Counts the content of one read, with one time for all of it.
    fn count(&mut self, now_ms: f64, events: f64, deltas: f64, text: TextKinds) {
        let report = &mut self.state.report;
        report.add(NumberField::Events, events);
        report.add(NumberField::Deltas, deltas);
        if events > 0.0 {
            report.set_first(NumberField::FirstEvent, now_ms);
        }
        if ALL_DIALECTS && events > 0.0 {
            let is_bare = self.framing.as_ref().is_some_and(Framing::has_bare_values);
            if is_bare && report.get(NumberField::Events) == 1.0 {
                self.whole_body = Some((now_ms, text));
                return;
            }
            self.go_on_after_value();
        }
        self.count_text(now_ms, text);
    }

    /// Decides whether the only value was a whole response. In a known format its end has to show.
    fn end_whole_body(&mut self) {
        let state = &mut self.state;
        let is_complete = state.finished || state.ended || state.dialect.is_none();
        match self.whole_body {
            Some((whole_ms, _)) if is_complete && !state.failed => {
                state.report.set(NumberField::LastToken, whole_ms);
            }
            _ => self.go_on_after_value(),
        }
    }

    /// Whether the body was one JSON value so far.
    fn is_whole(&self) -> bool {
        ALL_DIALECTS && self.whole_body.is_some()
    }

    /// Another value came, or began: the one before was part of a stream.
    fn go_on_after_value(&mut self) {
        if let Some((first_ms, text)) = self.whole_body.take() {
            self.count_text(first_ms, text);
        }
    }

    /// Sets the times of text.
    fn count_text(&mut self, now_ms: f64, text: TextKinds) {
        let report = &mut self.state.report;
        if text.is_visible() {
            report.set_first(NumberField::FirstVisible, now_ms);
        }
        if !text.any() {
            return;
        }
        report.set_first(NumberField::FirstToken, now_ms);
        let gap_ms = whole_micros(now_ms - report.get(NumberField::LastToken));
        report.set(NumberField::LastToken, now_ms);
        if gap_ms > 0.0 || (gap_ms == 0.0 && !self.goes_on) {
            report.gaps.record(gap_ms);
            report.set(NumberField::LongestGap, or(report.get(NumberField::LongestGap), 0.0).max(gap_ms));
            self.long_gaps.observe(gap_ms);
        }
    }

    /// Reads the unfinished event at the end of the stream. A last line of NDJSON needs no line end and is an event
    /// like any other. An unfinished SSE event is read but not counted, as by the standard it was never dispatched. A
    /// failed or cancelled read ends anywhere, so an unfinished event is no defect then.
    fn read_pending(&mut self, end: End) {
        let arrived_ms = self.last_byte_ms;
        if self.framing.is_none() && !self.start.is_empty() {
            self.framing = Some(Framing::named(self.content_type));
            self.read_start();
        }
        let Some(framing) = &mut self.framing else {
            return;
        };
        let lines = framing.ends_anywhere();
        let pending = framing.finish();
        self.unclosed = pending.unclosed;
        let mut text = pending.event.and_then(|event| self.state.read_pending(&event));
        if self.state.is_unknown()
            && let (Some(inference), Some(event), Some(brought)) =
                (self.inference.first_mut(), &pending.event, &mut text)
        {
            if lines {
                *brought = inference.read(event, arrived_ms);
            } else {
                inference.read_end(event);
            }
        }
        let unread = pending.bytes > 0 && !(lines && text.is_some());
        if self.state.ended {
            self.end_marker_ms = or(self.end_marker_ms, arrived_ms);
        }
        if let Some(text) = text.filter(|_| lines) {
            self.goes_on = true;
            self.count(arrived_ms, 1.0, f64::from(u8::from(text.any())), text);
        }
        if ALL_DIALECTS && unread {
            self.go_on_after_value();
        }
        if unread && end == End::Closed {
            self.state.report.defects.add(Defect::PendingAtEof);
        }
    }

    fn outcome(&self, dialect: Option<&str>) -> Outcome {
        if self.is_http_error() {
            return Outcome::HttpError;
        }
        if self.state.failed || self.inference.iter().any(|it| it.failed) {
            return Outcome::ProviderError;
        }
        let is_stopped =
            self.state.queue.iter().any(|it| it.stopped) || self.inference.iter().any(|it| it.stopped);
        if is_stopped {
            return Outcome::Aborted;
        }
        if self.state.ended || self.state.finished || self.inference.iter().any(Inference::says_end) {
            return Outcome::Complete;
        }
        match self.end {
            None | Some(End::PageGone) => Outcome::Abandoned,
            Some(End::Unseen) => Outcome::Unobserved,
            Some(End::Cancelled) => Outcome::Aborted,
            Some(End::TimedOut) => Outcome::Timeout,
            Some(End::Failed) => Outcome::NetworkError,
            Some(End::Closed) if self.needs_full_wasm() || self.unread => Outcome::Unobserved,
            Some(End::Closed) => match dialect {
                None => Outcome::Empty,
                Some(_) if !self.unclosed && self.state.ends_by_closing() => Outcome::Complete,
                _ => Outcome::Truncated,
            },
        }
    }

    /// The format, once any event or text has come.
    fn dialect(&self) -> Option<&'static str> {
        let has_events = self.state.report.get(NumberField::Events) > 0.0;
        match (self.state.dialect, &self.framing) {
            _ if self.needs_full_wasm() => None,
            (Some(dialect), _) => Some(dialect.name),
            (None, Some(Framing::PlainText(_))) if ALL_DIALECTS => Some(PLAIN_TEXT),
            (None, _) if self.state.is_custom() && has_events => Some(custom_format::NAME),
            (None, _) if self.inference.iter().any(|it| it.found) => Some(inference::NAME),
            (None, _) if self.inference.iter().any(Inference::is_tool_protocol) => Some(tool_protocol::NAME),
            (None, _) => has_events.then_some(GENERIC),
        }
    }

    /// Sets the defects that only the whole stream shows.
    fn update_defects(&mut self) {
        self.update_pace();
        let is_whole = self.is_whole();
        let state = &mut self.state;
        let report = &mut state.report;
        let contradicts = state.usage.contradicts_itself(state.server.output_tokens());
        report.defects.set(Defect::UsageMismatch, (contradicts && !state.several_answers).into());
        if let Some(dialect) = state.dialect {
            let unmarked = dialect.marks_end && state.finished && !state.ended;
            let unmarked = unmarked && self.end == Some(End::Closed) && !is_whole;
            report.defects.set(Defect::NoSentinel, unmarked.into());
            let unreasoned = dialect.gives_reason && state.ended && report.text(TextField::Reason).is_empty();
            report.defects.set(Defect::SentinelOnly, (unreasoned && !state.failed).into());
        }
    }

    /// Sets the defects of pace: silences, buffering, bundles.
    fn update_pace(&mut self) {
        let is_whole = self.is_whole();
        let state = &mut self.state;
        let report = &mut state.report;
        let median_ms = report.gaps.quantile(0.5).unwrap_or(0.0);
        let thought = or(state.usage.reasoning(), 0.0);
        // A whole response shows nothing of how its parts came.
        let hidden = !is_whole && thought > 0.0 && !state.text_kinds.has(TextKinds::REASONING);
        report.defects.set(Defect::HiddenReasoning, hidden.into());
        let silences = self.long_gaps.stalls(median_ms);
        // Where reasoning is not shown, a silence may be reasoning.
        let stalls = if hidden { 0 } else { silences };
        report.defects.set(Defect::Stall, stalls as u32);
        report.set(NumberField::Stalls, if stalls > 0 { stalls as f64 } else { ABSENT });
        let (first_ms, last_ms) = (report.get(NumberField::FirstToken), report.get(NumberField::LastToken));
        let deltas = report.get(NumberField::Deltas);
        // The model had reasoned before that, and no clock shows for how long.
        let server_ms = if hidden { 0.0 } else { state.server.generation_ms() };
        let buffered = self.flow.is_buffered(deltas, last_ms - first_ms, last_ms, server_ms);
        report.defects.set(Defect::Buffered, buffered.into());
        let shown = or(state.usage.output(), 0.0) - if hidden { thought } else { 0.0 };
        let (gaps, longest_ms) = (report.gaps.count(), report.get(NumberField::LongestGap));
        // Without a gap no time between tokens was seen. Reasoning in a silence may have been before the first token
        // or after it.
        let timed = shown >= 2.0 && gaps > 0 && silences == stalls && !state.several_answers;
        let tpot_ms = if timed { whole_micros((last_ms - first_ms) / (shown - 1.0)) } else { ABSENT };
        report.set(NumberField::TimePerToken, tpot_ms);
        let coarse = !buffered && is_coarse(shown, deltas, gaps, longest_ms, median_ms);
        report.defects.set(Defect::Coarse, coarse.into());
    }

    /// What the stream has brought so far.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let report = &self.state.report;
        Progress {
            first_token: report.has(NumberField::FirstToken),
            first_visible: report.has(NumberField::FirstVisible),
            ended: self.state.ended
                || self.state.failed
                || (ALL_DIALECTS && self.ends_by_event && self.is_answer_over()),
            needs_full_wasm: self.needs_full_wasm(),
        }
    }

    fn needs_full_wasm(&self) -> bool {
        !ALL_DIALECTS && (self.state.needs_full_wasm || matches!(self.framing, Some(Framing::NeedsFullWasm)))
    }

    fn is_http_error(&self) -> bool {
        self.state.report.get(NumberField::Status) >= 400.0
    }

    fn advance(&mut self, now: Timestamp) -> f64 {
        self.now_ms = now.since(self.request).max(self.now_ms);
        self.now_ms
    }

    /// Counts the silence that ends now if it was too long. It begins with the headers, before which there is no
    /// stream.
    fn end_silence(&mut self) {
        let since_ms = or(self.last_byte_ms, self.state.report.get(NumberField::Headers));
        if self.now_ms - since_ms > DEAD_AIR_MS {
            self.state.report.defects.add(Defect::DeadAir);
        }
    }
}

/// Before the id of a call, where the address of a response may be. No address begins like this.
const CALL: &[u8] = b"call:";
