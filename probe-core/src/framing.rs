//! Chunks of bytes come in, split anywhere; events and comments go out. What lies inside one chunk
//! is lent from it, the rest from a buffer that is reused.

mod brackets;
mod content_type;
mod find;
mod frame;
mod json_stream;
mod plain_text;
mod sse;

use crate::build_variant::ALL_DIALECTS;
use crate::json::Json;

use brackets::RECORD_SEPARATOR;
pub use content_type::ContentType;
use find::find;
pub(crate) use frame::BOM;
pub use frame::{Event, Frame, MAX_EVENT_BYTES, Pending};
pub use json_stream::JsonStream;
pub use plain_text::PlainText;
pub use sse::Sse;

/// Longest first line that is waited for to see whether a body is JSON in lines.
const MAX_FIRST_LINE_BYTES: usize = 64 * 1024;

/// How a body is cut into events.
#[derive(Debug, Clone)]
pub enum Framing {
    /// Server-sent events.
    Sse(Sse),
    /// JSON: a value per line, or values told apart by their brackets.
    Json(JsonStream),
    /// Text without events.
    PlainText(PlainText),
    /// One that only a probe with all of them cuts: nothing comes out.
    NeedsFullWasm,
}

impl Framing {
    /// The framing that the content type alone names: server-sent events where it says nothing.
    #[must_use]
    pub fn named(content_type: impl Into<ContentType>) -> Self {
        match content_type.into() {
            ContentType::Events => Self::Sse(Sse::default()),
            ContentType::Lines => Self::Json(JsonStream::by_lines()),
            ContentType::Other => Self::rare(|| Self::PlainText(PlainText::default())),
        }
    }

    /// The framing that the content type names, or the first bytes give away: servers send JSON and
    /// server-sent events under many types. `None` while `start` could still be of several kinds,
    /// which it is for a few bytes at most.
    ///
    /// In a probe without every framing an object is taken for the first of many lines, as soon as one shows, and
    /// lines with a code before their JSON are left to one that has them all.
    #[must_use]
    pub fn of(content_type: impl Into<ContentType>, start: &[u8]) -> Option<Self> {
        let named = Self::named(content_type);
        if matches!(named, Self::Json(_)) {
            return Some(named);
        }
        let text = start.strip_prefix(BOM).unwrap_or(start).trim_ascii_start();
        match *text {
            _ if start.len() - text.len() > MAX_START => Some(named),
            [] => None,
            _ if BOM.starts_with(text) => None,
            [b'{', ..] if !ALL_DIALECTS => by_lines(text),
            [b'{' | b'[', ..] => Some(Self::rare(|| Self::Json(JsonStream::by_brackets()))),
            [RECORD_SEPARATOR, ..] => Some(Self::rare(|| Self::Json(JsonStream::by_lines()))),
            [code, b':', b'"' | b'{' | b'[', ..] if code.is_ascii_alphanumeric() => {
                Some(Self::rare(|| Self::Json(JsonStream::by_lines())))
            }
            [code] | [code, b':'] if code.is_ascii_alphanumeric() => None,
            _ if matches!(named, Self::Sse(_)) => Some(named),
            _ => unnamed(text, named),
        }
    }

    /// The framing of a body that has ended before [`Framing::of`] could tell.
    pub(crate) fn of_all(content_type: ContentType, body: &[u8]) -> Self {
        match body.trim_ascii_start() {
            [b'{', ..] if !ALL_DIALECTS => Self::Json(JsonStream::by_lines()),
            _ => Self::named(content_type),
        }
    }

    /// Takes the next frame off the front of `input`. `None` when it is used up.
    pub fn next<'a, 'b: 'a>(&'a mut self, input: &mut &'b [u8]) -> Option<Frame<'a>> {
        match self {
            Self::Sse(sse) => sse.next(input),
            Self::Json(json) => json.next(input),
            Self::PlainText(text) if ALL_DIALECTS => text.next(input),
            Self::PlainText(_) | Self::NeedsFullWasm => None,
        }
    }

    /// What is left when no more bytes come.
    pub fn finish(&mut self) -> Pending<'_> {
        match self {
            Self::Sse(sse) => sse.finish(),
            Self::Json(json) => json.finish(),
            Self::PlainText(text) if ALL_DIALECTS => text.finish(),
            Self::PlainText(_) | Self::NeedsFullWasm => Pending::default(),
        }
    }

    /// A framing of few streams, where it is there.
    fn rare(framing: impl FnOnce() -> Self) -> Self {
        if ALL_DIALECTS { framing() } else { Self::NeedsFullWasm }
    }

    /// Whether an event that the body ends in is as good as any other: only server-sent events need
    /// a blank line behind them.
    pub(crate) fn ends_anywhere(&self) -> bool {
        !matches!(self, Self::Sse(_))
    }
}

/// JSON in lines, where the first line is a whole text.
fn by_lines(text: &[u8]) -> Option<Framing> {
    match find(text, *b"\n\n") {
        Some(end) if Json::new(&text[..end]).finish() => Some(Framing::Json(JsonStream::by_lines())),
        None if text.len() <= MAX_FIRST_LINE_BYTES => None,
        _ => Some(Framing::NeedsFullWasm),
    }
}

/// Server-sent events and web pages under a type that names neither; else what that type names.
fn unnamed(text: &[u8], named: Framing) -> Option<Framing> {
    let mut undecided = false;
    for known in LINE_STARTS.split(|&byte| byte == b' ') {
        if text.starts_with(known) {
            return Some(Framing::Sse(Sse::default()));
        }
        undecided |= known.starts_with(text);
    }
    (!undecided).then_some(named)
}

/// How the first line of server-sent events begins, or that of a web page.
const LINE_STARTS: &[u8] = b": data: event: id: retry: <! <h";

/// Blanks that may come first. More of them than that are no sign of anything.
const MAX_START: usize = 64;
