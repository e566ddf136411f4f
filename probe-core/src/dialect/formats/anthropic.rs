//! Anthropic Messages: a message in blocks, its reason and cumulative usage in `message_delta`, its
//! end in `message_stop`. With programmatic tool calls one stream holds several messages.

use crate::dialect::schema::{Act, Shape, Take, Text, Tokens, table};
use crate::dialect::{DETAILS, Dialect};

pub(super) const DIALECT: Dialect = Dialect {
    name: "anthropic",
    kinds: table! {
        "content_block_delta" => Act::NOTHING,
        "content_block_start" => Act::NOTHING,
        "message_start" => Act::BEGIN,
        "message_stop" => Act::END,
    },
    shape: table! {
        "type" => Take::Kind,
        "delta" => Take::In(PART),
        "content_block" => Take::In(PART),
        "message" => Take::In(MESSAGE),
        "usage" => Take::In(USAGE),
        "error" => Take::If(Act::FAIL),
    },
    marks_end: true,
    gives_reason: true,
    ..Dialect::PLAIN
};

/// A part of a block, or of the message itself. A signature is not generated text.
const PART: &Shape = table! {
    "text" => Take::Text(Text::ANSWER),
    "thinking" => Take::Text(Text::REASONING),
    "partial_json" => Take::Text(Text::TOOL),
    "stop_reason" => Take::Reason,
};

const MESSAGE: &Shape = table! {
    "id" => Take::Id,
    "model" => Take::Model,
    // What a message starts with has a placeholder for the output.
    "usage" => Take::In(table! {
        "input_tokens" => Take::Tokens(Tokens::Input),
        "cache_read_input_tokens" => Take::Tokens(Tokens::Cached),
    }),
};

const USAGE: &Shape = table! {
    "input_tokens" => Take::Tokens(Tokens::Input),
    "cache_read_input_tokens" => Take::Tokens(Tokens::Cached),
    "output_tokens" => Take::Tokens(Tokens::Output),
    "output_tokens_details" => Take::In(DETAILS),
};
