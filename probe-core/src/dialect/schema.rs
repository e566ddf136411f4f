//! The language that dialects are written in: tables say where in an event's JSON the facts stand
//! and what its types mean; one walk over the JSON reads them all.
//!
//! The walk is there once, so that another dialect adds little but its table to what a page loads.

use std::mem;

use super::stream_state::Facts;
use super::table_reader::{Rows, TIMINGS, USES, op};
use super::usage::Usage;
use crate::delta_template::Free;
use crate::json::{Json, Word, whole};
use crate::report_builder::{ABSENT, Name, or};
use crate::server_timing::{self, Clock};

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
pub(crate) type Shape = Table<Take>;

/// What to do with a value.
pub(crate) enum Take {
    /// Generated text of this kind, if it is a string with anything in it.
    Text(Text),
    /// An answer, or an object or list to look into.
    AnswerOrIn(&'static Shape),
    /// Generated content of this kind that is no string.
    Thing(Text),
    /// Look into it.
    In(&'static Shape),
    /// One of several answers, each with its own end: look into it.
    Choice(&'static Shape),
    /// The server's own timing: look into it.
    Clock(&'static Clock),
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
    Kind,
    /// Why the answer ended.
    Reason,
    /// Means this, unless it is `null`, `false` or an empty string.
    If(Act),
    /// Means this, if it is a string.
    IfString(Act),
    /// A word that means one of these.
    Says(&'static Table<Act>),
    /// Its presence proves that the provider is the one whose timing this is.
    Proves(&'static Clock),
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

/// What a number says.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    /// Place of an answer among several.
    Index,
    /// Place of the event in the stream.
    Sequence,
    /// When the server made the event.
    Stamp,
    /// Durations and counts of the server's own, in its own unit.
    Load,
    Queue,
    Prompt,
    Generation,
    Generated,
}

/// The kinds of generated text that an event brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Text(u8);

impl Text {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ANSWER: Self = Self(1);
    pub(crate) const REASONING: Self = Self(2);
    pub(crate) const REFUSAL: Self = Self(4);
    pub(crate) const TOOL: Self = Self(8);
    /// In a table only: of the kind that the event's type tells.
    pub(super) const BY_TYPE: Self = Self(16);

    pub(crate) fn any(self) -> bool {
        self != Self::NONE
    }

    pub(crate) fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }

    /// What the user reads: an answer, or the refusal that stands in its place.
    pub(crate) fn is_visible(self) -> bool {
        self.0 & (Self::ANSWER.0 | Self::REFUSAL.0) != 0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn bits(self) -> u8 {
        self.0
    }
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
    pub(super) const WHOLE: Self = Self(1 << 10);
    /// Other formats have events of this type too: it takes a sign beside it.
    pub(super) const COMMON: Self = Self(1 << 11);
    /// What is text in this object is reasoning.
    pub(super) const THOUGHT: Self = Self(1 << 12);
    /// What is text or a reason in this object or event is not the answer's.
    pub(super) const MUTE: Self = Self(1 << 13);
    /// The end is marked from here on, where it is not marked in every answer of the format.
    pub(super) const OWES_END: Self = Self(1 << 14);

    /// Text under [`Text::BY_TYPE`] is of this kind.
    pub(super) const fn text(text: Text) -> Self {
        Self(text.0 as u16)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 & USES.acts != 0
    }

    /// What of it is not only about the object that it stands in.
    fn beyond_its_object(self) -> Self {
        Self(self.0 & (Self::THOUGHT.0 - 1))
    }

    /// What `word` means by this table.
    pub(super) fn of(word: &[u8], acts: Rows) -> Option<Self> {
        acts.find(Word::of(word)).map(Self)
    }

    pub(super) const fn bits(self) -> u16 {
        self.0
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

/// Generated text, without the text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Said {
    kinds: Text,
    /// As it is written, escapes and all.
    bytes: usize,
}

impl Said {
    fn and(self, other: Self) -> Self {
        Self { kinds: self.kinds.and(other.kinds), bytes: self.bytes + other.bytes }
    }

    /// What is left of it in an object that means `act`.
    fn within(self, act: Act) -> Self {
        let muted = act.has(Act::MUTE) || !self.kinds.any();
        match act.has(Act::THOUGHT) {
            _ if muted => Self::default(),
            true => Self { kinds: Text::REASONING, ..self },
            false => self,
        }
    }

    /// The kinds, when the event's type means `act`. `whole_bytes` is what was there before of text
    /// that comes whole each time: shorter or longer, it was generated anew.
    pub(super) fn kinds(self, act: Act, whole_bytes: &mut usize) -> Text {
        let Self { kinds, bytes } = self.within(act);
        if act.has(Act::WHOLE) && bytes > 0 && mem::replace(whole_bytes, bytes) == bytes {
            return Text::NONE;
        }
        let by_type = if kinds.0 & Text::BY_TYPE.0 != 0 { act.0 as u8 } else { 0 };
        Text((kinds.0 | by_type) & (Text::BY_TYPE.0 - 1))
    }
}

/// What one event has said so far that means nothing by itself.
pub(crate) struct Reading<'a> {
    pub(super) said: Said,
    pub(super) act: Act,
    pub(super) kind: &'a [u8],
    pub(super) id: &'a [u8],
    pub(super) reason: &'a [u8],
    /// Counts and text come whole each time, with what came before.
    pub(super) whole: bool,
    /// What the event is, if it is a string and no object.
    bare: &'a [u8],
    /// By [`Number`].
    numbers: [f64; Number::Generated as usize + 1],
}

impl Default for Reading<'_> {
    fn default() -> Self {
        Self {
            said: Said::default(),
            act: Act::default(),
            kind: b"",
            id: b"",
            reason: b"",
            whole: false,
            bare: b"",
            numbers: [ABSENT; _],
        }
    }
}

impl<'a> Reading<'a> {
    /// Nothing but the name that SSE gives the event. Behind a bar in it stands which part of the
    /// server's graph sent it.
    pub(super) fn of(name: &'a [u8]) -> Self {
        let kind = name.split(|&byte| byte == b'|').next().unwrap_or_default();
        Self { kind, ..Self::default() }
    }

    /// Reads the event itself.
    pub(super) fn root(&mut self, facts: &mut Facts, json: &mut Json<'a>, shape: Rows) {
        if USES.named && json.is_string() {
            self.bare = json.string().unwrap_or_default();
            self.add(Text::BY_TYPE, Some(self.bare));
        } else {
            each(facts, self, json, shape, false);
        }
    }

    /// The word that says why the answer ended: the event itself, or the last of its type.
    pub(super) fn last_word(&self) -> &'a [u8] {
        let words = if self.bare.is_empty() { self.kind } else { self.bare };
        words.rsplit(|&byte| byte == b'.').next().unwrap_or_default()
    }

    /// Takes a number from where it stands by itself.
    pub(super) fn number(&mut self, number: Number, text: &[u8]) {
        self.numbers[number as usize] = Json::new(text).number();
    }

    pub(super) fn has_numbers(&self) -> bool {
        self.numbers.iter().any(|number| !number.is_nan())
    }

    pub(crate) fn get(&self, number: Number) -> f64 {
        self.numbers[number as usize]
    }

    /// Gives the number away, so that the next object starts without it.
    pub(crate) fn take(&mut self, number: Number) -> f64 {
        mem::replace(&mut self.numbers[number as usize], ABSENT)
    }

    /// The same as a count. Absent where it is not whole.
    pub(crate) fn take_count(&mut self, number: Number) -> f64 {
        whole(self.take(number))
    }

    /// The same of all that a server's claim is made of: the last in the row.
    pub(crate) fn take_claim(&mut self) -> [f64; server_timing::FIGURES] {
        let [.., queue, prompt, generation, generated] = &mut self.numbers;
        let claim = [*queue, *prompt, *generation, whole(*generated)];
        [*queue, *prompt, *generation, *generated] = [ABSENT; _];
        claim
    }

    fn add(&mut self, kinds: Text, text: Option<&[u8]>) {
        let bytes = text.map_or(0, written_bytes);
        if bytes > 0 {
            self.said = self.said.and(Said { kinds, bytes });
        }
    }
}

/// Reads the next value, as a table means it.
pub(super) fn walk<'a>(facts: &mut Facts, reading: &mut Reading<'a>, json: &mut Json<'a>, meaning: u16) {
    let (op, argument) = (meaning >> op::ARGUMENT_BITS, meaning & ((1 << op::ARGUMENT_BITS) - 1));
    let at = usize::from(argument);
    match op {
        op::ANSWER_OR_IN if !json.is_string() => each(facts, reading, json, Rows(argument), false),
        op::TEXT | op::ANSWER_OR_IN => {
            let kind = if op == op::TEXT { Text(argument as u8) } else { Text::ANSWER };
            reading.add(kind, free_string(facts, json, Free::Text));
        }
        op::THING if USES.op(op::THING) => {
            reading.add(Text(argument as u8), json.is_something().then_some(b"{}"));
        }
        op::IN | op::CHOICE => each(facts, reading, json, Rows(argument), op == op::CHOICE),
        op::CLOCK => {
            each(facts, reading, json, TIMINGS[at].shape, false);
            facts.settle_clock(&TIMINGS[at], reading);
        }
        op::TOKENS => {
            let Usage(counts) = &mut facts.usage;
            counts[at] = or(json.count(), counts[at]);
        }
        op::MORE_TOKENS if USES.op(op::MORE_TOKENS) => {
            facts.layout.veto();
            let Usage(counts) = &mut facts.usage;
            let count = json.count();
            if !reading.whole {
                counts[at] = or(or(counts[at], 0.0) + count, counts[at]);
            }
        }
        op::NUMBER => {
            let start = json.start();
            reading.numbers[at] = json.number();
            if at == Number::Sequence as usize {
                facts.layout.may_differ(start, json.end(), Free::Sequence);
            }
        }
        op::MODEL if facts.tally.name(Name::Model).is_empty() => {
            facts.tally.set_name(Name::Model, json.model());
        }
        op::MODEL => {}
        op::ID => reading.id = json.string().unwrap_or_default(),
        op::KIND => reading.kind = json.string().unwrap_or_default(),
        op::REASON => reading.reason = json.string().unwrap_or_default(),
        op::IF => {
            if json.is_something() {
                reading.act = reading.act.and(Act(1 << argument));
            }
        }
        op::IF_STRING if USES.op(op::IF_STRING) => {
            if json.string().is_some() {
                reading.act = reading.act.and(Act(1 << argument));
            }
        }
        op::SAYS if USES.op(op::SAYS) => {
            let act = json.string().and_then(|word| Act::of(word, Rows(argument))).unwrap_or_default();
            reading.act = reading.act.and(act);
        }
        op::PROVES => facts.tally.set_name(Name::Provider, TIMINGS[at].name),
        _ => drop(free_string(facts, json, Free::Unread)),
    }
}

fn each<'a>(facts: &mut Facts, reading: &mut Reading<'a>, json: &mut Json<'a>, shape: Rows, choices: bool) {
    let list = json.is_array() && json.enter(b'[');
    while !list || json.element() {
        let text = object(facts, reading, json, shape);
        if choices {
            facts.settle_choice(reading, text);
        }
        if !list {
            break;
        }
    }
}

/// Whether there was text in it.
fn object<'a>(facts: &mut Facts, reading: &mut Reading<'a>, json: &mut Json<'a>, shape: Rows) -> bool {
    if !json.enter(b'{') {
        return false;
    }
    let outside = (mem::take(&mut reading.said), mem::take(&mut reading.act));
    while let Some(key) = json.key() {
        walk(facts, reading, json, shape.find(key).unwrap_or_default());
    }
    let (said, act) = (reading.said.within(reading.act), reading.act.beyond_its_object());
    (reading.said, reading.act) = (outside.0.and(said), outside.1.and(act));
    said.bytes > 0
}

/// Takes a string that may be another in an event that means the same.
fn free_string<'a>(facts: &mut Facts, json: &mut Json<'a>, free: Free) -> Option<&'a [u8]> {
    let text = json.string()?;
    let end = json.end();
    facts.layout.may_differ(end - text.len() - 2, end, free);
    Some(text)
}

/// Length of generated text as JSON writes it, without NULs at its end: some servers pad short texts
/// to hide their length.
pub(crate) fn written_bytes(mut text: &[u8]) -> usize {
    while let Some(shorter) = text.strip_suffix(br"\u0000") {
        text = shorter;
    }
    text.len()
}
