//! LangGraph's server: events named by the mode that was asked for, messages as tuples of a chunk and
//! its circumstances, or as lists that come whole each time. Nothing but the end of the body tells
//! that a run is over, as every call of a model in it has a finish reason of its own.

use crate::dialect::schema::{Act, Dialect, Schema, Table, Take, Tokens, table};
use crate::text_kinds::TextKinds;

pub(super) const DIALECT: Dialect = Dialect {
    name: "langgraph",
    event_types: table! {
        "messages" => Act::NOTHING,
        "messages/metadata" => Act::MUTE,
        "messages/partial" => Act::CUMULATIVE,
        "messages/complete" => Act::CUMULATIVE,
    },
    typed_by_name: true,
    schema: table! {
        "type" => Take::Word(OTHERS),
        "content" => Take::AnswerOrIn(BLOCK),
        "tool_call_chunks" => Take::In(table! { "args" => Take::Text(TextKinds::TOOL) }),
        "additional_kwargs" => Take::In(table! { "reasoning_content" => Take::Text(TextKinds::REASONING) }),
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

const BLOCK: &Schema = table! {
    "text" => Take::Text(TextKinds::ANSWER),
    "thinking" => Take::Text(TextKinds::REASONING),
    "reasoning" => Take::Text(TextKinds::REASONING),
    "partial_json" => Take::Text(TextKinds::TOOL),
    "summary" => Take::In(table! { "text" => Take::Text(TextKinds::REASONING) }),
};

const RESPONSE: &Schema = table! {
    "model_name" => Take::Model,
    "finish_reason" => Take::Reason,
    "stop_reason" => Take::Reason,
};

/// Of one call of a model, in the last of its chunks.
const USAGE: &Schema = table! {
    "input_tokens" => Take::MoreTokens(Tokens::Input),
    "output_tokens" => Take::MoreTokens(Tokens::Output),
    "input_token_details" => Take::In(table! { "cache_read" => Take::MoreTokens(Tokens::Cached) }),
    "output_token_details" => Take::In(table! { "reasoning" => Take::MoreTokens(Tokens::Reasoning) }),
};
