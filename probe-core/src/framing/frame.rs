//! What framing hands out: events, comments and the other things that a stream says.

use crate::utf8::is_utf8;

/// Longest event, in bytes of its lines. A longer one is reported as [`Frame::Oversize`] and
/// skipped, so that a stream without line ends cannot grow the page's memory. Ends are among the longest: that of
/// OpenAI's responses says the whole answer again, with all instructions and tools.
pub const MAX_EVENT_BYTES: usize = 1024 * 1024;

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
    /// A stretch of a body that is plain text, as long as the chunk.
    Text {
        /// The text. It may begin and end inside a character.
        bytes: &'a [u8],
        /// No character that ended in it was broken.
        is_utf8: bool,
    },
}

/// One event: an SSE event, one line of NDJSON, or one JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Event<'a> {
    /// Value of `event`; empty where none was given, which the standard reads as `message`. Of a line
    /// with a code before its JSON, as in `0:"Hi"`, the code.
    pub name: &'a [u8],
    /// The `data` lines, joined by line feeds.
    pub data: &'a [u8],
    /// Last event id in force: it stays until another is sent.
    pub id: &'a [u8],
    /// Reconnection time in force, in milliseconds. `None` too in a page, where nobody asks for it.
    pub retry: Option<u64>,
}

impl Event<'_> {
    /// Whether the data is UTF-8; a browser shows U+FFFD where it is not.
    #[must_use]
    pub fn is_utf8(&self) -> bool {
        is_utf8(self.data)
    }
}

/// What was left when the stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pending<'a> {
    /// Bytes of the event that was never dispatched; of plain text, of its last character.
    pub bytes: usize,
    /// What it would have been, had the blank line come. `None` when it held no data.
    pub event: Option<Event<'a>>,
    /// The array that holds all events was not closed.
    pub unclosed: bool,
}

/// A byte order mark.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";
