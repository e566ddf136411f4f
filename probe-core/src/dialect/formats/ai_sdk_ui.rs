//! Vercel AI SDK, UI message stream (version 5 and later): typed parts, `finish`, then `[DONE]`. It
//! counts no tokens, but for what an app puts into metadata of its own.

use crate::dialect::schema::{Act, Dialect, Take, table};
use crate::json::Word;
use crate::text_kinds::TextKinds;

pub(super) const DIALECT: Dialect = Dialect {
    name: "ai_sdk_ui",
    event_types: table! {
        "start" => Act::BEGIN.and(Act::COMMON),
        "start-step" => Act::BEGIN,
        "text-start" => Act::NOTHING,
        "text-delta" => Act::text(TextKinds::ANSWER),
        "reasoning-delta" => Act::text(TextKinds::REASONING),
        "tool-input-start" => Act::NOTHING,
        "tool-input-delta" => Act::text(TextKinds::TOOL),
        // As Mastra says it.
        "tool-call-delta" => Act::text(TextKinds::TOOL),
        // Repeats the deltas, or stands in for them.
        "tool-input-available" => Act::text(TextKinds::TOOL),
        "finish" => Act::FINISH.and(Act::COMMON),
        // The server gave the answer up: `[DONE]` follows all the same.
        "abort" => Act::FAIL.and(Act::COMMON),
    },
    key_pairs: &[(MESSAGE_ID, MESSAGE_ID)],
    schema: table! {
        "type" => Take::EventType,
        "messageId" => Take::Id,
        "delta" => Take::Text(TextKinds::BY_TYPE),
        "inputTextDelta" => Take::Text(TextKinds::BY_TYPE),
        // As the SDK's server side has it, assistant-ui, and Mastra.
        "text" => Take::Text(TextKinds::BY_TYPE),
        "textDelta" => Take::Text(TextKinds::BY_TYPE),
        "payload" => Take::In(table! {
            "text" => Take::Text(TextKinds::BY_TYPE),
            "argsTextDelta" => Take::Text(TextKinds::BY_TYPE),
        }),
        "input" => Take::Content(TextKinds::BY_TYPE),
        "finishReason" => Take::Reason,
    },
    marks_end: true,
    ..Dialect::PLAIN
};

const MESSAGE_ID: Word = Word::of(b"messageId");
