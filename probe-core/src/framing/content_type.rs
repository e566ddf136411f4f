//! What the content type of a body says about its framing. A page decides this in `probe-wasm/js/tap/content-types.js`:
//! comparing texts there takes a third of the code.

/// The kind of a content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    /// Server-sent events, or no type at all.
    Events,
    /// JSON, a value per line.
    Lines,
    /// Any other type.
    Other,
}

impl From<&str> for ContentType {
    fn from(content_type: &str) -> Self {
        let essence = content_type.split(';').next().unwrap_or_default().trim_ascii();
        let is = |known: &str| essence.eq_ignore_ascii_case(known);
        if content_type.is_empty() || is("text/event-stream") {
            Self::Events
        } else if LINES.into_iter().any(is) {
            Self::Lines
        } else {
            Self::Other
        }
    }
}

/// Types of bodies with a JSON value per line.
const LINES: [&str; 5] = [
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/stream+json",
    "application/json-seq",
];
