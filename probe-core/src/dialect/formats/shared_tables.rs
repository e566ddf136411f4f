//! Tables that several formats share, and those that are the same in all of them.

use beacon::ServerStart;

use crate::dialect::schema::{Act, EngineTiming, Schema, Table, Take, Tokens, table};
use crate::event_numbers::Number;

/// Finish reasons of an answer that broke off.
pub(in crate::dialect) const FAILURES: &Table<Act> = table! {
    "error" => Act::FAIL,
    "ERROR" => Act::FAIL,
    "failed" => Act::FAIL,
    "abort" => Act::FAIL,
    "TIMEOUT" => Act::FAIL,
    "network_error" => Act::FAIL,
    "insufficient_system_resource" => Act::FAIL,
};

/// The detailed counts, which every OpenAI format has in objects of their own.
pub(in crate::dialect) const DETAILS: &Schema = table! {
    "cached_tokens" => Take::Tokens(Tokens::Cached),
    "reasoning_tokens" => Take::Tokens(Tokens::Reasoning),
    "thinking_tokens" => Take::Tokens(Tokens::Reasoning),
};

/// llama.cpp's own timing, in every dialect that it speaks. Its prompt time begins when a slot takes the request: the
/// wait for a slot is not in it.
pub(in crate::dialect) const LLAMA_CPP: EngineTiming = EngineTiming {
    name: "llama_cpp",
    starts_from: ServerStart::Prefill,
    // There are times while it still reads the prompt, too.
    needs: Number::Generated,
    schema: table! {
        "prompt_ms" => Take::Number(Number::Prompt),
        "predicted_ms" => Take::Number(Number::Generation),
        "predicted_n" => Take::Number(Number::Generated),
    },
    ..EngineTiming::PLAIN
};

/// vLLM's own timing, if it was started with `--enable-per-request-metrics`. Its time to first token starts when the
/// request was scheduled, and the wait for that is beside it.
pub(in crate::dialect) const VLLM: EngineTiming = EngineTiming {
    name: "vllm",
    starts_from: ServerStart::Scheduled,
    schema: table! {
        "queue_time_ms" => Take::Number(Number::Queue),
        "time_to_first_token_ms" => Take::Number(Number::Prompt),
        "generation_time_ms" => Take::Number(Number::Generation),
    },
    ..EngineTiming::PLAIN
};

/// Our own timing, in a comment.
pub(in crate::dialect) const COMMENT: &Schema = table! {
    "ttft_ms" => Take::Number(Number::Prompt),
    "queue_ms" => Take::Number(Number::Queue),
    "generation_ms" => Take::Number(Number::Generation),
    "output_tokens" => Take::Number(Number::Generated),
    "id" => Take::Id,
};
