//! Hugging Face chat-ui: lines of JSON for the answer to a request, the same objects as numbered SSE
//! events for whoever takes an answer up again. Tokens are padded with NULs to hide their length.

use super::Dialect;
use super::shape::{Act, Take, Text, table};

pub(super) static DIALECT: Dialect = Dialect {
    name: "chat_ui",
    kinds: table! {
        "status" => Act::NOTHING,
        "stream" => Act::text(Text::ANSWER),
        "reasoning" => Act::text(Text::REASONING),
        "end" => Act::END,
    },
    shape: table! {
        "type" => Take::Kind,
        "token" => Take::Text(Text::BY_TYPE),
        // A tool call comes whole.
        "call" => Take::Thing(Text::TOOL),
        "status" => Take::Says(table! {
            "finished" => Act::END,
            "error" => Act::FAIL,
        }),
    },
    numbered: Some(b"update"),
    ..Dialect::PLAIN
};
