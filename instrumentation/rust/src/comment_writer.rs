//! Puts the comments with the server's time into one body of server-sent events, by the rules of
//! `instrumentation/contract.json`.

use std::fmt::Write;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::event_kind::{Kind, kind_of};
use crate::event_splitter::{Event, EventSplitter};
use crate::marks::Marks;
use crate::stream_end::{Marked, whole_microseconds};

#[derive(Debug)]
pub(crate) struct CommentWriter {
    events: EventSplitter,
    state: State,
    /// Waits for the next byte: the rest of a line end may come.
    late: Option<String>,
}

#[derive(Debug)]
struct State {
    marks: Marks,
    /// Until a comment has had it.
    id: Option<String>,
    /// Marked values of the comments so far.
    written: Marked,
    /// Times since the request arrived. `None` before the event.
    first_text: Option<Duration>,
    /// Of the last event with text, from the second one on.
    last_text: Option<Duration>,
    /// After the end event.
    is_done: bool,
}

impl CommentWriter {
    /// What the app marks until a comment is written is in that comment, and `id` is in the first one.
    pub(crate) fn new(marks: Marks, id: Option<String>) -> Self {
        let (first_text, last_text) = (None, None);
        let state = State { marks, id, written: Marked::default(), first_text, last_text, is_done: false };
        Self { events: EventSplitter::new(), state, late: None }
    }

    /// Time to first token, and the time from there to the last one, so far.
    pub(crate) fn times(&self) -> (Option<Duration>, Option<Duration>) {
        let State { first_text, last_text, .. } = self.state;
        (first_text, first_text.zip(last_text).map(|(first, last)| last.saturating_sub(first)))
    }

    /// The chunk with the comments that belong there. `None` if there are none.
    pub(crate) fn feed(&mut self, chunk: &[u8], since_arrival: Duration) -> Option<Bytes> {
        let Self { events, state, late } = self;
        let first = *chunk.first()?;
        let mut commented = Commented { chunk, done: 0, bytes: BytesMut::new() };
        if let Some(comment) = late.take() {
            commented.insert(&comment, usize::from(first == b'\n'));
        }
        if !state.is_done {
            events.feed(chunk, |event| {
                let Some(comment) = state.comment_of(event, since_arrival) else { return };
                if let Some(start) = event.start {
                    commented.insert(&comment, start);
                } else if event.end == chunk.len() && chunk.last() == Some(&b'\r') {
                    *late = Some(comment);
                } else {
                    commented.insert(&comment, event.end);
                }
            });
        }
        commented.finish()
    }

    /// What follows the last chunk of a body that has ended well.
    pub(crate) fn end(&mut self) -> Option<Bytes> {
        let late = self.late.take();
        let is_possible = !self.state.is_done && !self.events.is_open();
        let last =
            is_possible.then(|| self.state.second_comment(self.events.has_ids(), self.events.line_end()));
        self.state.is_done = true;
        let comments: String = [late, last.flatten()].into_iter().flatten().collect();
        (!comments.is_empty()).then(|| comments.into())
    }
}

impl State {
    fn comment_of(&mut self, event: &Event<'_>, now: Duration) -> Option<String> {
        if self.is_done {
            return None;
        }
        match kind_of(event) {
            Kind::End => {
                self.is_done = true;
                self.second_comment(event.has_ids, event.line_end)
            }
            Kind::Text if self.first_text.is_some() => {
                self.last_text = Some(now);
                None
            }
            Kind::Text => {
                self.first_text = Some(now);
                self.comment(Some(("ttft_ms", now)), event.has_ids, event.line_end)
            }
            Kind::Other => None,
        }
    }

    fn second_comment(&mut self, has_ids: bool, line_end: &str) -> Option<String> {
        let time = self.first_text.zip(self.last_text);
        let time = time.map(|(first, last)| ("generation_ms", last.saturating_sub(first)));
        self.comment(time, has_ids, line_end)
    }

    /// The comment with `time` and new marks. `None` if it would be empty.
    fn comment(
        &mut self,
        time: Option<(&'static str, Duration)>,
        has_ids: bool,
        line_end: &str,
    ) -> Option<String> {
        let time_ms = time.map(|(name, time)| (name, whole_microseconds(time.as_secs_f64() * 1e3)));
        let marked = self.marks.get();
        let queue_ms = marked.queue_ms.filter(|_| marked.queue_ms != self.written.queue_ms);
        let tokens = marked.output_tokens.filter(|_| marked.output_tokens != self.written.output_tokens);
        self.written = marked;
        let mut fields = String::new();
        if let Some((name, ms)) = time_ms {
            write!(fields, ",\"{name}\":{ms}").ok()?;
        }
        if let Some(id) = self.id.take() {
            write!(fields, ",\"id\":\"{id}\"").ok()?;
        }
        if let Some(ms) = queue_ms {
            write!(fields, ",\"queue_ms\":{ms}").ok()?;
        }
        if let Some(tokens) = tokens {
            write!(fields, ",\"output_tokens\":{tokens}").ok()?;
        }
        // Some clients take an empty line after an `id:` line for an event without data, and fail.
        let empty_line = if has_ids { "" } else { line_end };
        fields.strip_prefix(',').map(|fields| format!(": llm-rum {{{fields}}}{line_end}{empty_line}"))
    }
}

/// A chunk with comments.
struct Commented<'a> {
    chunk: &'a [u8],
    /// How much of the chunk is in `bytes`.
    done: usize,
    /// Empty without comments.
    bytes: BytesMut,
}

impl Commented<'_> {
    fn insert(&mut self, comment: &str, at: usize) {
        self.bytes.extend_from_slice(&self.chunk[self.done..at]);
        self.bytes.extend_from_slice(comment.as_bytes());
        self.done = at;
    }

    fn finish(mut self) -> Option<Bytes> {
        if self.bytes.is_empty() {
            return None;
        }
        self.bytes.extend_from_slice(&self.chunk[self.done..]);
        Some(self.bytes.freeze())
    }
}
