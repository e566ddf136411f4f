//! The events of one stream come in, one after the other, and what it has said of itself so far goes out.

use std::mem;

use beacon::{Defect, NameShape};

use super::detect::FirstLook;
use super::schema::{Act, Number, Reading, Text, walk};
use super::table_reader::{self, KNOWN, Known, TIMINGS, Timing, USES, op};
use super::usage::Usage;
use crate::delta_template::{Layout, Repeated};
use crate::framing::Event;
use crate::integrity::{Message, Sequence};
use crate::json::{Json, Word, name};
use crate::report_builder::{Name, Tally};
use crate::server_timing::ServerClaims;

/// What a stream has said of itself so far.
#[derive(Clone)]
pub(crate) struct Facts {
    /// Filled in as the facts come: names and defects here, times by the meter. A provider is named
    /// only where the content proves it.
    pub(crate) tally: Tally,
    pub(crate) dialect: Option<&'static Known>,
    /// Every answer in the stream has its finish reason.
    pub(crate) finished: bool,
    /// The end marker came.
    pub(crate) ended: bool,
    /// The provider reported an error. Nothing that follows takes it back.
    pub(crate) failed: bool,
    /// Only a probe with every dialect can read it.
    pub(crate) beyond: bool,
    /// An end marker is to come, though not every answer of this format has one.
    owes_end: bool,
    /// The kinds of text that came so far.
    pub(crate) said: Text,
    /// One answer came after another, and the latest counts are of the last.
    pub(crate) again: bool,
    pub(crate) usage: Usage,
    pub(crate) server: ServerClaims,
    sequence: Sequence,
    message: Message,
    pub(super) layout: Layout,
    choices: Choices,
    /// Length of the text so far, where it comes whole each time.
    whole_bytes: usize,
    /// Events that were not JSON, before the dialect was known.
    unread: u32,
}

/// Which of several answers were seen, and which of them have finished; one bit each.
#[derive(Clone)]
struct Choices {
    seen: u64,
    finished: u64,
}

impl Facts {
    /// Of a stream that has said nothing.
    pub(crate) const NONE: Self = Self {
        tally: Tally::EMPTY,
        dialect: None,
        finished: false,
        ended: false,
        failed: false,
        beyond: false,
        owes_end: false,
        said: Text::NONE,
        again: false,
        usage: Usage::NONE,
        server: ServerClaims::NONE,
        sequence: Sequence::NEW,
        message: Message::NONE,
        layout: Layout::NONE,
        choices: Choices { seen: 0, finished: 0 },
        whole_bytes: 0,
        unread: 0,
    };

    /// Takes in one event.
    pub(crate) fn read(&mut self, event: &Event<'_>) -> Text {
        if let Some(Repeated { text, sequence }) = self.layout.repeated(event.name, event.data) {
            self.sequence.observe(sequence, &mut self.tally.defects);
            return text;
        }
        let valid = event.is_utf8();
        self.layout.begin();
        if !valid {
            self.tally.defects.add(Defect::InvalidUtf8);
        }
        let text = self.read_anew(event);
        self.said = self.said.and(text);
        let over = self.finished || self.ended || self.failed;
        if valid && text.any() && !over && self.message.is_settled() {
            self.layout.learn(event.name, event.data, text);
        }
        text
    }

    /// Reads the next event as if it were like no other.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn forget_layout(&mut self) {
        self.layout.begin();
    }

    /// What is known of the end, usage and server besides the report.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn judged(&self) -> impl std::fmt::Debug + '_ {
        (self.finished, self.ended, self.failed, &self.usage, &self.server, self.whole_bytes)
    }

    /// Takes in an event that is not like the one before.
    fn read_anew(&mut self, event: &Event<'_>) -> Text {
        self.failed |= event.name == b"error";
        let data = event.data.trim_ascii();
        if data.is_empty() {
            return Text::NONE;
        }
        if is_sentinel(data) {
            self.ended = true;
            return Text::NONE;
        }
        let Some(dialect) = self.dialect.or_else(|| self.recognise(event)) else {
            return Text::NONE;
        };
        let mut reading = Reading::of(event.name);
        if USES.named && dialect.named {
            reading.act = Act::of(reading.kind, dialect.kinds).unwrap_or_default();
            reading.whole = reading.act.has(Act::WHOLE);
        }
        let mut json = Json::new(event.data);
        reading.root(self, &mut json, dialect.shape);
        if !json.finish() {
            self.tally.defects.add(Defect::Malformed);
            return Text::NONE;
        }
        if USES.numbered && dialect.numbered == Some(event.name) {
            self.layout.veto();
            reading.number(Number::Sequence, event.id);
        }
        self.settle(dialect, &mut reading)
    }

    /// Takes in an SSE comment if it is ours: `llm-rum {"ttft_ms":85.2,…}`.
    pub(crate) fn read_comment(&mut self, comment: &[u8]) {
        if let Some(fields) = comment.trim_ascii().strip_prefix(b"llm-rum ") {
            // What is free in it would be taken for places in the last event.
            self.layout.begin();
            let (mut reading, mut json) = (Reading::default(), Json::new(fields));
            walk(self, &mut reading, &mut json, op::IN << op::ARGUMENT_BITS | table_reader::COMMENT.0);
            if json.finish() && reading.has_numbers() {
                self.server.settle_comment(&mut reading);
            }
        }
    }

    /// Takes in an event that the stream ended in, if it is whole: most SDKs read it, though the
    /// standard drops it. `None` where it is not whole.
    pub(crate) fn read_pending(&mut self, event: &Event<'_>) -> Option<Text> {
        let data = event.data.trim_ascii();
        let whole = is_sentinel(data) || Json::new(data).finish();
        whole.then(|| self.read(event))
    }

    fn recognise(&mut self, event: &Event<'_>) -> Option<&'static Known> {
        let Some(look) = FirstLook::at(event) else {
            // Where text comes bare, a bracket is a word of it.
            if self.unread == 0 && matches!(event.data.trim_ascii()[0], b'{' | b'[') {
                self.tally.defects.add(Defect::Malformed);
            } else {
                self.unread = self.unread.saturating_add(1);
            }
            return None;
        };
        self.failed |= look.failed;
        // Nothing ends with that, in whatever format.
        self.owes_end = look.kind == b"start";
        let dialect = KNOWN.iter().find(|dialect| dialect.knows(&look))?;
        if dialect.is_beyond() {
            self.beyond = true;
            return None;
        }
        let malformed = self.tally.defects.get(Defect::Malformed).saturating_add(self.unread);
        self.tally.defects.set(Defect::Malformed, malformed);
        self.tally.set_name(Name::Provider, dialect.provider.unwrap_or_default());
        self.dialect = Some(dialect);
        self.dialect
    }

    /// What the event means, now that it is read.
    fn settle(&mut self, dialect: &Known, event: &mut Reading) -> Text {
        let kind = if USES.named && dialect.named { None } else { Act::of(event.kind, dialect.kinds) };
        let act = event.act.and(kind.unwrap_or_default());
        self.failed |= act.has(Act::FAIL) || event.kind == b"error";
        if act.has(Act::BEGIN) {
            self.begin_answer(event.id);
        } else {
            self.repeat_id(event.id);
        }
        let mut reason = event.reason;
        if act.has(Act::NAMES_REASON) && reason.is_empty() {
            reason = event.last_word();
        }
        // Some writers say a second time that it has ended, by another word.
        let again = USES.named && dialect.named && self.ended;
        if !act.has(Act::MUTE) && !again {
            self.finish(reason);
        }
        self.finished |= act.has(Act::FINISH);
        self.owes_end |= act.has(Act::OWES_END);
        if act.has(Act::END) {
            self.ended = true;
            self.message.close();
        }
        self.sequence.observe(event.take_count(Number::Sequence), &mut self.tally.defects);
        if act.has(Act::WHOLE) {
            self.layout.veto();
        }
        let text = event.said.kinds(act, &mut self.whole_bytes);
        if let Some(timing) = dialect.clock.map(|at| &TIMINGS[usize::from(at)]) {
            self.settle_clock(timing, event);
            if USES.number(Number::Stamp) {
                self.server.settle_stamp(timing, event, text.any());
            }
        }
        text
    }

    /// One of several answers was read, with `text` or without.
    pub(super) fn settle_choice(&mut self, choice: &mut Reading, text: bool) {
        // The first, where it has no number.
        let bit = 1u64.checked_shl(choice.take_count(Number::Index) as u32).unwrap_or(0);
        self.choices.seen |= bit;
        if self.finish(mem::take(&mut choice.reason)) {
            self.choices.finished |= bit;
        } else if text && self.choices.finished & bit != 0 {
            // It goes on: a server that calls tools by itself answers again in the same stream, under another id.
            self.choices.finished &= !bit;
            self.reopen();
            self.message.close();
        }
        if self.choices.finished != 0 {
            self.finished = self.choices.finished == self.choices.seen;
        }
    }

    /// A server's own timing was read.
    pub(super) fn settle_clock(&mut self, timing: &Timing, said: &mut Reading) {
        // The user waited for the first answer.
        if !self.again && self.server.settle(timing, said) && timing.is_provider {
            self.tally.set_name(Name::Provider, timing.name);
        }
    }

    /// An answer begins with an event of its own. A second one while the first is open is spliced
    /// in; after its end it is one more, and the stream is open again.
    fn begin_answer(&mut self, id: &[u8]) {
        self.layout.veto();
        self.sequence.restart();
        if self.said.any() && self.message.is(id) {
            self.tally.defects.add(Defect::Replay);
        }
        self.reopen();
        self.see_id(id, 1);
    }

    /// Takes back that the answer has ended, and why.
    fn reopen(&mut self) {
        (self.ended, self.finished) = (false, false);
        self.again = self.said.any();
        self.tally.set_name(Name::Reason, "");
    }

    /// An id that every event repeats. Another one while the answer is open belongs to another
    /// answer, unless the server makes one up per event.
    fn repeat_id(&mut self, id: &[u8]) {
        self.see_id(id, if self.finished { u32::MAX } else { 2 });
    }

    fn see_id(&mut self, id: &[u8], settled: u32) {
        if id.is_empty() {
            return;
        }
        if self.tally.name(Name::Id).is_empty() {
            self.tally.set_name(Name::Id, name(id, NameShape::MODEL));
        }
        if self.message.observe(id, settled) {
            self.tally.defects.add(Defect::Spliced);
        }
    }

    /// What every dialect does with a finish reason. False if there is none.
    fn finish(&mut self, reason: &[u8]) -> bool {
        if reason.is_empty() {
            return false;
        }
        self.failed |= table_reader::FAILURES.find(Word::of(reason)).is_some();
        self.tally.set_name(Name::Reason, name(reason, NameShape::FINISH_REASON));
        self.finished |= !self.closes();
        true
    }

    /// Whether nothing marks the end but the end of the body.
    pub(crate) fn closes(&self) -> bool {
        let ends = self.dialect.is_none_or(|dialect| USES.ends_by_closing && dialect.ends_by_closing);
        ends && !self.owes_end
    }
}

/// The end marker that is not JSON. Some writers put more behind it.
fn is_sentinel(data: &[u8]) -> bool {
    data.starts_with(b"[DONE]")
}
