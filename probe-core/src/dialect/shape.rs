//! Tables say where in an event's JSON the facts stand; one walk over the JSON finds them.
//!
//! The walk is there once, so that another dialect adds little but its table to what a page loads.

use std::borrow::Cow;

use super::{Facts, Text};
use crate::json::{Json, Word, whole};

/// The keys of an object that matter, and what to take from under each. A list of such objects is
/// read like each of them.
pub(super) type Shape = [(Word, Take)];

/// What to do with a value.
pub(super) enum Take {
    /// Generated text of this kind, if it is a string with anything in it.
    Text(Text),
    /// The same, or a list of parts.
    TextOrParts(Text, &'static Shape),
    /// Generated content of this kind that is no string.
    Thing(Text),
    /// Look into it.
    In(&'static Shape),
    /// Look into it, and settle what each object of it said.
    Then(&'static Shape, fn(&mut Facts, &mut Reading)),
    /// A token count.
    Tokens(Tokens),
    /// Any other number of zero or more.
    Number(Number),
    /// Name of the model.
    Model,
    /// Id of the answer.
    Id,
    /// Type of the event.
    Kind,
    /// Type of the object.
    Object,
    /// Why the answer ended.
    Reason,
    /// `true` at the end.
    Done,
    /// An error, unless it is `null`, `false` or an empty string.
    Error,
    /// Its presence alone is a clue.
    Clue(u8),
    /// Its presence proves who the provider is.
    Proves(&'static str),
}

/// What a token count counts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tokens {
    Input,
    Output,
    Total,
    Reasoning,
    Cached,
}

/// What a number says.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    /// Place of an answer among several.
    Index,
    /// Place of the event in the stream.
    Sequence,
    /// Durations and counts of the server's own, in its own unit.
    Queue,
    Load,
    Prompt,
    Generation,
    Generated,
}

/// What one event has said so far that means nothing by itself.
#[derive(Default)]
pub(crate) struct Reading<'a> {
    pub(super) text: Text,
    pub(super) kind: &'a [u8],
    pub(super) object: Word,
    pub(super) id: &'a [u8],
    pub(super) reason: Option<String>,
    pub(super) done: bool,
    pub(super) clues: u8,
    numbers: [Option<f64>; Number::Generated as usize + 1],
}

impl Reading<'_> {
    pub(super) fn has_numbers(&self) -> bool {
        self.numbers.iter().any(Option::is_some)
    }

    /// Gives the number away, so that the next object starts without it.
    pub(crate) fn take(&mut self, number: Number) -> Option<f64> {
        self.numbers[number as usize].take()
    }

    /// The same as a count. `None` where it is not whole.
    pub(crate) fn take_count(&mut self, number: Number) -> Option<u64> {
        self.take(number).and_then(whole)
    }
}

/// Reads the next value by its shape.
pub(super) fn walk<'a>(facts: &mut Facts, reading: &mut Reading<'a>, json: &mut Json<'a>, shape: &Shape) {
    each(facts, reading, json, shape, None);
}

fn each<'a>(
    facts: &mut Facts,
    reading: &mut Reading<'a>,
    json: &mut Json<'a>,
    shape: &Shape,
    then: Option<fn(&mut Facts, &mut Reading)>,
) {
    let list = json.is_array() && json.enter(b'[');
    while !list || json.element() {
        object(facts, reading, json, shape);
        if let Some(then) = then {
            then(facts, reading);
        }
        if !list {
            break;
        }
    }
}

fn object<'a>(facts: &mut Facts, reading: &mut Reading<'a>, json: &mut Json<'a>, shape: &Shape) {
    if !json.enter(b'{') {
        return;
    }
    while let Some(key) = json.key() {
        if let Some((_, take)) = shape.iter().find(|(word, _)| *word == key) {
            apply(facts, reading, json, take);
        }
    }
}

fn apply<'a>(facts: &mut Facts, reading: &mut Reading<'a>, json: &mut Json<'a>, take: &Take) {
    match *take {
        Take::TextOrParts(_, parts) if json.is_array() => walk(facts, reading, json, parts),
        Take::Text(kind) | Take::TextOrParts(kind, _) => reading.text.add(kind, json.is_text()),
        Take::Thing(kind) => reading.text.add(kind, json.is_something()),
        Take::In(shape) => walk(facts, reading, json, shape),
        Take::Then(shape, then) => each(facts, reading, json, shape, Some(then)),
        Take::Tokens(tokens) => {
            let kept = &mut facts.usage.0[tokens as usize];
            *kept = json.count().or(*kept);
        }
        Take::Number(number) => reading.numbers[number as usize] = json.number(),
        Take::Model if facts.report.response_model.is_none() => {
            facts.report.response_model = json.name().map(Cow::Owned);
        }
        Take::Id => reading.id = json.string().unwrap_or_default(),
        Take::Kind => reading.kind = json.string().unwrap_or_default(),
        Take::Object => reading.object = Word::of(json.string().unwrap_or_default()),
        Take::Reason => reading.reason = json.name(),
        Take::Done => reading.done = json.is_true(),
        Take::Error => facts.failed |= json.is_something(),
        Take::Clue(clue) => reading.clues |= clue,
        Take::Proves(provider) => facts.provider = Some(provider),
        Take::Model => {}
    }
}
