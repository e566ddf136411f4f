//! Cohere chat, version 2: a message in contents and tool calls, its reason and usage at its end.

use crate::dialect::Dialect;
use crate::dialect::schema::{Act, Shape, Take, Text, Tokens, table};

pub(super) const DIALECT: Dialect = Dialect {
    name: "cohere",
    provider: Some("cohere"),
    kinds: table! {
        "message-start" => Act::BEGIN,
        "content-start" => Act::NOTHING,
        "content-delta" => Act::NOTHING,
        "message-end" => Act::END,
    },
    shape: table! {
        "type" => Take::Kind,
        "id" => Take::Id,
        "delta" => Take::In(DELTA),
    },
    gives_reason: true,
    ..Dialect::PLAIN
};

const DELTA: &Shape = table! {
    "message" => Take::In(MESSAGE),
    "finish_reason" => Take::Reason,
    "error" => Take::If(Act::FAIL),
    "usage" => Take::In(USAGE),
};

const MESSAGE: &Shape = table! {
    "content" => Take::In(table! {
        "text" => Take::Text(Text::ANSWER),
        "thinking" => Take::Text(Text::REASONING),
    }),
    "tool_plan" => Take::Text(Text::REASONING),
    "tool_calls" => Take::In(table! {
        "function" => Take::In(table! { "arguments" => Take::Text(Text::TOOL) }),
    }),
};

/// What is billed is counted otherwise, and stands beside it.
const USAGE: &Shape = table! {
    "tokens" => Take::In(table! {
        "input_tokens" => Take::Tokens(Tokens::Input),
        "output_tokens" => Take::Tokens(Tokens::Output),
    }),
    "cached_tokens" => Take::Tokens(Tokens::Cached),
};
