//! The values of one event that mean something only together.

use std::mem;

use super::schema::Act;
use crate::event_numbers::{EventNumbers, Number};
use crate::json::{Json, written_bytes};
use crate::text_kinds::TextKinds;

/// Generated text, without the text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GeneratedText {
    kinds: TextKinds,
    /// As it is written, escapes and all.
    pub(super) bytes: usize,
}

impl GeneratedText {
    pub(super) fn and(self, other: Self) -> Self {
        Self { kinds: self.kinds.and(other.kinds), bytes: self.bytes + other.bytes }
    }

    /// What is left of it in an object that means `act`.
    pub(super) fn within(self, act: Act) -> Self {
        let muted = act.has(Act::MUTE) || !self.kinds.any();
        match act.has(Act::THOUGHT) {
            _ if muted => Self::default(),
            true => Self { kinds: TextKinds::REASONING, ..self },
            false => self,
        }
    }

    /// The kinds, when the event's type means `act`. `cumulative_bytes` is what was there before of text
    /// that comes whole each time: shorter or longer, it was generated anew.
    pub(super) fn kinds(self, act: Act, cumulative_bytes: &mut usize) -> TextKinds {
        let Self { kinds, bytes } = self.within(act);
        if act.has(Act::CUMULATIVE) && bytes > 0 && mem::replace(cumulative_bytes, bytes) == bytes {
            return TextKinds::NONE;
        }
        let by_type = if kinds.has(TextKinds::BY_TYPE) { act.bits() as u8 } else { 0 };
        TextKinds::from_bits((kinds.bits() | by_type) & (TextKinds::BY_TYPE.bits() - 1))
    }
}

/// What one event has said so far that means nothing by itself.
pub(crate) struct EventValues<'a> {
    pub(super) text: GeneratedText,
    pub(super) act: Act,
    pub(super) event_type: &'a [u8],
    pub(super) id: &'a [u8],
    pub(super) reason: &'a [u8],
    /// Counts and text come whole each time, with what came before.
    pub(super) cumulative: bool,
    /// What the event is, if it is a string and no object.
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
    /// Nothing but the name that SSE gives the event. Behind a bar in it stands which part of the
    /// server's graph sent it.
    pub(super) fn of(name: &'a [u8]) -> Self {
        let event_type = name.split(|&byte| byte == b'|').next().unwrap_or_default();
        Self { event_type, ..Self::default() }
    }

    /// The word that says why the answer ended: the event itself, or the last of its type.
    pub(super) fn last_word(&self) -> &'a [u8] {
        let words = if self.bare_string.is_empty() { self.event_type } else { self.bare_string };
        words.rsplit(|&byte| byte == b'.').next().unwrap_or_default()
    }

    /// Takes a number from where it stands by itself.
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
