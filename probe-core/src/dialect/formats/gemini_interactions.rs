//! Gemini Interactions: an interaction in steps, each in deltas, its status and usage at its end.

use crate::dialect::schema::{Act, Dialect, Schema, Take, Tokens, table};
use crate::text_kinds::TextKinds;

pub(super) const DIALECT: Dialect = Dialect {
    name: "gemini_interactions",
    provider: Some("gcp.gemini"),
    event_types: table! {
        // It has a status too, which is no reason yet.
        "interaction.created" => Act::BEGIN.and(Act::MUTE),
        "step.start" => Act::NOTHING,
        "step.delta" => Act::NOTHING,
        "interaction.completed" => Act::END,
        "interaction.failed" => Act::FAIL,
        // The older names of the same.
        "interaction.start" => Act::BEGIN.and(Act::MUTE),
        "content.delta" => Act::NOTHING,
        "interaction.complete" => Act::END,
    },
    schema: table! {
        "event_type" => Take::EventType,
        "delta" => Take::In(DELTA),
        "interaction" => Take::In(INTERACTION),
        "error" => Take::If(Act::FAIL),
    },
    gives_reason: true,
    ..Dialect::PLAIN
};

const DELTA: &Schema = table! {
    "type" => Take::Word(table! { "thought_summary" => Act::THOUGHT }),
    "text" => Take::Text(TextKinds::ANSWER),
    "content" => Take::In(table! { "text" => Take::Text(TextKinds::ANSWER) }),
    "arguments" => Take::Content(TextKinds::TOOL),
};

const INTERACTION: &Schema = table! {
    "id" => Take::Id,
    "model" => Take::Model,
    "status" => Take::Reason,
    "usage" => Take::In(USAGE),
};

/// Thoughts are not among the output.
const USAGE: &Schema = table! {
    "total_input_tokens" => Take::Tokens(Tokens::Input),
    "total_output_tokens" => Take::Tokens(Tokens::Output),
    "total_thought_tokens" => Take::Tokens(Tokens::ReasoningBeside),
    "total_cached_tokens" => Take::Tokens(Tokens::Cached),
};
