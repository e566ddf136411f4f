//! The content type of a body comes in, what it says of the framing goes out. A page tells that by itself,
//! in `probe-wasm/js/tap/content-types.js`: to compare texts there takes a third of the code.

/// What the content type names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    /// Server-sent events, or there is no type.
    Events,
    /// JSON, a value per line.
    Lines,
    /// Something else.
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

/// Types of bodies with one JSON value per line.
const LINES: [&str; 5] = [
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/stream+json",
    "application/json-seq",
];
