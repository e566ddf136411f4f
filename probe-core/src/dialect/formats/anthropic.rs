//! Anthropic Messages: a message in blocks, its reason and cumulative usage in `message_delta`, its
//! end in `message_stop`. With programmatic tool calls one stream holds several messages.

use super::shared_tables::DETAILS;
use crate::dialect::schema::{Act, Dialect, Schema, Take, Tokens, table};
use crate::text_kinds::TextKinds;

pub(super) const DIALECT: Dialect = Dialect {
    name: "anthropic",
    event_types: table! {
        "content_block_delta" => Act::NOTHING,
        "content_block_start" => Act::NOTHING,
        "message_start" => Act::BEGIN,
        "message_stop" => Act::END,
    },
    schema: table! {
        "type" => Take::EventType,
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
const PART: &Schema = table! {
    "text" => Take::Text(TextKinds::ANSWER),
    "thinking" => Take::Text(TextKinds::REASONING),
    "partial_json" => Take::Text(TextKinds::TOOL),
    "stop_reason" => Take::Reason,
};

const MESSAGE: &Schema = table! {
    "id" => Take::Id,
    "model" => Take::Model,
    // What a message starts with has a placeholder for the output.
    "usage" => Take::In(table! {
        "input_tokens" => Take::Tokens(Tokens::Input),
        "cache_read_input_tokens" => Take::Tokens(Tokens::Cached),
    }),
};

const USAGE: &Schema = table! {
    "input_tokens" => Take::Tokens(Tokens::Input),
    "cache_read_input_tokens" => Take::Tokens(Tokens::Cached),
    "output_tokens" => Take::Tokens(Tokens::Output),
    "output_tokens_details" => Take::In(DETAILS),
};
