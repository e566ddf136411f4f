//! OpenAI chat completions, and the many servers that speak it: frames with a role only, deltas, a finish reason per
//! choice, often a usage frame, then `[DONE]`.

use beacon::ServerStart;

use super::shared_tables::{DETAILS, LLAMA_CPP, VLLM};
use crate::dialect::schema::{Act, Dialect, EngineTiming, Schema, Take, Tokens, table};
use crate::event_numbers::Number;
use crate::json::Word;
use crate::server_timing::Unit;
use crate::text_kinds::TextKinds;

pub(super) const DIALECT: Dialect = Dialect {
    name: "openai_chat",
    key_pairs: &[(CHOICES, CHOICES)],
    schema: EVENT,
    timing: Some(&GROQ),
    marks_end: true,
    gives_reason: true,
    ..Dialect::PLAIN
};

/// Completions have the same frames, but for the text in the choice itself.
pub(super) const EVENT: &Schema = table! {
    "choices" => Take::Choice(CHOICE),
    // If an answer breaks off, engines send an error object as its last event.
    "object" => Take::EventType,
    "id" => Take::Id,
    "model" => Take::Model,
    "usage" => Take::In(USAGE),
    "error" => Take::If(Act::FAIL),
    "timings" => Take::Timing(&LLAMA_CPP),
    "metrics" => Take::Timing(&VLLM),
    "x_groq" => Take::In(table! {
        "id" => Take::ProvesProvider(&GROQ),
        // Older responses have their token counts only here.
        "usage" => Take::In(USAGE),
        "error" => Take::If(Act::FAIL),
    }),
    "time_info" => Take::Timing(&CEREBRAS),
};

const CHOICES: Word = Word::of(b"choices");

const CHOICE: &Schema = table! {
    "index" => Take::Number(Number::Index),
    "delta" => Take::In(DELTA),
    "text" => Take::Text(TextKinds::ANSWER),
    "finish_reason" => Take::Reason,
    // Kimi has its counts here.
    "usage" => Take::In(USAGE),
};

const DELTA: &Schema = table! {
    "content" => Take::AnswerOrIn(PARTS),
    "reasoning_content" => Take::Text(TextKinds::REASONING),
    "reasoning" => Take::Text(TextKinds::REASONING),
    "reasoning_details" => Take::In(THOUGHTS),
    "refusal" => Take::Text(TextKinds::REFUSAL),
    "tool_calls" => Take::In(table! { "function" => Take::In(CALL) }),
    "function_call" => Take::In(CALL),
};

/// Mistral sends a list of parts, where thinking has parts of its own.
pub(super) const PARTS: &Schema = table! {
    "text" => Take::Text(TextKinds::ANSWER),
    "thinking" => Take::In(THOUGHTS),
};

/// Mistral's thinking and OpenRouter's reasoning.
const THOUGHTS: &Schema = table! {
    "text" => Take::Text(TextKinds::REASONING),
    "summary" => Take::Text(TextKinds::REASONING),
};

const CALL: &Schema = table! { "arguments" => Take::Text(TextKinds::TOOL) };

const USAGE: &Schema = table! {
    "prompt_tokens" => Take::Tokens(Tokens::Input),
    "completion_tokens" => Take::Tokens(Tokens::Output),
    "total_tokens" => Take::Tokens(Tokens::Total),
    "prompt_tokens_details" => Take::In(DETAILS),
    "completion_tokens_details" => Take::In(DETAILS),
    // Azure has this count beside the others, and DeepSeek has a name of its own for cached tokens.
    "reasoning_tokens" => Take::Tokens(Tokens::Reasoning),
    "prompt_cache_hit_tokens" => Take::Tokens(Tokens::Cached),
    "cached_tokens" => Take::Tokens(Tokens::Cached),
    "queue_time" => Take::Number(Number::Queue),
    "prompt_time" => Take::Number(Number::Prompt),
    "completion_time" => Take::Number(Number::Generation),
};

/// Groq has its times among the token counts, in seconds.
pub(super) const GROQ: EngineTiming = EngineTiming {
    name: "groq",
    starts_from: ServerStart::Scheduled,
    unit: Unit::Second,
    ..EngineTiming::PLAIN
};

const CEREBRAS: EngineTiming = EngineTiming {
    name: "cerebras",
    schema: table! {
        "queue_time" => Take::Number(Number::Queue),
        "prompt_time" => Take::Number(Number::Prompt),
        "completion_time" => Take::Number(Number::Generation),
    },
    ..GROQ
};
