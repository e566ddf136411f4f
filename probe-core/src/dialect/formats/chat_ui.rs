//! Hugging Face chat-ui: lines of JSON for the answer to a request, the same objects as numbered SSE
//! events for whoever takes an answer up again. Tokens are padded with NULs to hide their length.

use crate::dialect::schema::{Act, Dialect, Take, table};
use crate::json::Word;
use crate::text_kinds::TextKinds;

pub(super) const DIALECT: Dialect = Dialect {
    name: "chat_ui",
    event_types: table! {
        "status" => Act::COMMON,
        "stream" => Act::text(TextKinds::ANSWER).and(Act::COMMON),
        "reasoning" => Act::text(TextKinds::REASONING).and(Act::COMMON),
        "end" => Act::END.and(Act::COMMON),
    },
    key_pairs: &[(TOKEN, TOKEN)],
    schema: table! {
        "type" => Take::EventType,
        "token" => Take::Text(TextKinds::BY_TYPE),
        // A tool call comes whole.
        "call" => Take::Content(TextKinds::TOOL),
        "status" => Take::Word(table! {
            "finished" => Act::END,
            "error" => Act::FAIL,
        }),
    },
    numbered_events: Some(b"update"),
    ..Dialect::PLAIN
};

const TOKEN: Word = Word::of(b"token");
