//! The values of one event that only together mean something, such as a text and the key that says that it is reasoning.

use std::mem;

use super::schema::Act;
use crate::event_numbers::{EventNumbers, Number};
use crate::json::{Json, written_bytes};
use crate::text_kinds::TextKinds;

/// Generated text, without the text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GeneratedText {
    kinds: TextKinds,
    /// Its length as JSON writes it, with escapes.
    pub(super) bytes: usize,
}

impl GeneratedText {
    pub(super) fn and(self, other: Self) -> Self {
        Self { kinds: self.kinds.and(other.kinds), bytes: self.bytes + other.bytes }
    }

    /// The part of it that counts in an object that means `act`.
    pub(super) fn within(self, act: Act) -> Self {
        let muted = act.has(Act::MUTE) || !self.kinds.any();
        match act.has(Act::THOUGHT) {
            _ if muted => Self::default(),
            true => Self { kinds: TextKinds::REASONING, ..self },
            false => self,
        }
    }

    /// The kinds, if the event's type means `act`. Where the text comes whole each time, `cumulative_bytes` is its
    /// length before: with another length, text was generated.
    pub(super) fn kinds(self, act: Act, cumulative_bytes: &mut usize) -> TextKinds {
        let Self { kinds, bytes } = self.within(act);
        if act.has(Act::CUMULATIVE) && bytes > 0 && mem::replace(cumulative_bytes, bytes) == bytes {
            return TextKinds::NONE;
        }
        let by_type = if kinds.has(TextKinds::BY_TYPE) { act.bits() as u8 } else { 0 };
        TextKinds::from_bits((kinds.bits() | by_type) & (TextKinds::BY_TYPE.bits() - 1))
    }
}

/// The values of one event so far that mean something only together.
pub(crate) struct EventValues<'a> {
    pub(super) text: GeneratedText,
    pub(super) act: Act,
    pub(super) event_type: &'a [u8],
    pub(super) id: &'a [u8],
    pub(super) reason: &'a [u8],
    /// Counts and text come whole each time, including those of earlier events.
    pub(super) cumulative: bool,
    /// The event itself, if it is a string and not an object.
    pub(super) bare_string: &'a [u8],
    pub(crate) numbers: EventNumbers,
}

impl Default for EventValues<'_> {
    fn default() -> Self {
        Self {
            text: GeneratedText::default(),
            act: Act::default(),
            event_type: b"",
            id: b"",
            reason: b"",
            cumulative: false,
            bare_string: b"",
            numbers: EventNumbers::NONE,
        }
    }
}

impl<'a> EventValues<'a> {
    /// Begins with the name of the SSE event as its type. After a bar in the name, LangGraph writes the part of its
    /// graph that sent the event.
    pub(super) fn of(name: &'a [u8]) -> Self {
        let event_type = name.split(|&byte| byte == b'|').next().unwrap_or_default();
        Self { event_type, ..Self::default() }
    }

    /// The reason why the answer ended: the event itself, or the last word of its type.
    pub(super) fn last_word(&self) -> &'a [u8] {
        let words = if self.bare_string.is_empty() { self.event_type } else { self.bare_string };
        words.rsplit(|&byte| byte == b'.').next().unwrap_or_default()
    }

    /// Adds a number that is outside of the JSON.
    pub(super) fn number(&mut self, number: Number, text: &[u8]) {
        self.numbers.set(number as usize, Json::new(text).number());
    }

    pub(super) fn add(&mut self, kinds: TextKinds, text: Option<&[u8]>) {
        let bytes = text.map_or(0, written_bytes);
        if bytes > 0 {
            self.text = self.text.and(GeneratedText { kinds, bytes });
        }
    }
}
