//! Cohere chat, version 2: a message in contents and tool calls, its reason and usage at its end.

use crate::dialect::schema::{Act, Dialect, Schema, Take, Tokens, table};
use crate::text_kinds::TextKinds;

pub(super) const DIALECT: Dialect = Dialect {
    name: "cohere",
    provider: Some("cohere"),
    event_types: table! {
        "message-start" => Act::BEGIN,
        "content-start" => Act::NOTHING,
        "content-delta" => Act::NOTHING,
        "message-end" => Act::END,
    },
    schema: table! {
        "type" => Take::EventType,
        "id" => Take::Id,
        "delta" => Take::In(DELTA),
    },
    gives_reason: true,
    ..Dialect::PLAIN
};

const DELTA: &Schema = table! {
    "message" => Take::In(MESSAGE),
    "finish_reason" => Take::Reason,
    "error" => Take::If(Act::FAIL),
    "usage" => Take::In(USAGE),
};

const MESSAGE: &Schema = table! {
    "content" => Take::In(table! {
        "text" => Take::Text(TextKinds::ANSWER),
        "thinking" => Take::Text(TextKinds::REASONING),
    }),
    "tool_plan" => Take::Text(TextKinds::REASONING),
    "tool_calls" => Take::In(table! {
        "function" => Take::In(table! { "arguments" => Take::Text(TextKinds::TOOL) }),
    }),
};

/// What is billed is counted otherwise, and stands beside it.
const USAGE: &Schema = table! {
    "tokens" => Take::In(table! {
        "input_tokens" => Take::Tokens(Tokens::Input),
        "output_tokens" => Take::Tokens(Tokens::Output),
    }),
    "cached_tokens" => Take::Tokens(Tokens::Cached),
};
