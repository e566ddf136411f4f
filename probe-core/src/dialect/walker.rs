//! Walks the JSON of an event along the tables of its dialect.

use std::mem;

use super::encoded_table::{Rows, op};
use super::event_values::Reading;
use super::schema::Act;
use super::stream_state::Facts;
use super::table_reader::{TIMINGS, USES};
use super::usage::Usage;
use crate::absent::or;
use crate::delta_template::Wildcard;
use crate::event_numbers::Number;
use crate::json::Json;
use crate::report_builder::TextField;
use crate::text_kinds::TextKinds;

/// Reads the event itself.
pub(super) fn root<'a>(facts: &mut Facts, reading: &mut Reading<'a>, json: &mut Json<'a>, shape: Rows) {
    if USES.named && json.is_string() {
        reading.bare = json.string().unwrap_or_default();
        reading.add(TextKinds::BY_TYPE, Some(reading.bare));
    } else {
        each(facts, reading, json, shape, false);
    }
}

/// Reads the next value, as a table means it.
pub(super) fn walk<'a>(facts: &mut Facts, reading: &mut Reading<'a>, json: &mut Json<'a>, meaning: u16) {
    let (op, argument) = (meaning >> op::ARGUMENT_BITS, meaning & ((1 << op::ARGUMENT_BITS) - 1));
    let at = usize::from(argument);
    match op {
        op::ANSWER_OR_IN if !json.is_string() => each(facts, reading, json, Rows(argument), false),
        op::TEXT | op::ANSWER_OR_IN => {
            let kind = if op == op::TEXT { TextKinds::from_bits(argument as u8) } else { TextKinds::ANSWER };
            reading.add(kind, wildcard_string(facts, json, Wildcard::GeneratedText));
        }
        op::THING if USES.op(op::THING) => {
            reading.add(TextKinds::from_bits(argument as u8), json.is_something().then_some(b"{}"));
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
            facts.template.reject();
            let Usage(counts) = &mut facts.usage;
            let count = json.count();
            if !reading.whole {
                counts[at] = or(or(counts[at], 0.0) + count, counts[at]);
            }
        }
        op::NUMBER => {
            let start = json.start();
            reading.numbers.set(at, json.number());
            if at == Number::Sequence as usize {
                facts.template.add_wildcard(start, json.end(), Wildcard::SequenceNumber);
            }
        }
        op::MODEL if facts.report.text(TextField::Model).is_empty() => {
            facts.report.set_text(TextField::Model, json.name());
        }
        op::MODEL => {}
        op::ID => reading.id = json.string().unwrap_or_default(),
        op::KIND => reading.kind = json.string().unwrap_or_default(),
        op::REASON => reading.reason = json.string().unwrap_or_default(),
        op::IF => {
            if json.is_something() {
                reading.act = reading.act.and(Act::from_bits(1 << argument));
            }
        }
        op::IF_STRING if USES.op(op::IF_STRING) => {
            if json.string().is_some() {
                reading.act = reading.act.and(Act::from_bits(1 << argument));
            }
        }
        op::SAYS if USES.op(op::SAYS) => {
            let act = json.string().and_then(|word| Act::of(word, Rows(argument))).unwrap_or_default();
            reading.act = reading.act.and(act);
        }
        op::PROVES => facts.report.set_text(TextField::Provider, TIMINGS[at].name),
        _ => drop(wildcard_string(facts, json, Wildcard::AnyString)),
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
fn wildcard_string<'a>(facts: &mut Facts, json: &mut Json<'a>, wildcard: Wildcard) -> Option<&'a [u8]> {
    let text = json.string()?;
    let end = json.end();
    facts.template.add_wildcard(end - text.len() - 2, end, wildcard);
    Some(text)
}
