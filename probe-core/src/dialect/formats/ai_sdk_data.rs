//! Vercel AI SDK, data stream (version 4 and before): lines of a code and JSON, the whole answer's
//! reason and usage in the last, `d`.

use crate::dialect::schema::{Act, Dialect, Schema, Take, Tokens, table};
use crate::text_kinds::TextKinds;

pub(super) const DIALECT: Dialect = Dialect {
    name: "ai_sdk_data",
    event_types: table! {
        // Helpers that write such lines without steps write no end either.
        "f" => Act::OWES_END,
        "0" => Act::text(TextKinds::ANSWER),
        "g" => Act::text(TextKinds::REASONING),
        "c" => Act::text(TextKinds::TOOL),
        // Repeats the deltas, or stands in for them.
        "9" => Act::text(TextKinds::TOOL),
        "3" => Act::FAIL,
        // The end of a step has a reason too, and another step may follow.
        "e" => Act::MUTE,
        "d" => Act::END,
    },
    typed_by_name: true,
    schema: table! {
        "messageId" => Take::Id,
        "argsTextDelta" => Take::Text(TextKinds::BY_TYPE),
        "args" => Take::Content(TextKinds::BY_TYPE),
        "finishReason" => Take::Reason,
        "usage" => Take::In(USAGE),
    },
    gives_reason: true,
    ends_by_closing: true,
    ..Dialect::PLAIN
};

const USAGE: &Schema = table! {
    "promptTokens" => Take::Tokens(Tokens::Input),
    "completionTokens" => Take::Tokens(Tokens::Output),
};
