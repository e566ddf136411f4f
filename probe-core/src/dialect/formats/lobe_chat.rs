//! LobeChat: SSE events named by what they carry, which is mostly a bare string. Their id is that of
//! the message, the same for all, and numbers nothing.

use beacon::ServerStart;

use crate::dialect::schema::{Act, BARE, Dialect, EngineTiming, Take, Tokens, table};
use crate::event_numbers::Number;
use crate::json::Word;
use crate::text_kinds::TextKinds;

pub(super) const DIALECT: Dialect = Dialect {
    name: "lobe_chat",
    event_types: table! {
        "text" => Act::text(TextKinds::ANSWER).and(Act::COMMON),
        "content_part" => Act::text(TextKinds::ANSWER).and(Act::COMMON),
        "reasoning" => Act::text(TextKinds::REASONING).and(Act::COMMON),
        "reasoning_part" => Act::text(TextKinds::REASONING).and(Act::COMMON),
        "tool_calls" => Act::COMMON,
        "stop" => Act::END.and(Act::NAMES_REASON).and(Act::COMMON),
    },
    key_pairs: &[(BARE, BARE), (PART_TYPE, PART_TYPE)],
    typed_by_name: true,
    schema: table! {
        "content" => Take::Text(TextKinds::BY_TYPE),
        "function" => Take::In(table! { "arguments" => Take::Text(TextKinds::TOOL) }),
        "totalInputTokens" => Take::Tokens(Tokens::Input),
        "totalOutputTokens" => Take::Tokens(Tokens::Output),
        "outputReasoningTokens" => Take::Tokens(Tokens::Reasoning),
        "inputCachedTokens" => Take::Tokens(Tokens::Cached),
        "ttft" => Take::Number(Number::Prompt),
        "duration" => Take::Number(Number::Generation),
    },
    timing: Some(&EngineTiming {
        name: "lobe_chat",
        is_provider: false,
        // From when its own server asked the provider.
        starts_from: ServerStart::Arrival,
        ..EngineTiming::PLAIN
    }),
    gives_reason: true,
    ..Dialect::PLAIN
};

const PART_TYPE: Word = Word::of(b"partType");
