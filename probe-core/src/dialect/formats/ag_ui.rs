//! AG-UI, the protocol of agents and their pages: runs with a first and a last event, text and tool
//! calls in events of their own, and the server's clock in each of them, if it wants.

use beacon::ServerStart;

use crate::dialect::Dialect;
use crate::dialect::schema::{Act, Number, Shape, Take, Text, Tokens, table};
use crate::server_timing::Clock;

pub(super) const DIALECT: Dialect = Dialect {
    name: "ag_ui",
    kinds: table! {
        "RUN_STARTED" => Act::BEGIN,
        "TEXT_MESSAGE_CONTENT" => Act::text(Text::ANSWER),
        "TEXT_MESSAGE_CHUNK" => Act::text(Text::ANSWER),
        "REASONING_MESSAGE_CONTENT" => Act::text(Text::REASONING),
        "REASONING_MESSAGE_CHUNK" => Act::text(Text::REASONING),
        // The older name of the same.
        "THINKING_TEXT_MESSAGE_CONTENT" => Act::text(Text::REASONING),
        "TOOL_CALL_ARGS" => Act::text(Text::TOOL),
        "TOOL_CALL_CHUNK" => Act::text(Text::TOOL),
        "RUN_FINISHED" => Act::END,
        "RUN_ERROR" => Act::FAIL,
    },
    shape: table! {
        "type" => Take::Kind,
        "delta" => Take::Text(Text::BY_TYPE),
        "runId" => Take::Id,
        "outcome" => Take::In(table! { "type" => Take::Reason }),
        "usage" => Take::In(USAGE),
        "timestamp" => Take::Number(Number::Stamp),
    },
    clock: Some(&Clock {
        name: "ag_ui",
        is_provider: false,
        // A run begins when the agent is handed the request.
        starts_from: ServerStart::Arrival,
        ..Clock::PLAIN
    }),
    ..Dialect::PLAIN
};

/// One for each model that the run asked.
const USAGE: &Shape = table! {
    "model" => Take::Model,
    "inputTokens" => Take::MoreTokens(Tokens::Input),
    "outputTokens" => Take::MoreTokens(Tokens::Output),
    "reasoningTokens" => Take::MoreTokens(Tokens::Reasoning),
    "cachedInputTokens" => Take::MoreTokens(Tokens::Cached),
};
