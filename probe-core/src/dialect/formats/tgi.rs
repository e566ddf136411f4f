//! Text Generation Inference, `/generate_stream`: one numbered event per token, the whole text and
//! the details with the last. Its times stand in headers only, and not when it streams.

use crate::dialect::schema::{Act, Dialect, Take, Tokens, table};
use crate::event_numbers::Number;
use crate::json::Word;
use crate::text_kinds::TextKinds;

/// Without `details` asked for, it gives no reason.
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
        // `null` before the end, and empty where nothing but marks were generated.
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
