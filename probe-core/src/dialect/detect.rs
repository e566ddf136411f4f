//! JSON or text that no dialect knows: its chunks have times, its end is how it closed, and of its
//! content only an error is understood. The same first look recognises the dialects.

use super::encoded_table::EncodedDialect;
use super::event_values::EventValues;
use super::schema::{Act, BARE};
use crate::framing::Event;
use crate::json::{Json, Word};

/// The word in reports.
pub(crate) const NAME: &str = "generic";

/// The word in reports for a body that is text without events: all of it is answer.
pub(crate) const PLAIN_TEXT: &str = "plain_text";

/// What tells formats apart: name, type and top level of one event.
pub(super) struct EventOutline<'a> {
    /// The name that SSE gives the event.
    pub(super) name: &'a [u8],
    /// The type that the event gives itself.
    pub(super) event_type: &'a [u8],
    /// It reports an error.
    pub(super) failed: bool,
    keys: [Word; MAX_KEYS],
}

impl<'a> EventOutline<'a> {
    /// Looks at one event. `None` if it is not JSON.
    pub(super) fn of(event: &Event<'a>) -> Option<Self> {
        let EventValues { event_type: name, .. } = EventValues::of(event.name);
        let mut outline = Self { name, event_type: b"", failed: false, keys: [Word::default(); MAX_KEYS] };
        let mut json = Json::new(event.data);
        let mut keys = outline.keys.iter_mut();
        let object = json.enter(b'{');
        if !object && !event.id.is_empty() {
            outline.keys[0] = BARE;
            return json.finish().then_some(outline);
        }
        while object && let Some(key) = json.key() {
            if KINDS.contains(&key) {
                let kind = json.string().unwrap_or_default();
                if key != EVENT || outline.event_type.is_empty() {
                    outline.event_type = kind;
                }
            } else if key == ERROR {
                outline.failed |= json.is_something();
            } else if let Some(free) = keys.next() {
                *free = key;
            }
        }
        outline.failed |= outline.event_type == b"error";
        json.finish().then_some(outline)
    }

    /// Whether both keys are there.
    pub(super) fn has(&self, one: Word, other: Word) -> bool {
        self.keys.contains(&one) && self.keys.contains(&other)
    }
}

impl EncodedDialect {
    /// Whether an event that looks like this is of this format.
    pub(super) fn matches(&self, outline: &EventOutline) -> bool {
        let kind = if self.typed_by_name { outline.name } else { outline.event_type };
        let signed = || self.key_pairs.iter().any(|&(one, other)| outline.has(one, other));
        match Act::of(kind, self.event_types) {
            Some(act) => !act.has(Act::COMMON) || signed(),
            None => self.event_types.is_empty() && signed(),
        }
    }
}

/// Keys that name the type of an event.
const KINDS: [Word; 4] = [Word::of(b"type"), Word::of(b"object"), Word::of(b"event_type"), EVENT];
/// It may be something else, where there is a type beside it.
const EVENT: Word = Word::of(b"event");
const ERROR: Word = Word::of(b"error");
/// Formats are told apart by their first keys; no event has many.
const MAX_KEYS: usize = 16;
