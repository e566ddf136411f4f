//! Reads the events of a stream one after the other: recognises the dialect, walks the JSON, and compares an event
//! with the one before where that is enough.

use beacon::Defect;

use super::app_queue::ALIVE;
use super::detect::EventOutline;
use super::encoded_table::{EncodedDialect, op};
use super::event_values::EventValues;
use super::schema::Act;
use super::stream_state::StreamState;
use super::table_reader::{COMMENT, ENCODED_DIALECTS, USED};
use super::walker::{root, walk};
use crate::build_variant::ALL_DIALECTS;
use crate::delta_template::RepeatedDelta;
use crate::event_numbers::Number;
use crate::framing::Event;
use crate::json::Json;
use crate::report_builder::TextField;
use crate::text_kinds::TextKinds;

impl StreamState {
    /// Reads one event.
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

    /// Makes the next event be parsed even if it matches the last one.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn forget_template(&mut self) {
        self.template.clear();
    }

    /// The state of end, usage and server, which the report does not have.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn debug_state(&self) -> impl std::fmt::Debug + '_ {
        (self.finished, self.ended, self.failed, &self.usage, &self.server, self.cumulative_bytes)
    }

    /// Parses an event that does not match the one before.
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
        if event.is_bare_error() {
            self.failed = true;
            return TextKinds::NONE;
        }
        if let [custom] = self.custom.as_mut_slice()
            && custom.is_some()
        {
            let values = custom.read(event);
            return self.apply_custom(&values);
        }
        let Some(dialect) = self.dialect.or_else(|| self.recognise(event)) else {
            // An error is understood in any format, and a start says nothing yet.
            self.needs_full_wasm |= !(ALL_DIALECTS || self.failed || self.end_expected);
            return TextKinds::NONE;
        };
        if ALL_DIALECTS && dialect.is_queue {
            return self.read_queue(event);
        }
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

    /// Reads an SSE comment if it is ours: `llm-rum {"ttft_ms":85.2,…}`. Whether it was.
    pub(crate) fn read_comment(&mut self, comment: &[u8]) -> bool {
        let mut is_ours = false;
        if let Some(fields) = comment.trim_ascii().strip_prefix(b"llm-rum ") {
            // The walk would add wildcards to the template of the last event.
            self.template.clear();
            let (mut values, mut json) = (EventValues::default(), Json::new(fields));
            walk(self, &mut values, &mut json, op::IN << op::ARGUMENT_BITS | COMMENT.0);
            is_ours = json.finish() && values.numbers.any();
            if is_ours {
                self.server.add_comment(&mut values.numbers);
                self.set_id(TextField::ServerId, values.id);
            }
        }
        is_ours
    }

    /// Reads an unfinished event at the end of the stream, if its data is whole: most SDKs read it, though the standard
    /// drops it. `None` if it is not whole.
    pub(crate) fn read_pending(&mut self, event: &Event<'_>) -> Option<TextKinds> {
        let data = event.data.trim_ascii();
        let whole = is_sentinel(data) || event.is_bare_error() || Json::new(data).finish();
        whole.then(|| self.read(event))
    }

    /// An event without JSON came before the dialect is known. After bare text, a bracket may be text as well.
    fn note_non_json(&mut self, event: &Event<'_>) {
        if self.non_json_events == 0 && matches!(event.data.trim_ascii()[0], b'{' | b'[') {
            self.report.defects.add(Defect::Malformed);
        } else {
            self.non_json_events = self.non_json_events.saturating_add(1);
        }
    }

    fn recognise(&mut self, event: &Event<'_>) -> Option<&'static EncodedDialect> {
        let Some(outline) = EventOutline::of(event) else {
            if ALL_DIALECTS && event.data.trim_ascii() == ALIVE && self.non_json_events == 0 {
                self.dialect = ENCODED_DIALECTS.iter().find(|dialect| dialect.is_queue);
            } else if ALL_DIALECTS {
                self.note_non_json(event);
            }
            return self.dialect;
        };
        self.failed |= outline.failed;
        // In no format does a stream end with this event.
        self.end_expected = outline.event_type == b"start";
        let dialect = ENCODED_DIALECTS.iter().find(|dialect| dialect.matches(&outline))?;
        if ALL_DIALECTS {
            let malformed = self.report.defects.get(Defect::Malformed).saturating_add(self.non_json_events);
            self.report.defects.set(Defect::Malformed, malformed);
        }
        self.report.set_text(TextField::Provider, dialect.provider.unwrap_or_default());
        self.dialect = Some(dialect);
        self.dialect
    }
}

/// The end marker that is not JSON. Some writers put more behind it.
fn is_sentinel(data: &[u8]) -> bool {
    data.starts_with(b"[DONE]")
}
