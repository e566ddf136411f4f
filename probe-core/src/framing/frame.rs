//! The results of framing: events, comments, plain text and faults.

/// The longest event, in bytes of its lines. A longer one is reported as [`Frame::Oversize`] and skipped, so that a
/// stream without line ends cannot grow the page's memory. End markers are among the longest events: the one of
/// OpenAI's responses repeats the whole answer, with all instructions and tools.
pub const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// One result of framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// An event that the standard dispatches.
    Event(Event<'a>),
    /// A comment line, without its leading colon: a sign of life, or our server timing.
    Comment(&'a [u8]),
    /// An event over [`MAX_EVENT_BYTES`] began; parsing goes on at the next.
    Oversize,
    /// A line of markup, neither field nor comment: a web page in place of a stream.
    Html,
    /// A stretch of a body that is plain text, as long as the chunk.
    Text {
        /// The text. It may begin and end inside a character.
        bytes: &'a [u8],
        /// Every character that ends in it is valid.
        is_utf8: bool,
    },
}

/// One event: an SSE event, one line of NDJSON, or one JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Event<'a> {
    /// Value of `event`; empty if there was none, which the standard reads as `message`. For a line with a code before
    /// its JSON, as in `0:"Hi"`, the code.
    pub name: &'a [u8],
    /// The `data` lines, joined by line feeds.
    pub data: &'a [u8],
    /// The last event id: it stays in force until another is sent.
    pub id: &'a [u8],
    /// Reconnection time in force, in milliseconds. Always `None` in a page, where it has no use.
    pub retry: Option<u64>,
}

impl Event<'_> {
    /// Whether the data is UTF-8. A browser shows U+FFFD in place of other bytes.
    #[must_use]
    pub fn is_utf8(&self) -> bool {
        str::from_utf8(self.data).is_ok()
    }
}

/// The unfinished event at the end of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pending<'a> {
    /// Its bytes; for plain text, the bytes of the last character.
    pub bytes: usize,
    /// The event that a blank line would have dispatched. `None` without data.
    pub event: Option<Event<'a>>,
    /// The array around all events was not closed.
    pub unclosed: bool,
}

/// A byte order mark.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";
