//! Gemini generateContent, as server-sent events or as one JSON array: candidates in parts, usage
//! that grows with every chunk, a finish reason in the last and no other sign of the end.

use crate::dialect::Dialect;
use crate::dialect::schema::{Act, Number, Shape, Take, Text, Tokens, table};
use crate::json::Word;

pub(super) const DIALECT: Dialect = Dialect {
    name: "gemini",
    signs: &[(CANDIDATES, CANDIDATES), (PROMPT_FEEDBACK, PROMPT_FEEDBACK)],
    shape: table! {
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

const CANDIDATE: &Shape = table! {
    "index" => Take::Number(Number::Index),
    "content" => Take::In(table! { "parts" => Take::In(PART) }),
    "finishReason" => Take::Reason,
};

const PART: &Shape = table! {
    "text" => Take::Text(Text::ANSWER),
    "thought" => Take::If(Act::THOUGHT),
    "functionCall" => Take::Thing(Text::TOOL),
    "executableCode" => Take::Thing(Text::TOOL),
};

/// Thoughts are not among the candidates' tokens.
const USAGE: &Shape = table! {
    "promptTokenCount" => Take::Tokens(Tokens::Input),
    "candidatesTokenCount" => Take::Tokens(Tokens::Output),
    "thoughtsTokenCount" => Take::Tokens(Tokens::ReasoningBeside),
    "cachedContentTokenCount" => Take::Tokens(Tokens::Cached),
};
