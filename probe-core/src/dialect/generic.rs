//! JSON or text that no dialect knows: its chunks have times, its end is how it closed, and of its
//! content only an error is understood.

use super::Facts;
use crate::json::Json;

/// The word in reports.
pub(crate) const NAME: &str = "generic";

pub(super) fn read(facts: &mut Facts, json: &mut Json) {
    json.each_key(|json, key| match key {
        b"error" => facts.failed |= json.is_something(),
        b"type" => facts.failed |= json.word() == Some(b"error"),
        _ => {}
    });
}
