//! Reads the events of a stream one after the other: recognises the dialect, walks the JSON, and compares an event
//! with the one before where that is enough.

use beacon::Defect;

use super::detect::EventOutline;
use super::encoded_table::{EncodedDialect, op};
use super::event_values::EventValues;
use super::schema::Act;
use super::stream_state::StreamState;
use super::table_reader::{COMMENT, ENCODED_DIALECTS, USED};
use super::walker::{root, walk};
use crate::delta_template::RepeatedDelta;
use crate::event_numbers::Number;
use crate::framing::Event;
use crate::json::Json;
use crate::report_builder::TextField;
use crate::text_kinds::TextKinds;

impl StreamState {
    /// Takes in one event.
    pub(crate) fn read(&mut self, event: &Event<'_>) -> TextKinds {
        if let Some(RepeatedDelta { text, sequence }) = self.template.match_event(event.name, event.data) {
            self.sequence.observe(sequence, &mut self.report.defects);
            return text;
        }
        let valid = event.is_utf8();
        self.template.clear();
        if !valid {
            self.report.defects.add(Defect::InvalidUtf8);
        }
        let text = self.read_anew(event);
        self.text_kinds = self.text_kinds.and(text);
        let over = self.finished || self.ended || self.failed;
        if valid && text.any() && !over && self.message.is_settled() {
            self.template.store(event.name, event.data, text);
        }
        text
    }

    /// Reads the next event as if it were like no other.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn forget_template(&mut self) {
        self.template.clear();
    }

    /// What is known of the end, usage and server besides the report.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn debug_state(&self) -> impl std::fmt::Debug + '_ {
        (self.finished, self.ended, self.failed, &self.usage, &self.server, self.cumulative_bytes)
    }

    /// Takes in an event that is not like the one before.
    fn read_anew(&mut self, event: &Event<'_>) -> TextKinds {
        self.failed |= event.name == b"error";
        let data = event.data.trim_ascii();
        if data.is_empty() {
            return TextKinds::NONE;
        }
        if is_sentinel(data) {
            self.ended = true;
            return TextKinds::NONE;
        }
        let Some(dialect) = self.dialect.or_else(|| self.recognise(event)) else {
            return TextKinds::NONE;
        };
        let mut values = EventValues::of(event.name);
        if USED.typed_by_name && dialect.typed_by_name {
            values.act = Act::of(values.event_type, dialect.event_types).unwrap_or_default();
            values.cumulative = values.act.has(Act::CUMULATIVE);
        }
        let mut json = Json::new(event.data);
        root(self, &mut values, &mut json, dialect.schema);
        if !json.finish() {
            self.report.defects.add(Defect::Malformed);
            return TextKinds::NONE;
        }
        if USED.numbered_events && dialect.numbered_events == Some(event.name) {
            self.template.reject();
            values.number(Number::Sequence, event.id);
        }
        self.apply_event(dialect, &mut values)
    }

    /// Takes in an SSE comment if it is ours: `llm-rum {"ttft_ms":85.2,…}`.
    pub(crate) fn read_comment(&mut self, comment: &[u8]) {
        if let Some(fields) = comment.trim_ascii().strip_prefix(b"llm-rum ") {
            // What is free in it would be taken for places in the last event.
            self.template.clear();
            let (mut values, mut json) = (EventValues::default(), Json::new(fields));
            walk(self, &mut values, &mut json, op::IN << op::ARGUMENT_BITS | COMMENT.0);
            if json.finish() && values.numbers.any() {
                self.server.add_comment(&mut values.numbers);
            }
        }
    }

    /// Takes in an event that the stream ended in, if it is whole: most SDKs read it, though the
    /// standard drops it. `None` where it is not whole.
    pub(crate) fn read_pending(&mut self, event: &Event<'_>) -> Option<TextKinds> {
        let data = event.data.trim_ascii();
        let whole = is_sentinel(data) || Json::new(data).finish();
        whole.then(|| self.read(event))
    }

    fn recognise(&mut self, event: &Event<'_>) -> Option<&'static EncodedDialect> {
        let Some(outline) = EventOutline::of(event) else {
            // Where text comes bare, a bracket is a word of it.
            if self.non_json_events == 0 && matches!(event.data.trim_ascii()[0], b'{' | b'[') {
                self.report.defects.add(Defect::Malformed);
            } else {
                self.non_json_events = self.non_json_events.saturating_add(1);
            }
            return None;
        };
        self.failed |= outline.failed;
        // Nothing ends with that, in whatever format.
        self.end_expected = outline.event_type == b"start";
        let dialect = ENCODED_DIALECTS.iter().find(|dialect| dialect.matches(&outline))?;
        if dialect.needs_full_wasm() {
            self.needs_full_wasm = true;
            return None;
        }
        let malformed = self.report.defects.get(Defect::Malformed).saturating_add(self.non_json_events);
        self.report.defects.set(Defect::Malformed, malformed);
        self.report.set_text(TextField::Provider, dialect.provider.unwrap_or_default());
        self.dialect = Some(dialect);
        self.dialect
    }
}

/// The end marker that is not JSON. Some writers put more behind it.
fn is_sentinel(data: &[u8]) -> bool {
    data.starts_with(b"[DONE]")
}
