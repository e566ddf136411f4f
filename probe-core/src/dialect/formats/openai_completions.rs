//! OpenAI completions, the older API: the frames of chat, with the text in the choice itself.

use super::openai_chat;
use crate::dialect::schema::{Act, Dialect, table};

pub(super) const DIALECT: Dialect = Dialect {
    name: "openai_completions",
    event_types: table! { "text_completion" => Act::NOTHING },
    schema: openai_chat::EVENT,
    timing: Some(&openai_chat::GROQ),
    marks_end: true,
    gives_reason: true,
    ..Dialect::PLAIN
};
