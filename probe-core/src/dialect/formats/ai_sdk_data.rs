//! Vercel AI SDK, data stream (version 4 and before): lines of a code and JSON, the whole answer's
//! reason and usage in the last, `d`.

use crate::dialect::Dialect;
use crate::dialect::schema::{Act, Shape, Take, Text, Tokens, table};

pub(super) const DIALECT: Dialect = Dialect {
    name: "ai_sdk_data",
    kinds: table! {
        // Helpers that write such lines without steps write no end either.
        "f" => Act::OWES_END,
        "0" => Act::text(Text::ANSWER),
        "g" => Act::text(Text::REASONING),
        "c" => Act::text(Text::TOOL),
        // Repeats the deltas, or stands in for them.
        "9" => Act::text(Text::TOOL),
        "3" => Act::FAIL,
        // The end of a step has a reason too, and another step may follow.
        "e" => Act::MUTE,
        "d" => Act::END,
    },
    named: true,
    shape: table! {
        "messageId" => Take::Id,
        "argsTextDelta" => Take::Text(Text::BY_TYPE),
        "args" => Take::Thing(Text::BY_TYPE),
        "finishReason" => Take::Reason,
        "usage" => Take::In(USAGE),
    },
    gives_reason: true,
    ends_by_closing: true,
    ..Dialect::PLAIN
};

const USAGE: &Shape = table! {
    "promptTokens" => Take::Tokens(Tokens::Input),
    "completionTokens" => Take::Tokens(Tokens::Output),
};
