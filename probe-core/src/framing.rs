//! Chunks of bytes come in, split anywhere; events and comments go out. What lies inside one chunk
//! is lent from it, the rest from a buffer that is reused.

mod ndjson;
mod sse;

pub use ndjson::Ndjson;
pub use sse::Sse;

/// Longest event, in bytes of its lines. A longer one is reported as [`Frame::Oversize`] and
/// skipped, so that a stream without line ends cannot grow the page's memory.
pub const MAX_EVENT_BYTES: usize = 64 * 1024;

/// One thing that a stream said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// An event that the standard dispatches.
    Event(Event<'a>),
    /// A comment line, without its leading colon: a sign of life, or our server timing.
    Comment(&'a [u8]),
    /// An event over [`MAX_EVENT_BYTES`] began; parsing goes on at the next.
    Oversize,
    /// A line that is neither field nor comment but markup: someone put a web page here.
    Html,
}

/// One event: an SSE event, or one line of NDJSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Event<'a> {
    /// Value of `event`; empty where none was given, which the standard reads as `message`.
    pub name: &'a [u8],
    /// The `data` lines, joined by line feeds.
    pub data: &'a [u8],
    /// Last event id in force: it stays until another is sent.
    pub id: &'a [u8],
    /// Reconnection time in force, in milliseconds.
    pub retry: Option<u64>,
}

impl Event<'_> {
    /// Whether the data is UTF-8; a browser shows U+FFFD where it is not.
    #[must_use]
    pub fn is_utf8(&self) -> bool {
        self.data.is_ascii() || std::str::from_utf8(self.data).is_ok()
    }
}

/// What was left when the stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pending<'a> {
    /// Bytes of the event that was never dispatched.
    pub bytes: usize,
    /// What it would have been, had the blank line come. `None` when it held no data.
    pub event: Option<Event<'a>>,
}

/// How a body is cut into events.
#[derive(Debug, Clone)]
pub enum Framing {
    /// Server-sent events.
    Sse(Sse),
    /// One JSON value per line.
    Ndjson(Ndjson),
}

impl Framing {
    /// The framing that the content type names, or the first byte gives away: no SSE line begins
    /// with a brace, and servers often send an error object under the wrong type.
    #[must_use]
    pub fn of(content_type: &str, first: u8) -> Self {
        let lines = NDJSON_TYPES.iter().any(|known| is_type(content_type, known));
        if lines || first == b'{' { Self::Ndjson(Ndjson::default()) } else { Self::Sse(Sse::default()) }
    }

    /// Takes the next frame off the front of `input`. `None` when it is used up.
    pub fn next<'a, 'b: 'a>(&'a mut self, input: &mut &'b [u8]) -> Option<Frame<'a>> {
        match self {
            Self::Sse(sse) => sse.next(input),
            Self::Ndjson(lines) => lines.next(input),
        }
    }

    /// Whether nothing so far was a line of this framing: then the body is something else.
    pub(crate) fn is_foreign(&self) -> bool {
        match self {
            Self::Sse(sse) => sse.is_foreign(),
            Self::Ndjson(_) => false,
        }
    }

    /// What is left when no more bytes come.
    pub fn finish(&mut self) -> Pending<'_> {
        match self {
            Self::Sse(sse) => sse.finish(),
            Self::Ndjson(lines) => lines.finish(),
        }
    }
}

/// Whether the content type, without its parameters, is the given one.
pub(crate) fn is_type(content_type: &str, known: &str) -> bool {
    let essence = content_type.as_bytes().split(|&byte| byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(known.as_bytes())
}

const NDJSON_TYPES: [&str; 3] = ["application/x-ndjson", "application/stream+json", "application/jsonl"];
