//! What the events of one stream have shown so far: its dialect, its end, its counts and defects.

use std::mem;

use beacon::{Defect, NameShape};

use super::app_queue::{AppQueue, OptionalQueue};
use super::encoded_table::{EncodedDialect, EncodedTiming};
use super::event_values::EventValues;
use super::schema::Act;
use super::table_reader::{FAILURES, TIMINGS, USED};
use super::usage::Usage;
use crate::build_variant::ALL_DIALECTS;
use crate::custom_format::{CustomFormat, CustomValues, OptionalFormat};
use crate::delta_template::DeltaTemplate;
use crate::event_numbers::Number;
use crate::integrity::{Message, Sequence};
use crate::json::{Word, name};
use crate::report_builder::{ReportBuilder, TextField};
use crate::server_timing::ServerClaims;
use crate::text_kinds::TextKinds;

/// What the events of a stream have shown so far.
#[derive(Clone)]
pub(crate) struct StreamState {
    /// Texts and defects are set here, times by the meter. The provider is set only if the content proves it.
    pub(crate) report: ReportBuilder,
    pub(crate) dialect: Option<&'static EncodedDialect>,
    /// The format that the app describes, if it does. Then no dialect is recognised.
    pub(super) custom: OptionalFormat,
    /// Every answer in the stream has its finish reason.
    pub(crate) finished: bool,
    /// The end marker came.
    pub(crate) ended: bool,
    /// The provider reported an error. No later event revokes it.
    pub(crate) failed: bool,
    /// Only the full Wasm can read it.
    pub(crate) needs_full_wasm: bool,
    /// An end marker will come, though not every answer of this format has one.
    pub(super) end_expected: bool,
    /// The kinds of text that came so far.
    pub(crate) text_kinds: TextKinds,
    /// Several answers came one after the other, and the latest counts are the last one's.
    pub(crate) several_answers: bool,
    pub(crate) usage: Usage,
    pub(crate) server: ServerClaims,
    pub(super) sequence: Sequence,
    pub(super) message: Message,
    pub(super) template: DeltaTemplate,
    choices: Choices,
    /// The length of the text so far, if it comes whole each time.
    pub(super) cumulative_bytes: usize,
    /// Events that were not JSON, before the dialect was known.
    pub(super) non_json_events: u32,
    /// The calls of a Gradio app.
    pub(crate) queue: OptionalQueue,
}

/// The choices that were seen, and those that have finished; one bit each.
#[derive(Clone)]
struct Choices {
    seen: u64,
    finished: u64,
}

impl StreamState {
    /// For a stream without events.
    pub(crate) const NONE: Self = Self {
        report: ReportBuilder::EMPTY,
        dialect: None,
        custom: [CustomFormat::NONE; _],
        finished: false,
        ended: false,
        failed: false,
        needs_full_wasm: false,
        end_expected: false,
        text_kinds: TextKinds::NONE,
        several_answers: false,
        usage: Usage::NONE,
        server: ServerClaims::NONE,
        sequence: Sequence::NEW,
        message: Message::NONE,
        template: DeltaTemplate::NONE,
        choices: Choices { seen: 0, finished: 0 },
        cumulative_bytes: 0,
        non_json_events: 0,
        queue: [AppQueue::NONE; _],
    };

    /// The app describes formats: the address of the response and, on the next line, descriptions.
    pub(crate) fn set_formats(&mut self, text: &[u8]) {
        self.needs_full_wasm |= !ALL_DIALECTS;
        for custom in &mut self.custom {
            *custom = CustomFormat::of(text);
            self.end_expected = custom.has_end();
        }
    }

    /// Whether the app describes the format.
    pub(crate) fn is_custom(&self) -> bool {
        self.custom.iter().any(CustomFormat::is_some)
    }

    /// Whether neither a dialect nor the app says what the events mean.
    pub(crate) fn is_unknown(&self) -> bool {
        self.dialect.is_none() && !self.is_custom()
    }

    /// Applies an event of the format that the app describes.
    pub(super) fn apply_custom(&mut self, values: &CustomValues<'_>) -> TextKinds {
        self.template.reject();
        if values.malformed {
            self.report.defects.add(Defect::Malformed);
        }
        // Text after the end revokes it.
        self.ended &= !values.text.any();
        self.ended |= values.ended;
        self.failed |= values.failed;
        self.usage.set(values.tokens);
        if !values.id.is_empty() {
            self.set_id(TextField::Id, values.id);
        }
        values.text
    }

    /// Applies an event that was walked.
    pub(super) fn apply_event(&mut self, dialect: &EncodedDialect, event: &mut EventValues) -> TextKinds {
        let kind = if USED.typed_by_name && dialect.typed_by_name {
            None
        } else {
            Act::of(event.event_type, dialect.event_types)
        };
        let act = event.act.and(kind.unwrap_or_default());
        self.failed |= act.has(Act::FAIL) || event.event_type == b"error";
        if act.has(Act::BEGIN) {
            self.begin_answer(event.id);
        } else {
            self.repeat_id(event.id);
        }
        let mut reason = event.reason;
        if act.has(Act::NAMES_REASON) && reason.is_empty() {
            reason = event.last_word();
        }
        // Some servers send a second end with another reason.
        let again = USED.typed_by_name && dialect.typed_by_name && self.ended;
        if !act.has(Act::MUTE) && !again {
            self.finish(reason);
        }
        self.finished |= act.has(Act::FINISH);
        self.end_expected |= act.has(Act::OWES_END);
        if act.has(Act::END) {
            self.ended = true;
            self.message.close();
        }
        self.sequence.observe(event.numbers.take_count(Number::Sequence), &mut self.report.defects);
        if act.has(Act::CUMULATIVE) {
            self.template.reject();
        }
        let text = event.text.kinds(act, &mut self.cumulative_bytes);
        if let Some(timing) = dialect.timing.and_then(|at| TIMINGS.get(usize::from(at))) {
            self.apply_timing(timing, event);
            if USED.number(Number::Stamp) {
                self.server.add_timestamp(timing, &mut event.numbers, text.any());
            }
        }
        text
    }

    /// Applies a choice that was walked. `text`: it has generated text.
    pub(super) fn apply_choice(&mut self, choice: &mut EventValues, text: bool) {
        // Without a number it is the first.
        let bit = 1u64.checked_shl(choice.numbers.take_count(Number::Index) as u32).unwrap_or(0);
        self.choices.seen |= bit;
        if self.finish(mem::take(&mut choice.reason)) {
            self.choices.finished |= bit;
        } else if text && self.choices.finished & bit != 0 {
            // It goes on: a server that calls tools itself answers again in the same stream, with another id.
            self.choices.finished &= !bit;
            self.reopen();
            self.message.close();
        }
        if self.choices.finished != 0 {
            self.finished = self.choices.finished == self.choices.seen;
        }
    }

    /// Applies a server's own timing that was walked.
    pub(super) fn apply_timing(&mut self, timing: &EncodedTiming, values: &mut EventValues) {
        // The user waited for the first answer.
        if !self.several_answers
            && self.server.add_engine_timing(timing, &mut values.numbers)
            && timing.is_provider
        {
            self.report.set_text(TextField::Provider, timing.name);
        }
    }

    /// An answer begins with an event of its own. A second begin while the first answer is open is a spliced message.
    /// After the end it is one more answer, and the stream is open again.
    fn begin_answer(&mut self, id: &[u8]) {
        self.template.reject();
        self.sequence.restart();
        if self.text_kinds.any() && self.message.is(id) {
            self.report.defects.add(Defect::Replay);
        }
        self.reopen();
        self.observe_id(id, 1);
    }

    /// Revokes the end of the answer and its reason.
    pub(super) fn reopen(&mut self) {
        (self.ended, self.finished) = (false, false);
        self.several_answers = self.text_kinds.any();
        self.report.set_text(TextField::Reason, "");
    }

    /// An id that every event repeats. Another id while the answer is open belongs to another answer, unless the server
    /// makes up an id per event.
    fn repeat_id(&mut self, id: &[u8]) {
        self.observe_id(id, if self.finished { u32::MAX } else { 2 });
    }

    fn observe_id(&mut self, id: &[u8], settled: u32) {
        if id.is_empty() {
            return;
        }
        self.set_id(TextField::Id, id);
        if self.message.observe(id, settled) {
            self.report.defects.add(Defect::Spliced);
        }
    }

    /// Sets an id that is absent so far.
    pub(super) fn set_id(&mut self, field: TextField, id: &[u8]) {
        if self.report.text(field).is_empty() {
            self.report.set_text(field, name(id, NameShape::MODEL));
        }
    }

    /// Applies a finish reason, the same way in every dialect. False if there is none.
    fn finish(&mut self, reason: &[u8]) -> bool {
        if reason.is_empty() {
            return false;
        }
        self.failed |= FAILURES.find(Word::of(reason)).is_some();
        self.report.set_text(TextField::Reason, name(reason, NameShape::FINISH_REASON));
        self.finished |= !self.ends_by_closing();
        true
    }

    /// Whether only the end of the body marks the end.
    pub(crate) fn ends_by_closing(&self) -> bool {
        let ends = self.dialect.is_none_or(|dialect| USED.ends_by_closing && dialect.ends_by_closing);
        ends && !self.end_expected
    }
}
