//! OpenAI Responses: typed events, numbered by OpenAI itself, and one of three last events that
//! carries the whole answer again.

use super::shape::{Number, Reading, Shape, Take, Tokens};
use super::{DETAILS, Dialect, Facts, TIMINGS_SHAPE, Text, settle_llama_cpp};
use crate::json::{unescaped, words};

pub(super) const DIALECT: Dialect = Dialect {
    name: "openai_responses",
    recognise: |clues| clues.kind.starts_with(PREFIX),
    shape: EVENT,
    settle,
    marks_end: false,
    gives_reason: true,
};

const PREFIX: &[u8] = b"response.";

const EVENT: &Shape = &[
    (TYPE, Take::Kind),
    (SEQUENCE_NUMBER, Take::Number(Number::Sequence)),
    // Which kind of text it is, the type tells.
    (DELTA, Take::Text(Text::ANSWER)),
    (RESPONSE, Take::In(RESPONSE_SHAPE)),
    (ERROR, Take::Error),
    (TIMINGS, Take::Then(TIMINGS_SHAPE, settle_llama_cpp)),
];

const RESPONSE_SHAPE: &Shape = &[
    (ID, Take::Id),
    (MODEL, Take::Model),
    (USAGE, Take::In(USAGE_SHAPE)),
    (INCOMPLETE_DETAILS, Take::In(&[(REASON, Take::Reason)])),
];

const USAGE_SHAPE: &Shape = &[
    (INPUT_TOKENS, Take::Tokens(Tokens::Input)),
    (OUTPUT_TOKENS, Take::Tokens(Tokens::Output)),
    (TOTAL_TOKENS, Take::Tokens(Tokens::Total)),
    (INPUT_TOKENS_DETAILS, Take::In(DETAILS)),
    (OUTPUT_TOKENS_DETAILS, Take::In(DETAILS)),
];

fn settle(facts: &mut Facts, event: &mut Reading) {
    let name = event.kind.strip_prefix(PREFIX).unwrap_or(event.kind);
    match name {
        b"created" => {
            facts.sequence.restart();
            facts.begin_answer(event.id);
        }
        // The status that the answer ends with is the same word.
        b"completed" | b"incomplete" => facts.end_answer(event.reason.take().or_else(|| unescaped(name))),
        b"failed" | b"error" => facts.failed = true,
        _ => {}
    }
    facts.sequence.observe(event.take_count(Number::Sequence), &mut facts.report.defects);
    if event.text.any() {
        event.text = kind_of_delta(name);
    }
}

/// Of the many `.delta` events those that carry text. Every tool has its own, with `_call_` in it.
fn kind_of_delta(name: &[u8]) -> Text {
    if name.starts_with(b"output_text.") {
        Text::ANSWER
    } else if name.starts_with(b"reasoning") {
        Text::REASONING
    } else if name.starts_with(b"refusal.") {
        Text::REFUSAL
    } else if name.windows(6).any(|part| part == b"_call_") {
        Text::TOOL
    } else {
        Text::NONE
    }
}

words! {
    DELTA = b"delta",
    ERROR = b"error",
    ID = b"id",
    INCOMPLETE_DETAILS = b"incomplete_details",
    INPUT_TOKENS = b"input_tokens",
    INPUT_TOKENS_DETAILS = b"input_tokens_details",
    MODEL = b"model",
    OUTPUT_TOKENS = b"output_tokens",
    OUTPUT_TOKENS_DETAILS = b"output_tokens_details",
    REASON = b"reason",
    RESPONSE = b"response",
    SEQUENCE_NUMBER = b"sequence_number",
    TIMINGS = b"timings",
    TOTAL_TOKENS = b"total_tokens",
    TYPE = b"type",
    USAGE = b"usage",
}
