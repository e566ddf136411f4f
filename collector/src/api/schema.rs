//! JSON schemas that no type derives.

use serde_json::{Value, json};

/// The reports are those of the crate `beacon`, which knows no schemas: what each of them has.
pub(super) fn stream() -> Value {
    json!({ "type": "object", "required": ["v", "id", "outcome", "site", "received_ms", "country"], "properties": {
        "v": { "type": "integer" }, "id": { "type": "string", "pattern": "^[0-9a-f]{32}$" },
        "outcome": { "type": "string" }, "site": { "type": "string" }, "received_ms": { "type": "integer" },
        "country": { "type": "string" },
    } })
}
