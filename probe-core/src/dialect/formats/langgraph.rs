//! LangGraph's server: events named by the mode that was asked for, messages as tuples of a chunk and
//! its circumstances, or as lists that come whole each time. Nothing but the end of the body tells
//! that a run is over, as every call of a model in it has a finish reason of its own.

use crate::dialect::Dialect;
use crate::dialect::schema::{Act, Shape, Table, Take, Text, Tokens, table};

pub(super) const DIALECT: Dialect = Dialect {
    name: "langgraph",
    kinds: table! {
        "messages" => Act::NOTHING,
        "messages/metadata" => Act::MUTE,
        "messages/partial" => Act::WHOLE,
        "messages/complete" => Act::WHOLE,
    },
    named: true,
    shape: table! {
        "type" => Take::Says(OTHERS),
        "content" => Take::AnswerOrIn(BLOCK),
        "tool_call_chunks" => Take::In(table! { "args" => Take::Text(Text::TOOL) }),
        "additional_kwargs" => Take::In(table! { "reasoning_content" => Take::Text(Text::REASONING) }),
        "response_metadata" => Take::In(RESPONSE),
        "usage_metadata" => Take::In(USAGE),
        "run_id" => Take::Id,
    },
    ends_by_closing: true,
    ..Dialect::PLAIN
};

/// Messages that no model generated.
const OTHERS: &Table<Act> = table! {
    "tool" => Act::MUTE,
    "human" => Act::MUTE,
    "system" => Act::MUTE,
};

const BLOCK: &Shape = table! {
    "text" => Take::Text(Text::ANSWER),
    "thinking" => Take::Text(Text::REASONING),
    "reasoning" => Take::Text(Text::REASONING),
    "partial_json" => Take::Text(Text::TOOL),
    "summary" => Take::In(table! { "text" => Take::Text(Text::REASONING) }),
};

const RESPONSE: &Shape = table! {
    "model_name" => Take::Model,
    "finish_reason" => Take::Reason,
    "stop_reason" => Take::Reason,
};

/// Of one call of a model, in the last of its chunks.
const USAGE: &Shape = table! {
    "input_tokens" => Take::MoreTokens(Tokens::Input),
    "output_tokens" => Take::MoreTokens(Tokens::Output),
    "input_token_details" => Take::In(table! { "cache_read" => Take::MoreTokens(Tokens::Cached) }),
    "output_token_details" => Take::In(table! { "reasoning" => Take::MoreTokens(Tokens::Reasoning) }),
};
