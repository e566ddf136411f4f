//! Gradio's queue: the calls of an app's functions, with their outputs whole or as edits. `app_queue` reads them.

use crate::dialect::schema::Dialect;
use crate::json::Word;

/// Each pair is of one kind of message.
pub(super) const DIALECT: Dialect = Dialect {
    name: "gradio",
    key_pairs: &[
        (Word::of(b"event_id"), Word::of(b"rank_eta")),
        (Word::of(b"event_id"), Word::of(b"eta")),
        (Word::of(b"event_id"), Word::of(b"time_limit")),
        (Word::of(b"event_id"), Word::of(b"used_cache")),
        (Word::of(b"event_id"), Word::of(b"progress_data")),
        (Word::of(b"msg"), Word::of(b"session_not_found")),
    ],
    is_queue: true,
    ..Dialect::PLAIN
};
