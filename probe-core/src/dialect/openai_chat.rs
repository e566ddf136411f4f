//! OpenAI chat completions, and the many servers that speak it: role-only frames first, deltas, a
//! finish reason per choice, often a usage frame, then `[DONE]`.

use super::shape::{Number, Reading, Shape, Take, Tokens};
use super::{Clues, DETAILS, Dialect, Facts, TIMINGS_SHAPE, Text, settle_llama_cpp};
use crate::json::{Word, words};

pub(super) const DIALECT: Dialect = Dialect {
    name: "openai_chat",
    recognise: |clues| clues.has(Clues::CHOICES) && clues.object != Word::of(b"text_completion"),
    shape: EVENT,
    settle: |facts, event| facts.repeat_id(event.id),
    marks_end: true,
    gives_reason: true,
};

/// Which choices were seen, and which of them have finished; one bit each.
#[derive(Clone, Default)]
pub(super) struct Choices {
    seen: u64,
    finished: u64,
}

const EVENT: &Shape = &[
    (CHOICES, Take::Then(CHOICE, settle_choice)),
    (ID, Take::Id),
    (MODEL, Take::Model),
    (USAGE, Take::In(USAGE_SHAPE)),
    (ERROR, Take::Error),
    (TIMINGS, Take::Then(TIMINGS_SHAPE, settle_llama_cpp)),
    (X_GROQ, Take::Then(GROQ, |facts, _| facts.provider = Some("groq"))),
    (TIME_INFO, Take::Proves("cerebras")),
];

const CHOICE: &Shape =
    &[(INDEX, Take::Number(Number::Index)), (DELTA, Take::In(DELTA_SHAPE)), (FINISH_REASON, Take::Reason)];

const DELTA_SHAPE: &Shape = &[
    (CONTENT, Take::TextOrParts(Text::ANSWER, PARTS)),
    (REASONING_CONTENT, Take::Text(Text::REASONING)),
    (REASONING, Take::Text(Text::REASONING)),
    (REASONING_DETAILS, Take::In(THOUGHTS)),
    (REFUSAL, Take::Text(Text::REFUSAL)),
    (TOOL_CALLS, Take::In(&[(FUNCTION, Take::In(CALL))])),
    (FUNCTION_CALL, Take::In(CALL)),
];

/// Mistral's answers come as a list of parts, where thinking has parts of its own.
const PARTS: &Shape = &[(TEXT, Take::Text(Text::ANSWER)), (THINKING, Take::In(THOUGHTS))];

/// Those, and OpenRouter's reasoning.
const THOUGHTS: &Shape = &[(TEXT, Take::Text(Text::REASONING)), (SUMMARY, Take::Text(Text::REASONING))];

const CALL: &Shape = &[(ARGUMENTS, Take::Text(Text::TOOL))];

const USAGE_SHAPE: &Shape = &[
    (PROMPT_TOKENS, Take::Tokens(Tokens::Input)),
    (COMPLETION_TOKENS, Take::Tokens(Tokens::Output)),
    (TOTAL_TOKENS, Take::Tokens(Tokens::Total)),
    (PROMPT_TOKENS_DETAILS, Take::In(DETAILS)),
    (COMPLETION_TOKENS_DETAILS, Take::In(DETAILS)),
    // Azure puts it beside the others, and DeepSeek has a name of its own for cached tokens.
    (REASONING_TOKENS, Take::Tokens(Tokens::Reasoning)),
    (PROMPT_CACHE_HIT_TOKENS, Take::Tokens(Tokens::Cached)),
];

/// Older answers of Groq count tokens only here.
const GROQ: &Shape = &[(USAGE, Take::In(USAGE_SHAPE))];

fn settle_choice(facts: &mut Facts, choice: &mut Reading) {
    let index = choice.take_count(Number::Index).unwrap_or(0);
    let bit = u32::try_from(index).ok().and_then(|index| 1u64.checked_shl(index)).unwrap_or(0);
    facts.choices.seen |= bit;
    if choice.reason.is_some() {
        facts.choices.finished |= bit;
        facts.finish(choice.reason.take());
    }
    if facts.choices.finished != 0 {
        facts.finished = facts.choices.finished == facts.choices.seen;
    }
}

words! {
    ARGUMENTS = b"arguments",
    CHOICES = b"choices",
    COMPLETION_TOKENS = b"completion_tokens",
    COMPLETION_TOKENS_DETAILS = b"completion_tokens_details",
    CONTENT = b"content",
    DELTA = b"delta",
    ERROR = b"error",
    FINISH_REASON = b"finish_reason",
    FUNCTION = b"function",
    FUNCTION_CALL = b"function_call",
    ID = b"id",
    INDEX = b"index",
    MODEL = b"model",
    PROMPT_CACHE_HIT_TOKENS = b"prompt_cache_hit_tokens",
    PROMPT_TOKENS = b"prompt_tokens",
    PROMPT_TOKENS_DETAILS = b"prompt_tokens_details",
    REASONING = b"reasoning",
    REASONING_CONTENT = b"reasoning_content",
    REASONING_DETAILS = b"reasoning_details",
    REASONING_TOKENS = b"reasoning_tokens",
    REFUSAL = b"refusal",
    SUMMARY = b"summary",
    TEXT = b"text",
    THINKING = b"thinking",
    TIME_INFO = b"time_info",
    TIMINGS = b"timings",
    TOOL_CALLS = b"tool_calls",
    TOTAL_TOKENS = b"total_tokens",
    USAGE = b"usage",
    X_GROQ = b"x_groq",
}
