//! Mistral conversations: typed events for a message, for calls of functions and of tools that run on
//! the server, and for the agents that hand over to each other.

use super::openai_chat::PARTS;
use crate::dialect::schema::{Act, Dialect, Schema, Take, Tokens, table};
use crate::text_kinds::TextKinds;

pub(super) const DIALECT: Dialect = Dialect {
    name: "mistral_conversations",
    provider: Some("mistral_ai"),
    event_types: table! {
        "conversation.response.started" => Act::BEGIN,
        "message.output.delta" => Act::NOTHING,
        "function.call.delta" => Act::NOTHING,
        "tool.execution.started" => Act::NOTHING,
        "conversation.response.done" => Act::END,
        "conversation.response.error" => Act::FAIL,
    },
    schema: table! {
        "type" => Take::EventType,
        "conversation_id" => Take::Id,
        "model" => Take::Model,
        "content" => Take::AnswerOrIn(PARTS),
        "arguments" => Take::Text(TextKinds::TOOL),
        "usage" => Take::In(USAGE),
    },
    ..Dialect::PLAIN
};

/// Its total counts what tools brought in too.
const USAGE: &Schema = table! {
    "prompt_tokens" => Take::Tokens(Tokens::Input),
    "completion_tokens" => Take::Tokens(Tokens::Output),
};
