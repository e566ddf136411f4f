//! Gradio's simple API, `/call/NAME/ID`: one call of a function, whose outputs come whole each time.

use crate::dialect::schema::{Act, Dialect, LIST, table};

pub(super) const DIALECT: Dialect = Dialect {
    name: "gradio_call",
    event_types: table! {
        "generating" => Act::COMMON,
        "complete" => Act::COMMON,
    },
    key_pairs: &[(LIST, LIST)],
    typed_by_name: true,
    is_queue: true,
    ..Dialect::PLAIN
};
