//! OpenAI Responses: typed events, which OpenAI itself numbers, and one of three last events, which repeats the whole
//! answer. The Realtime API has the same events, with another last one.

use super::shared_tables::{DETAILS, LLAMA_CPP, VLLM};
use crate::dialect::schema::{Act, Dialect, Schema, Take, Tokens, table};
use crate::event_numbers::Number;
use crate::text_kinds::TextKinds;

pub(super) const DIALECT: Dialect = Dialect {
    name: "openai_responses",
    event_types: table! {
        "response.output_text.delta" => Act::text(TextKinds::ANSWER),
        "response.reasoning_text.delta" => Act::text(TextKinds::REASONING),
        "response.reasoning_summary_text.delta" => Act::text(TextKinds::REASONING),
        // In the open specification, and from vLLM.
        "response.reasoning.delta" => Act::text(TextKinds::REASONING),
        "response.refusal.delta" => Act::text(TextKinds::REFUSAL),
        "response.function_call_arguments.delta" => Act::text(TextKinds::TOOL),
        "response.custom_tool_call_input.delta" => Act::text(TextKinds::TOOL),
        "response.mcp_call_arguments.delta" => Act::text(TextKinds::TOOL),
        "response.code_interpreter_call_code.delta" => Act::text(TextKinds::TOOL),
        "response.shell_call_command.delta" => Act::text(TextKinds::TOOL),
        "response.apply_patch_call_operation_diff.delta" => Act::text(TextKinds::TOOL),
        "response.created" => Act::BEGIN,
        // The final status of the answer is the same word.
        "response.completed" => Act::END.and(Act::NAMES_REASON),
        "response.incomplete" => Act::END.and(Act::NAMES_REASON),
        "response.failed" => Act::FAIL,
        // Of the Realtime API.
        "response.done" => Act::END.and(Act::NAMES_REASON),
        "response.text.delta" => Act::text(TextKinds::ANSWER),
        "response.output_audio_transcript.delta" => Act::text(TextKinds::ANSWER),
    },
    schema: table! {
        "type" => Take::EventType,
        "sequence_number" => Take::Number(Number::Sequence),
        "delta" => Take::Text(TextKinds::BY_TYPE),
        "response" => Take::In(RESPONSE),
        "error" => Take::If(Act::FAIL),
        "timings" => Take::Timing(&LLAMA_CPP),
    },
    gives_reason: true,
    ..Dialect::PLAIN
};

const RESPONSE: &Schema = table! {
    "id" => Take::Id,
    "model" => Take::Model,
    "usage" => Take::In(USAGE),
    "metrics" => Take::Timing(&VLLM),
    "status_details" => Take::In(table! { "reason" => Take::Reason, "error" => Take::If(Act::FAIL) }),
    "incomplete_details" => Take::In(table! { "reason" => Take::Reason }),
};

const USAGE: &Schema = table! {
    "input_tokens" => Take::Tokens(Tokens::Input),
    "output_tokens" => Take::Tokens(Tokens::Output),
    "total_tokens" => Take::Tokens(Tokens::Total),
    "input_tokens_details" => Take::In(DETAILS),
    "output_tokens_details" => Take::In(DETAILS),
};
