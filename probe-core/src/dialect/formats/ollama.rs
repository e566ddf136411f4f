//! Ollama's own API, chat and generate: one JSON object per line, the last with `done` and all
//! counts and durations.

use beacon::ServerStart;

use crate::dialect::schema::{Act, Dialect, EngineTiming, Schema, Take, Tokens, table};
use crate::event_numbers::Number;
use crate::json::Word;
use crate::server_timing::Unit;
use crate::text_kinds::TextKinds;

/// `done` ends it, with a reason only since 2024.
pub(super) const DIALECT: Dialect = Dialect {
    name: "ollama",
    provider: Some("ollama"),
    key_pairs: &[(Word::of(b"done"), Word::of(b"created_at"))],
    schema: table! {
        "model" => Take::Model,
        "message" => Take::In(MESSAGE),
        "response" => Take::Text(TextKinds::ANSWER),
        "thinking" => Take::Text(TextKinds::REASONING),
        "done" => Take::If(Act::END),
        "done_reason" => Take::Reason,
        "error" => Take::If(Act::FAIL),
        "prompt_eval_count" => Take::Tokens(Tokens::Input),
        "eval_count" => Take::Tokens(Tokens::Output),
        "load_duration" => Take::Number(Number::Load),
        "prompt_eval_duration" => Take::Number(Number::Prompt),
        "eval_duration" => Take::Number(Number::Generation),
    },
    timing: Some(&EngineTiming {
        name: "ollama",
        // Loading includes the wait for a free runner, and is followed by the prompt.
        starts_from: ServerStart::Arrival,
        unit: Unit::Nanosecond,
        // It leaves out what is zero, which loading never is.
        needs: Number::Load,
        ..EngineTiming::PLAIN
    }),
    ..Dialect::PLAIN
};

const MESSAGE: &Schema = table! {
    "content" => Take::Text(TextKinds::ANSWER),
    "thinking" => Take::Text(TextKinds::REASONING),
    // Tool calls come whole, with arguments as an object.
    "tool_calls" => Take::In(table! { "function" => Take::Content(TextKinds::TOOL) }),
};
