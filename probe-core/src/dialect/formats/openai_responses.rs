//! OpenAI Responses: typed events, numbered by OpenAI itself, and one of three last events that
//! carries the whole answer again.

use crate::dialect::schema::{Act, Number, Shape, Take, Text, Tokens, table};
use crate::dialect::{DETAILS, Dialect, LLAMA_CPP, VLLM};

pub(super) const DIALECT: Dialect = Dialect {
    name: "openai_responses",
    kinds: table! {
        "response.output_text.delta" => Act::text(Text::ANSWER),
        "response.reasoning_text.delta" => Act::text(Text::REASONING),
        "response.reasoning_summary_text.delta" => Act::text(Text::REASONING),
        // By the open specification, and of vLLM.
        "response.reasoning.delta" => Act::text(Text::REASONING),
        "response.refusal.delta" => Act::text(Text::REFUSAL),
        "response.function_call_arguments.delta" => Act::text(Text::TOOL),
        "response.custom_tool_call_input.delta" => Act::text(Text::TOOL),
        "response.mcp_call_arguments.delta" => Act::text(Text::TOOL),
        "response.code_interpreter_call_code.delta" => Act::text(Text::TOOL),
        "response.shell_call_command.delta" => Act::text(Text::TOOL),
        "response.apply_patch_call_operation_diff.delta" => Act::text(Text::TOOL),
        "response.created" => Act::BEGIN,
        // The status that the answer ends with is the same word.
        "response.completed" => Act::END.and(Act::NAMES_REASON),
        "response.incomplete" => Act::END.and(Act::NAMES_REASON),
        "response.failed" => Act::FAIL,
    },
    shape: table! {
        "type" => Take::Kind,
        "sequence_number" => Take::Number(Number::Sequence),
        "delta" => Take::Text(Text::BY_TYPE),
        "response" => Take::In(RESPONSE),
        "error" => Take::If(Act::FAIL),
        "timings" => Take::Clock(&LLAMA_CPP),
    },
    gives_reason: true,
    ..Dialect::PLAIN
};

const RESPONSE: &Shape = table! {
    "id" => Take::Id,
    "model" => Take::Model,
    "usage" => Take::In(USAGE),
    "metrics" => Take::Clock(&VLLM),
    "incomplete_details" => Take::In(table! { "reason" => Take::Reason }),
};

const USAGE: &Shape = table! {
    "input_tokens" => Take::Tokens(Tokens::Input),
    "output_tokens" => Take::Tokens(Tokens::Output),
    "total_tokens" => Take::Tokens(Tokens::Total),
    "input_tokens_details" => Take::In(DETAILS),
    "output_tokens_details" => Take::In(DETAILS),
};
