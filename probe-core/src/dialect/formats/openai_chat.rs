//! OpenAI chat completions, and the many servers that speak it: role-only frames first, deltas, a
//! finish reason per choice, often a usage frame, then `[DONE]`.

use beacon::ServerStart;

use crate::dialect::schema::{Act, Number, Shape, Take, Text, Tokens, table};
use crate::dialect::{DETAILS, Dialect, LLAMA_CPP, VLLM};
use crate::json::Word;
use crate::server_timing::{Clock, Unit};

pub(super) const DIALECT: Dialect = Dialect {
    name: "openai_chat",
    signs: &[(CHOICES, CHOICES)],
    shape: EVENT,
    clock: Some(&GROQ),
    marks_end: true,
    gives_reason: true,
    ..Dialect::PLAIN
};

/// Completions look the same, but for the text in the choice itself.
pub(super) const EVENT: &Shape = table! {
    "choices" => Take::Choice(CHOICE),
    // Engines end an answer that broke off with an object of that kind.
    "object" => Take::Kind,
    "id" => Take::Id,
    "model" => Take::Model,
    "usage" => Take::In(USAGE),
    "error" => Take::If(Act::FAIL),
    "timings" => Take::Clock(&LLAMA_CPP),
    "metrics" => Take::Clock(&VLLM),
    "x_groq" => Take::In(table! {
        "id" => Take::Proves(&GROQ),
        // Older answers count tokens only here.
        "usage" => Take::In(USAGE),
        "error" => Take::If(Act::FAIL),
    }),
    "time_info" => Take::Clock(&CEREBRAS),
};

const CHOICES: Word = Word::of(b"choices");

const CHOICE: &Shape = table! {
    "index" => Take::Number(Number::Index),
    "delta" => Take::In(DELTA),
    "text" => Take::Text(Text::ANSWER),
    "finish_reason" => Take::Reason,
    // Kimi counts here.
    "usage" => Take::In(USAGE),
};

const DELTA: &Shape = table! {
    "content" => Take::AnswerOrIn(PARTS),
    "reasoning_content" => Take::Text(Text::REASONING),
    "reasoning" => Take::Text(Text::REASONING),
    "reasoning_details" => Take::In(THOUGHTS),
    "refusal" => Take::Text(Text::REFUSAL),
    "tool_calls" => Take::In(table! { "function" => Take::In(CALL) }),
    "function_call" => Take::In(CALL),
};

/// Mistral's answers come as a list of parts, where thinking has parts of its own.
pub(super) const PARTS: &Shape = table! {
    "text" => Take::Text(Text::ANSWER),
    "thinking" => Take::In(THOUGHTS),
};

/// Those, and OpenRouter's reasoning.
const THOUGHTS: &Shape = table! {
    "text" => Take::Text(Text::REASONING),
    "summary" => Take::Text(Text::REASONING),
};

const CALL: &Shape = table! { "arguments" => Take::Text(Text::TOOL) };

const USAGE: &Shape = table! {
    "prompt_tokens" => Take::Tokens(Tokens::Input),
    "completion_tokens" => Take::Tokens(Tokens::Output),
    "total_tokens" => Take::Tokens(Tokens::Total),
    "prompt_tokens_details" => Take::In(DETAILS),
    "completion_tokens_details" => Take::In(DETAILS),
    // Azure puts it beside the others, and DeepSeek has a name of its own for cached tokens.
    "reasoning_tokens" => Take::Tokens(Tokens::Reasoning),
    "prompt_cache_hit_tokens" => Take::Tokens(Tokens::Cached),
    "cached_tokens" => Take::Tokens(Tokens::Cached),
    "queue_time" => Take::Number(Number::Queue),
    "prompt_time" => Take::Number(Number::Prompt),
    "completion_time" => Take::Number(Number::Generation),
};

/// Groq's times stand among its counts, in seconds.
pub(super) const GROQ: Clock =
    Clock { name: "groq", starts_from: ServerStart::Scheduled, unit: Unit::Second, ..Clock::PLAIN };

const CEREBRAS: Clock = Clock {
    name: "cerebras",
    shape: table! {
        "queue_time" => Take::Number(Number::Queue),
        "prompt_time" => Take::Number(Number::Prompt),
        "completion_time" => Take::Number(Number::Generation),
    },
    ..GROQ
};
