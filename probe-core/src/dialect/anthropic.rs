//! Anthropic Messages: a message in blocks, its reason and cumulative usage in `message_delta`, its
//! end in `message_stop`. With programmatic tool calls one stream holds several messages.

use super::shape::{Reading, Shape, Take, Tokens};
use super::{Dialect, Facts, Text};
use crate::json::words;

pub(super) const DIALECT: Dialect = Dialect {
    name: "anthropic",
    recognise: |clues| {
        let block = clues.kind.starts_with(b"content_block_");
        block || matches!(clues.kind, b"message_start" | b"message_delta" | b"message_stop")
    },
    shape: EVENT,
    settle,
    marks_end: true,
    gives_reason: true,
};

const EVENT: &Shape = &[
    (TYPE, Take::Kind),
    (DELTA, Take::In(PART)),
    (CONTENT_BLOCK, Take::In(PART)),
    (MESSAGE, Take::In(MESSAGE_SHAPE)),
    (USAGE, Take::In(USAGE_SHAPE)),
    (ERROR, Take::Error),
];

/// A part of a block, or of the message itself. A signature is not generated text.
const PART: &Shape = &[
    (TEXT, Take::Text(Text::ANSWER)),
    (THINKING, Take::Text(Text::REASONING)),
    (PARTIAL_JSON, Take::Text(Text::TOOL)),
    (STOP_REASON, Take::Reason),
];

const MESSAGE_SHAPE: &Shape = &[(ID, Take::Id), (MODEL, Take::Model), (USAGE, Take::In(START_USAGE))];

/// What a message starts with has a placeholder for the output.
const START_USAGE: &Shape =
    &[(INPUT_TOKENS, Take::Tokens(Tokens::Input)), (CACHE_READ_INPUT_TOKENS, Take::Tokens(Tokens::Cached))];

const USAGE_SHAPE: &Shape = &[
    (INPUT_TOKENS, Take::Tokens(Tokens::Input)),
    (CACHE_READ_INPUT_TOKENS, Take::Tokens(Tokens::Cached)),
    (OUTPUT_TOKENS, Take::Tokens(Tokens::Output)),
];

fn settle(facts: &mut Facts, event: &mut Reading) {
    facts.finish(event.reason.take());
    match event.kind {
        b"message_start" => facts.begin_answer(event.id),
        b"message_stop" => facts.end_answer(None),
        b"error" => facts.failed = true,
        _ => {}
    }
}

words! {
    CACHE_READ_INPUT_TOKENS = b"cache_read_input_tokens",
    CONTENT_BLOCK = b"content_block",
    DELTA = b"delta",
    ERROR = b"error",
    ID = b"id",
    INPUT_TOKENS = b"input_tokens",
    MESSAGE = b"message",
    MODEL = b"model",
    OUTPUT_TOKENS = b"output_tokens",
    PARTIAL_JSON = b"partial_json",
    STOP_REASON = b"stop_reason",
    TEXT = b"text",
    THINKING = b"thinking",
    TYPE = b"type",
    USAGE = b"usage",
}
