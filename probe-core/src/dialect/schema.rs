//! The language that dialects are written in: tables say where in an event's JSON the facts stand and what its
//! types mean. One walk over the JSON reads all tables, so another dialect adds little code for a page to load.

use beacon::ServerStart;

use crate::event_numbers::Number;
use crate::json::Word;
use crate::server_timing::{TimingFormat, Unit};
use crate::text_kinds::TextKinds;

/// Writes a table: words of the wire, and what each means.
macro_rules! table {
    ($($word:literal => $meaning:expr),* $(,)?) => {
        &[$(($crate::json::Word::of($word.as_bytes()), $meaning)),*]
    };
}
pub(crate) use table;

/// A word of the wire and what it means.
pub(crate) type Table<T> = [(Word, T)];

/// The keys of an object that matter, and what to take from under each. A list of such objects is
/// read like each of them.
pub(crate) type Schema = Table<Take>;

/// An engine's own timing, and where its numbers stand unless it is the event itself that has them.
pub(crate) type EngineTiming = TimingFormat<&'static Schema>;

impl EngineTiming {
    /// What most of them are like.
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
    /// Generated text of this kind, if it is a string with anything in it.
    Text(TextKinds),
    /// An answer, or an object or list to look into.
    AnswerOrIn(&'static Schema),
    /// Generated content of this kind that is no string.
    Content(TextKinds),
    /// Look into it.
    In(&'static Schema),
    /// One of several answers, each with its own end: look into it.
    Choice(&'static Schema),
    /// The server's own timing: look into it.
    Timing(&'static EngineTiming),
    /// A token count. A later one takes its place.
    Tokens(Tokens),
    /// A token count to add to those before. None is taken from what comes whole each time.
    MoreTokens(Tokens),
    /// Any other number of zero or more.
    Number(Number),
    /// Name of the model.
    Model,
    /// Id of the answer.
    Id,
    /// Type of the event.
    EventType,
    /// Why the answer ended.
    Reason,
    /// Means this, unless it is `null`, `false` or an empty string.
    If(Act),
    /// Means this, if it is a string.
    IfString(Act),
    /// A word that means one of these.
    Word(&'static Table<Act>),
    /// Its presence proves that the provider is the one whose timing this is.
    ProvesProvider(&'static EngineTiming),
}

/// What a token count counts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tokens {
    Input,
    Output,
    Total,
    Reasoning,
    /// Reasoning that is not among the output.
    ReasoningBeside,
    Cached,
}

/// What a type of event, or a word in it, means. Several meanings are joined by [`Act::and`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Act(u16);

impl Act {
    /// Only that the event is of this format.
    pub(super) const NOTHING: Self = Self(0);
    /// An answer begins.
    pub(super) const BEGIN: Self = Self(1 << 5);
    /// The answer ends here.
    pub(super) const END: Self = Self(1 << 6);
    /// The answer is whole; the end marker follows.
    pub(super) const FINISH: Self = Self(1 << 7);
    /// The provider reports an error.
    pub(super) const FAIL: Self = Self(1 << 8);
    /// If no reason is given, the last word of the type is it.
    pub(super) const NAMES_REASON: Self = Self(1 << 9);
    /// Text comes whole each time, with what came before.
    pub(super) const CUMULATIVE: Self = Self(1 << 10);
    /// Other formats have events of this type too: it takes a sign beside it.
    pub(super) const COMMON: Self = Self(1 << 11);
    /// What is text in this object is reasoning.
    pub(super) const THOUGHT: Self = Self(1 << 12);
    /// What is text or a reason in this object or event is not the answer's.
    pub(super) const MUTE: Self = Self(1 << 13);
    /// The end is marked from here on, where it is not marked in every answer of the format.
    pub(super) const OWES_END: Self = Self(1 << 14);

    /// Text under [`TextKinds::BY_TYPE`] is of this kind.
    pub(super) const fn text(text: TextKinds) -> Self {
        Self(text.bits() as u16)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What of it is not only about the object that it stands in.
    pub(super) fn beyond_its_object(self) -> Self {
        Self(self.0 & (Self::THOUGHT.0 - 1))
    }

    pub(super) const fn bits(self) -> u16 {
        self.0
    }

    pub(super) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Whether a stream may begin with an event of this type. In formats with types of their own another one
    /// comes before text, and in all of them before the end.
    pub(super) const fn may_come_first(self) -> bool {
        let common = self.0 & Self::COMMON.0 != 0;
        self.0 & Self::END.0 == 0 && (common || self.0 & (Self::BEGIN.0 - 1) == 0)
    }

    /// The number of its bit, of which there must be one.
    pub(super) const fn bit(self) -> u16 {
        assert!(self.0.is_power_of_two());
        self.0.trailing_zeros() as u16
    }
}

/// One wire format.
pub(crate) struct Dialect {
    /// The word in reports.
    pub(crate) name: &'static str,
    /// Who serves it, where nobody else does.
    pub(super) provider: Option<&'static str>,
    /// Types of event that this format has, and what they mean. One of them is what it is recognised
    /// by, if it has any.
    pub(super) event_types: &'static Table<Act>,
    /// Pairs of keys at the top level of an event. Where there are no types, or they are
    /// [`Act::COMMON`], one whole pair is what it is recognised by.
    pub(super) key_pairs: &'static [(Word, Word)],
    /// Where the facts stand in an event.
    pub(super) schema: &'static Schema,
    /// Whose timing it is that stands in the event itself.
    pub(super) timing: Option<&'static EngineTiming>,
    /// The type of an event is the name that SSE gives it, not a field in it.
    pub(super) typed_by_name: bool,
    /// Name of the SSE events that are numbered by their ids.
    pub(super) numbered_events: Option<&'static [u8]>,
    /// The end marker is an event of its own after the finish reason.
    pub(crate) marks_end: bool,
    /// An answer that ends well always gives a finish reason.
    pub(crate) gives_reason: bool,
    /// Nothing marks the end but the end of the body.
    pub(crate) ends_by_closing: bool,
}

impl Dialect {
    /// What most of them are like.
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
    };
}

/// In place of a key: the event is no object, but SSE gives it an id.
pub(super) const BARE: Word = Word::of(b" ");
