//! Text Generation Inference, `/generate_stream`: one numbered event per token. The last has the whole text and the
//! details. Its times are in headers only, and not when it streams.

use crate::dialect::schema::{Act, Dialect, Take, Tokens, table};
use crate::event_numbers::Number;
use crate::json::Word;
use crate::text_kinds::TextKinds;

/// Without `details` in the request there is no finish reason.
pub(super) const DIALECT: Dialect = Dialect {
    name: "tgi",
    provider: Some("tgi"),
    key_pairs: &[(Word::of(b"token"), Word::of(b"generated_text"))],
    schema: table! {
        "index" => Take::Number(Number::Sequence),
        "token" => Take::In(table! {
            "text" => Take::Text(TextKinds::ANSWER),
            "special" => Take::If(Act::MUTE),
        }),
        // `null` before the end, and empty if only special tokens were generated.
        "generated_text" => Take::IfString(Act::END),
        "details" => Take::In(table! {
            "finish_reason" => Take::Reason,
            "generated_tokens" => Take::Tokens(Tokens::Output),
            "input_length" => Take::Tokens(Tokens::Input),
        }),
        "error" => Take::If(Act::FAIL),
    },
    ..Dialect::PLAIN
};
