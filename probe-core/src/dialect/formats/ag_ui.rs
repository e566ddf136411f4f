//! AG-UI, the protocol of agents and their pages: runs with a first and a last event, text and tool
//! calls in events of their own, and the server's clock in each of them, if it wants.

use beacon::ServerStart;

use crate::dialect::schema::{Act, Dialect, EngineTiming, Schema, Take, Tokens, table};
use crate::event_numbers::Number;
use crate::text_kinds::TextKinds;

pub(super) const DIALECT: Dialect = Dialect {
    name: "ag_ui",
    event_types: table! {
        "RUN_STARTED" => Act::BEGIN,
        "TEXT_MESSAGE_CONTENT" => Act::text(TextKinds::ANSWER),
        "TEXT_MESSAGE_CHUNK" => Act::text(TextKinds::ANSWER),
        "REASONING_MESSAGE_CONTENT" => Act::text(TextKinds::REASONING),
        "REASONING_MESSAGE_CHUNK" => Act::text(TextKinds::REASONING),
        // The older name of the same.
        "THINKING_TEXT_MESSAGE_CONTENT" => Act::text(TextKinds::REASONING),
        "TOOL_CALL_ARGS" => Act::text(TextKinds::TOOL),
        "TOOL_CALL_CHUNK" => Act::text(TextKinds::TOOL),
        "RUN_FINISHED" => Act::END,
        "RUN_ERROR" => Act::FAIL,
    },
    schema: table! {
        "type" => Take::EventType,
        "delta" => Take::Text(TextKinds::BY_TYPE),
        "runId" => Take::Id,
        "outcome" => Take::In(table! { "type" => Take::Reason }),
        "usage" => Take::In(USAGE),
        "timestamp" => Take::Number(Number::Stamp),
    },
    timing: Some(&EngineTiming {
        name: "ag_ui",
        is_provider: false,
        // A run begins when the agent is handed the request.
        starts_from: ServerStart::Arrival,
        ..EngineTiming::PLAIN
    }),
    ..Dialect::PLAIN
};

/// One for each model that the run asked.
const USAGE: &Schema = table! {
    "model" => Take::Model,
    "inputTokens" => Take::MoreTokens(Tokens::Input),
    "outputTokens" => Take::MoreTokens(Tokens::Output),
    "reasoningTokens" => Take::MoreTokens(Tokens::Reasoning),
    "cachedInputTokens" => Take::MoreTokens(Tokens::Cached),
};
