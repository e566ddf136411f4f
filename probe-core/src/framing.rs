//! Cuts chunks of bytes, split anywhere, into events and comments. A frame inside one chunk is lent from it, any other
//! from a buffer that is reused.

mod brackets;
mod content_type;
mod find;
mod frame;
mod json_stream;
mod plain_text;
mod sse;

use crate::build_variant::ALL_DIALECTS;

use brackets::RECORD_SEPARATOR;
pub use content_type::ContentType;
pub(crate) use frame::BOM;
pub use frame::{Event, Frame, MAX_EVENT_BYTES, Pending};
pub use json_stream::JsonStream;
pub use plain_text::PlainText;
pub use sse::Sse;

/// How a body is cut into events.
#[derive(Debug, Clone)]
pub enum Framing {
    /// Server-sent events.
    Sse(Sse),
    /// JSON: a value per line, or values separated by their brackets.
    Json(JsonStream),
    /// Text without events.
    PlainText(PlainText),
    /// Every framing but server-sent events, in a build without them: nothing comes out.
    NeedsFullWasm,
}

impl Framing {
    /// The framing that the content type alone names: server-sent events if there is none.
    #[must_use]
    pub fn named(content_type: impl Into<ContentType>) -> Self {
        match content_type.into() {
            ContentType::Events => Self::Sse(Sse::default()),
            ContentType::Lines => Self::rare(|| Self::Json(JsonStream::by_lines())),
            ContentType::Other => Self::rare(|| Self::PlainText(PlainText::default())),
        }
    }

    /// The framing that the first bytes show, or else the content type: servers send JSON and server-sent events under
    /// many types. `None` while `start` could be of several framings, which takes [`MAX_START`] bytes at most.
    #[must_use]
    pub fn of(content_type: impl Into<ContentType>, start: &[u8]) -> Option<Self> {
        let content_type = content_type.into();
        let named = Self::named(content_type);
        if content_type == ContentType::Lines {
            return Some(named);
        }
        let text = start.strip_prefix(BOM).unwrap_or(start).trim_ascii_start();
        match *text {
            _ if start.len() - text.len() > MAX_START => Some(named),
            [] => None,
            _ if BOM.starts_with(text) => None,
            [b'{' | b'[', ..] => Some(Self::rare(|| Self::Json(JsonStream::by_brackets()))),
            [RECORD_SEPARATOR, ..] => Some(Self::rare(|| Self::Json(JsonStream::by_lines()))),
            [code, b':', b'"' | b'{' | b'[', ..] if code.is_ascii_alphanumeric() => {
                Some(Self::rare(|| Self::Json(JsonStream::by_lines())))
            }
            [code] | [code, b':'] if code.is_ascii_alphanumeric() => None,
            _ if matches!(named, Self::Sse(_)) => events_or_text(text, named),
            _ => unnamed(text, named),
        }
    }

    /// Takes the next frame off the front of `input`. `None` when the input is used up.
    pub fn next<'a, 'b: 'a>(&'a mut self, input: &mut &'b [u8]) -> Option<Frame<'a>> {
        match self {
            Self::Sse(sse) => sse.next(input),
            Self::Json(json) if ALL_DIALECTS => json.next(input),
            Self::PlainText(text) if ALL_DIALECTS => text.next(input),
            Self::Json(_) | Self::PlainText(_) | Self::NeedsFullWasm => None,
        }
    }

    /// The unfinished event when no more bytes come.
    pub fn finish(&mut self) -> Pending<'_> {
        match self {
            Self::Sse(sse) => sse.finish(),
            Self::Json(json) if ALL_DIALECTS => json.finish(),
            Self::PlainText(text) if ALL_DIALECTS => text.finish(),
            Self::Json(_) | Self::PlainText(_) | Self::NeedsFullWasm => Pending::default(),
        }
    }

    /// Whether the bytes so far ended inside an event.
    pub(crate) fn is_inside_event(&self) -> bool {
        match self {
            Self::Sse(sse) => sse.is_inside_event(),
            Self::Json(json) if ALL_DIALECTS => json.is_inside_event(),
            Self::Json(_) | Self::PlainText(_) | Self::NeedsFullWasm => false,
        }
    }

    /// Whether an event may be the whole body: a JSON value that is neither a line nor in an array.
    pub(crate) fn has_bare_values(&self) -> bool {
        matches!(self, Self::Json(json) if json.has_bare_values())
    }

    /// A rare framing, if this build has it.
    fn rare(framing: impl FnOnce() -> Self) -> Self {
        if ALL_DIALECTS { framing() } else { Self::NeedsFullWasm }
    }

    /// Whether an event at the end of the body is complete: only server-sent events need a blank line after them.
    pub(crate) fn ends_anywhere(&self) -> bool {
        !matches!(self, Self::Sse(_))
    }
}

/// Server-sent events, or text that is only called so. By the standard, any name before a colon or a line end is a
/// field, and a line of a field without a meaning is ignored. So the first line is of events if it begins with a colon,
/// with such a name in small letters, or with a second byte order mark. A web page is found by the parser for events.
fn events_or_text(text: &[u8], named: Framing) -> Option<Framing> {
    let is_name = |byte: &&u8| matches!(byte, b'a'..=b'z' | b'_' | b'-');
    let is_line = match text[0] {
        b'<' => begins(text, PAGE_STARTS)?,
        b'a'..=b'z' => {
            let name = text.iter().take(MAX_START).take_while(is_name).count();
            matches!(text.get(name)?, b':' | b'\n' | b'\r')
        }
        first => first == b':' || text.starts_with(BOM),
    };
    Some(if is_line { named } else { Framing::rare(|| Framing::PlainText(PlainText::default())) })
}

/// Server-sent events or a web page under another type; else the framing `named` by the type.
fn unnamed(text: &[u8], named: Framing) -> Option<Framing> {
    Some(if begins(text, LINE_STARTS)? { Framing::Sse(Sse::default()) } else { named })
}

/// Whether a text begins with one of the words of a list. `None` while it may.
fn begins(text: &[u8], list: &[u8]) -> Option<bool> {
    let mut undecided = false;
    for known in list.split(|&byte| byte == b' ') {
        if text.starts_with(known) {
            return Some(true);
        }
        undecided |= known.starts_with(text);
    }
    (!undecided).then_some(false)
}

/// Beginnings of the first line of server-sent events and of web pages.
const LINE_STARTS: &[u8] = b": data: event: id: retry: <! <h";
/// Beginnings of web pages under the type of server-sent events, where text may begin with a tag as well.
const PAGE_STARTS: &[u8] = b"<! <html <head <body <H";

/// Blanks that may come first: after more of them the content type decides. And the longest name of a field.
const MAX_START: usize = 64;
