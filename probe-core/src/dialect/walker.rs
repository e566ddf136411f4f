//! Walks the JSON of an event along the tables of its dialect.

use std::mem;

use super::encoded_table::{EncodedTable, op};
use super::event_values::EventValues;
use super::schema::Act;
use super::stream_state::StreamState;
use super::table_reader::{TIMINGS, USED};
use super::usage::Usage;
use crate::absent::or;
use crate::delta_template::Wildcard;
use crate::event_numbers::Number;
use crate::json::Json;
use crate::report_builder::TextField;
use crate::text_kinds::TextKinds;

/// Reads the event itself.
pub(super) fn root<'a>(
    state: &mut StreamState,
    values: &mut EventValues<'a>,
    json: &mut Json<'a>,
    schema: EncodedTable,
) {
    if USED.typed_by_name && json.is_string() {
        values.bare_string = json.string().unwrap_or_default();
        values.add(TextKinds::BY_TYPE, Some(values.bare_string));
    } else {
        each(state, values, json, schema, false);
    }
}

/// Takes the next value as its meaning in a table says.
pub(super) fn walk<'a>(
    state: &mut StreamState,
    values: &mut EventValues<'a>,
    json: &mut Json<'a>,
    meaning: u16,
) {
    let (op, argument) = (meaning >> op::ARGUMENT_BITS, meaning & ((1 << op::ARGUMENT_BITS) - 1));
    let at = usize::from(argument);
    match op {
        op::ANSWER_OR_IN if !json.is_string() => each(state, values, json, EncodedTable(argument), false),
        op::TEXT | op::ANSWER_OR_IN => {
            let kind = if op == op::TEXT { TextKinds::from_bits(argument as u8) } else { TextKinds::ANSWER };
            values.add(kind, wildcard_string(state, json, Wildcard::GeneratedText));
        }
        op::CONTENT if USED.op(op::CONTENT) => {
            values.add(TextKinds::from_bits(argument as u8), json.is_something().then_some(b"{}"));
        }
        op::IN | op::CHOICE => each(state, values, json, EncodedTable(argument), op == op::CHOICE),
        op::TIMING => {
            each(state, values, json, TIMINGS[at].schema, false);
            state.apply_timing(&TIMINGS[at], values);
        }
        op::TOKENS => {
            let Usage(counts) = &mut state.usage;
            counts[at] = or(json.count(), counts[at]);
        }
        op::MORE_TOKENS if USED.op(op::MORE_TOKENS) => {
            state.template.reject();
            let Usage(counts) = &mut state.usage;
            let count = json.count();
            if !values.cumulative {
                counts[at] = or(or(counts[at], 0.0) + count, counts[at]);
            }
        }
        op::NUMBER => {
            let start = json.start();
            values.numbers.set(at, json.number());
            if at == Number::Sequence as usize {
                state.template.add_wildcard(start, json.end(), Wildcard::SequenceNumber);
            }
        }
        op::MODEL if state.report.text(TextField::Model).is_empty() => {
            state.report.set_text(TextField::Model, json.model());
        }
        op::MODEL => {}
        op::ID => values.id = json.string().unwrap_or_default(),
        op::EVENT_TYPE => values.event_type = json.string().unwrap_or_default(),
        op::REASON => values.reason = json.string().unwrap_or_default(),
        op::IF => {
            if json.is_something() {
                values.act = values.act.and(Act::from_bits(1 << argument));
            }
        }
        op::IF_STRING if USED.op(op::IF_STRING) => {
            if json.string().is_some() {
                values.act = values.act.and(Act::from_bits(1 << argument));
            }
        }
        op::WORD if USED.op(op::WORD) => {
            let act =
                json.string().and_then(|word| Act::of(word, EncodedTable(argument))).unwrap_or_default();
            values.act = values.act.and(act);
        }
        op::PROVES_PROVIDER => state.report.set_text(TextField::Provider, TIMINGS[at].name),
        _ => drop(wildcard_string(state, json, Wildcard::AnyString)),
    }
}

fn each<'a>(
    state: &mut StreamState,
    values: &mut EventValues<'a>,
    json: &mut Json<'a>,
    schema: EncodedTable,
    choices: bool,
) {
    let list = json.is_array() && json.enter(b'[');
    while !list || json.element() {
        let text = object(state, values, json, schema);
        if choices {
            state.apply_choice(values, text);
        }
        if !list {
            break;
        }
    }
}

/// Walks an object. Returns whether there was text in it.
fn object<'a>(
    state: &mut StreamState,
    values: &mut EventValues<'a>,
    json: &mut Json<'a>,
    schema: EncodedTable,
) -> bool {
    if !json.enter(b'{') {
        return false;
    }
    let outside = (mem::take(&mut values.text), mem::take(&mut values.act));
    while let Some(key) = json.key() {
        walk(state, values, json, schema.find(key).unwrap_or_default());
    }
    let (text, act) = (values.text.within(values.act), values.act.beyond_its_object());
    (values.text, values.act) = (outside.0.and(text), outside.1.and(act));
    text.bytes > 0
}

/// Takes a string that may differ in an event with the same meaning.
fn wildcard_string<'a>(state: &mut StreamState, json: &mut Json<'a>, wildcard: Wildcard) -> Option<&'a [u8]> {
    let text = json.string()?;
    let end = json.end();
    state.template.add_wildcard(end - text.len() - 2, end, wildcard);
    Some(text)
}
