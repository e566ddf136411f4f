//! Ollama's own API, chat and generate: one JSON object per line, the last with `done` and all
//! counts and durations.

use super::shape::{Number, Reading, Shape, Take, Tokens};
use super::{Clues, Dialect, Facts, Text};
use crate::json::words;

/// `done` ends it, with a reason only since 2024.
pub(super) const DIALECT: Dialect = Dialect {
    name: "ollama",
    recognise: |clues| clues.has(Clues::DONE) && clues.has(Clues::CREATED_AT),
    shape: EVENT,
    settle,
    marks_end: false,
    gives_reason: false,
};

const EVENT: &Shape = &[
    (MODEL, Take::Model),
    (MESSAGE, Take::In(MESSAGE_SHAPE)),
    (RESPONSE, Take::Text(Text::ANSWER)),
    (THINKING, Take::Text(Text::REASONING)),
    (DONE, Take::Done),
    (DONE_REASON, Take::Reason),
    (ERROR, Take::Error),
    (PROMPT_EVAL_COUNT, Take::Tokens(Tokens::Input)),
    (EVAL_COUNT, Take::Tokens(Tokens::Output)),
    (LOAD_DURATION, Take::Number(Number::Load)),
    (PROMPT_EVAL_DURATION, Take::Number(Number::Prompt)),
    (EVAL_DURATION, Take::Number(Number::Generation)),
];

const MESSAGE_SHAPE: &Shape = &[
    (CONTENT, Take::Text(Text::ANSWER)),
    (THINKING, Take::Text(Text::REASONING)),
    // Tool calls come whole, with arguments as an object.
    (TOOL_CALLS, Take::In(&[(FUNCTION, Take::Thing(Text::TOOL))])),
];

fn settle(facts: &mut Facts, event: &mut Reading) {
    facts.provider = Some("ollama");
    if event.done {
        facts.end_answer(event.reason.take());
        facts.server.settle_ollama(event, facts.usage.output());
    }
}

words! {
    CONTENT = b"content",
    DONE = b"done",
    DONE_REASON = b"done_reason",
    ERROR = b"error",
    EVAL_COUNT = b"eval_count",
    EVAL_DURATION = b"eval_duration",
    FUNCTION = b"function",
    LOAD_DURATION = b"load_duration",
    MESSAGE = b"message",
    MODEL = b"model",
    PROMPT_EVAL_COUNT = b"prompt_eval_count",
    PROMPT_EVAL_DURATION = b"prompt_eval_duration",
    RESPONSE = b"response",
    THINKING = b"thinking",
    TOOL_CALLS = b"tool_calls",
}
