//! OpenAI completions, the older API: the frames of chat, with the text in the choice itself.

use crate::dialect::schema::{Act, table};
use super::openai_chat;
use crate::dialect::Dialect;

pub(super) const DIALECT: Dialect = Dialect {
    name: "openai_completions",
    kinds: table! { "text_completion" => Act::NOTHING },
    shape: openai_chat::EVENT,
    clock: Some(&openai_chat::GROQ),
    marks_end: true,
    gives_reason: true,
    ..Dialect::PLAIN
};
