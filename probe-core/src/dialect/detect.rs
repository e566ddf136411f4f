//! JSON or text that no dialect knows: its chunks have times, its end is how it closed, and of its
//! content only an error is understood. The same first look recognises the dialects.

use super::schema::Reading;
use crate::framing::Event;
use crate::json::{Json, Word};

/// The word in reports.
pub(crate) const NAME: &str = "generic";

/// The word in reports for a body that is text without events: all of it is answer.
pub(crate) const PLAIN_TEXT: &str = "plain_text";

/// What tells formats apart: name, type and top level of one event.
pub(super) struct FirstLook<'a> {
    /// The name that SSE gives the event.
    pub(super) name: &'a [u8],
    /// The type that the event gives itself.
    pub(super) kind: &'a [u8],
    /// It reports an error.
    pub(super) failed: bool,
    keys: [Word; MAX_KEYS],
}

impl<'a> FirstLook<'a> {
    /// Looks at one event. `None` if it is not JSON.
    pub(super) fn at(event: &Event<'a>) -> Option<Self> {
        let Reading { kind: name, .. } = Reading::of(event.name);
        let mut look = Self { name, kind: b"", failed: false, keys: [Word::default(); MAX_KEYS] };
        let mut json = Json::new(event.data);
        let mut keys = look.keys.iter_mut();
        let object = json.enter(b'{');
        if !object && !event.id.is_empty() {
            look.keys[0] = BARE;
            return json.finish().then_some(look);
        }
        while object && let Some(key) = json.key() {
            if KINDS.contains(&key) {
                let kind = json.string().unwrap_or_default();
                if key != EVENT || look.kind.is_empty() {
                    look.kind = kind;
                }
            } else if key == ERROR {
                look.failed |= json.is_something();
            } else if let Some(free) = keys.next() {
                *free = key;
            }
        }
        look.failed |= look.kind == b"error";
        json.finish().then_some(look)
    }

    /// Whether both keys are there.
    pub(super) fn has(&self, one: Word, other: Word) -> bool {
        self.keys.contains(&one) && self.keys.contains(&other)
    }
}

/// In place of a key: the event is no object, but SSE gives it an id.
pub(super) const BARE: Word = Word::of(b" ");

/// Keys that name the type of an event.
const KINDS: [Word; 4] = [Word::of(b"type"), Word::of(b"object"), Word::of(b"event_type"), EVENT];
/// It may be something else, where there is a type beside it.
const EVENT: Word = Word::of(b"event");
const ERROR: Word = Word::of(b"error");
/// Formats are told apart by their first keys; no event has many.
const MAX_KEYS: usize = 16;
