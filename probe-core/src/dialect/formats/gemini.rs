//! Gemini generateContent, as server-sent events or as one JSON array: candidates in parts, usage
//! that grows with every chunk, a finish reason in the last and no other sign of the end.

use crate::dialect::schema::{Act, Dialect, Schema, Take, Tokens, table};
use crate::event_numbers::Number;
use crate::json::Word;
use crate::text_kinds::TextKinds;

pub(super) const DIALECT: Dialect = Dialect {
    name: "gemini",
    key_pairs: &[(CANDIDATES, CANDIDATES), (PROMPT_FEEDBACK, PROMPT_FEEDBACK)],
    schema: table! {
        "candidates" => Take::Choice(CANDIDATE),
        "promptFeedback" => Take::In(table! { "blockReason" => Take::Reason }),
        "usageMetadata" => Take::In(USAGE),
        "modelVersion" => Take::Model,
        "responseId" => Take::Id,
        "error" => Take::If(Act::FAIL),
    },
    gives_reason: true,
    ..Dialect::PLAIN
};

const CANDIDATES: Word = Word::of(b"candidates");
const PROMPT_FEEDBACK: Word = Word::of(b"promptFeedback");

const CANDIDATE: &Schema = table! {
    "index" => Take::Number(Number::Index),
    "content" => Take::In(table! { "parts" => Take::In(PART) }),
    "finishReason" => Take::Reason,
};

const PART: &Schema = table! {
    "text" => Take::Text(TextKinds::ANSWER),
    "thought" => Take::If(Act::THOUGHT),
    "functionCall" => Take::Content(TextKinds::TOOL),
    "executableCode" => Take::Content(TextKinds::TOOL),
};

/// Thoughts are not among the candidates' tokens.
const USAGE: &Schema = table! {
    "promptTokenCount" => Take::Tokens(Tokens::Input),
    "candidatesTokenCount" => Take::Tokens(Tokens::Output),
    "thoughtsTokenCount" => Take::Tokens(Tokens::ReasoningBeside),
    "cachedContentTokenCount" => Take::Tokens(Tokens::Cached),
};
