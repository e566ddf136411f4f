//! The language of the dialects: tables say which values of an event's JSON to take, and what event types mean. One
//! walk over the JSON serves all tables, so another dialect adds little more than its table to the download.

use beacon::ServerStart;

use crate::event_numbers::Number;
use crate::json::Word;
use crate::server_timing::{TimingFormat, Unit};
use crate::text_kinds::TextKinds;

/// Writes a table: words of the wire with their meanings.
macro_rules! table {
    ($($word:literal => $meaning:expr),* $(,)?) => {
        &[$(($crate::json::Word::of($word.as_bytes()), $meaning)),*]
    };
}
pub(crate) use table;

/// Words of the wire with their meanings.
pub(crate) type Table<T> = [(Word, T)];

/// The keys of an object with what to take from each. A list of such objects is read like each of them.
pub(crate) type Schema = Table<Take>;

/// An engine's own timing. The schema is empty if the event itself has the numbers.
pub(crate) type EngineTiming = TimingFormat<&'static Schema>;

impl EngineTiming {
    /// The defaults.
    pub(crate) const PLAIN: Self = Self {
        name: "",
        is_provider: true,
        starts_from: ServerStart::Arrival,
        unit: Unit::Millisecond,
        needs: Number::Prompt,
        schema: &[],
    };
}

/// What to do with a value.
pub(crate) enum Take {
    /// Generated text of this kind, if it is a string that is not empty.
    Text(TextKinds),
    /// An answer, or an object or list to look into.
    AnswerOrIn(&'static Schema),
    /// Generated content of this kind that is not a string.
    Content(TextKinds),
    /// Look into it.
    In(&'static Schema),
    /// A choice among several answers, each with its own end: look into it.
    Choice(&'static Schema),
    /// The server's own timing: look into it.
    Timing(&'static EngineTiming),
    /// A token count. A later one replaces it.
    Tokens(Tokens),
    /// A token count to add to those before, unless counts come whole each time.
    MoreTokens(Tokens),
    /// Any other number of zero or more.
    Number(Number),
    /// Name of the model.
    Model,
    /// Id of the answer.
    Id,
    /// Type of the event.
    EventType,
    /// The finish reason.
    Reason,
    /// Means this, unless it is `null`, `false` or an empty string.
    If(Act),
    /// Means this, if it is a string.
    IfString(Act),
    /// A word with one of these meanings.
    Word(&'static Table<Act>),
    /// Its presence proves the provider, which is the one of this timing.
    ProvesProvider(&'static EngineTiming),
}

/// The tokens that a count is of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tokens {
    Input,
    Output,
    Total,
    Reasoning,
    /// Reasoning that is not part of the output.
    ReasoningBeside,
    Cached,
}

/// The meaning of an event type, or of a word in an event. [`Act::and`] joins several.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Act(u16);

impl Act {
    /// The event is of this format, and means nothing else.
    pub(super) const NOTHING: Self = Self(0);
    /// An answer begins.
    pub(super) const BEGIN: Self = Self(1 << 5);
    /// The answer ends here.
    pub(super) const END: Self = Self(1 << 6);
    /// The answer is complete; the end marker follows.
    pub(super) const FINISH: Self = Self(1 << 7);
    /// The provider reports an error.
    pub(super) const FAIL: Self = Self(1 << 8);
    /// If the event has no finish reason, the last word of its type is the reason.
    pub(super) const NAMES_REASON: Self = Self(1 << 9);
    /// Text comes whole each time, including that of earlier events.
    pub(super) const CUMULATIVE: Self = Self(1 << 10);
    /// Other formats have events of this type too: only a pair of keys beside it proves the format.
    pub(super) const COMMON: Self = Self(1 << 11);
    /// The text of this object is reasoning.
    pub(super) const THOUGHT: Self = Self(1 << 12);
    /// Text and finish reason of this object or event are not the answer's.
    pub(super) const MUTE: Self = Self(1 << 13);
    /// From here on an end marker is expected, in a format that does not always have one.
    pub(super) const OWES_END: Self = Self(1 << 14);

    /// Text under [`TextKinds::BY_TYPE`] is of this kind.
    pub(super) const fn text(text: TextKinds) -> Self {
        Self(text.bits() as u16)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The meanings that hold outside of their object as well.
    pub(super) fn beyond_its_object(self) -> Self {
        Self(self.0 & (Self::THOUGHT.0 - 1))
    }

    pub(super) const fn bits(self) -> u16 {
        self.0
    }

    pub(super) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The number of its only bit.
    pub(super) const fn bit(self) -> u16 {
        assert!(self.0.is_power_of_two());
        self.0.trailing_zeros() as u16
    }
}

/// One wire format.
pub(crate) struct Dialect {
    /// The name in reports.
    pub(crate) name: &'static str,
    /// The only provider of this format, if there is only one.
    pub(super) provider: Option<&'static str>,
    /// The event types of this format with their meanings. A format with types is recognised by one of them.
    pub(super) event_types: &'static Table<Act>,
    /// Pairs of keys at the top level of an event. A format without types, or with types that are [`Act::COMMON`], is
    /// recognised by one whole pair.
    pub(super) key_pairs: &'static [(Word, Word)],
    /// What to take from an event.
    pub(super) schema: &'static Schema,
    /// The timing whose numbers are in the event itself.
    pub(super) timing: Option<&'static EngineTiming>,
    /// The event type is the name of the SSE event, not a field in its data.
    pub(super) typed_by_name: bool,
    /// The name of the SSE events whose ids are sequence numbers.
    pub(super) numbered_events: Option<&'static [u8]>,
    /// The end marker is an event of its own after the finish reason.
    pub(crate) marks_end: bool,
    /// A complete answer always has a finish reason.
    pub(crate) gives_reason: bool,
    /// Only the end of the body marks the end.
    pub(crate) ends_by_closing: bool,
    /// The events are calls of an app's functions, with edits of their outputs.
    pub(super) is_queue: bool,
}

impl Dialect {
    /// The defaults.
    pub(super) const PLAIN: Self = Self {
        name: "",
        provider: None,
        event_types: &[],
        key_pairs: &[],
        schema: &[],
        timing: None,
        typed_by_name: false,
        numbered_events: None,
        marks_end: false,
        gives_reason: false,
        ends_by_closing: false,
        is_queue: false,
    };
}

/// A pseudo key: the event is not an object, but the SSE event has an id.
pub(super) const BARE: Word = Word::of(b" ");
/// A pseudo key: the event is an array.
pub(super) const LIST: Word = Word::of(b"[");
