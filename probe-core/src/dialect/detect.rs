//! Recognises the dialect of a stream by the outline of an event.

use super::encoded_table::EncodedDialect;
use super::event_values::EventValues;
use super::schema::{Act, BARE, LIST};
use super::table_reader::USED;
use crate::build_variant::ALL_DIALECTS;
use crate::framing::Event;
use crate::json::{Json, Word};

/// The name in reports of JSON that no dialect knows: of its content only an error is understood.
pub(crate) const NAME: &str = "generic";

/// The name in reports of a body that is text without events: all of it is answer.
pub(crate) const PLAIN_TEXT: &str = "plain_text";

/// What distinguishes formats: name, type and top-level keys of one event.
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
    /// Reads the outline of an event. `None` if it is not JSON.
    pub(super) fn of(event: &Event<'a>) -> Option<Self> {
        let EventValues { event_type: name, .. } = EventValues::of(event.name);
        let mut outline = Self { name, event_type: b"", failed: false, keys: [Word::default(); MAX_KEYS] };
        let mut json = Json::new(event.data);
        let mut keys = outline.keys.iter_mut();
        let list = json.is_array();
        let object = json.enter(b'{');
        if ALL_DIALECTS && !object && !event.id.is_empty() {
            outline.keys[0] = BARE;
            return json.finish().then_some(outline);
        }
        if ALL_DIALECTS && list {
            outline.keys[0] = LIST;
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

    /// Whether the event has both keys.
    pub(super) fn has(&self, one: Word, other: Word) -> bool {
        self.keys.contains(&one) && self.keys.contains(&other)
    }
}

impl EncodedDialect {
    /// Whether an event with this outline is of this format.
    pub(super) fn matches(&self, outline: &EventOutline) -> bool {
        let kind = if USED.typed_by_name && self.typed_by_name { outline.name } else { outline.event_type };
        let signed = || self.key_pairs.iter().any(|&(one, other)| outline.has(one, other));
        match Act::of(kind, self.event_types) {
            Some(act) => !act.has(Act::COMMON) || signed(),
            None => self.event_types.is_empty() && signed(),
        }
    }
}

/// Keys that name the type of an event.
const KINDS: [Word; 4] = [Word::of(b"type"), Word::of(b"object"), Word::of(b"event_type"), EVENT];
/// Not the type if there is another of these keys.
const EVENT: Word = Word::of(b"event");
const ERROR: Word = Word::of(b"error");
/// The first keys distinguish formats, and no event has many.
const MAX_KEYS: usize = 16;
