//! An edit of an output, as in `["append", [1, "content"], " moon"]`, and the messages of a chat.

use crate::json::{Json, Word};
use crate::text_kinds::TextKinds;

/// What an edit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    Append,
    /// Adds a value, or replaces one.
    Put,
    Delete,
}

impl Edit {
    pub(super) fn of(word: &[u8]) -> Option<Self> {
        match word {
            b"append" => Some(Self::Append),
            b"add" | b"replace" => Some(Self::Put),
            b"delete" => Some(Self::Delete),
            _ => None,
        }
    }
}

/// Where in an output an edit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Whole,
    /// The element of a list with this number.
    Element(usize),
    /// The content of the message with this number.
    Content(usize),
    /// The answer in the pair with this number.
    PairAnswer(usize),
    Elsewhere,
}

impl Place {
    /// Reads a path, an array of keys and numbers.
    pub(super) fn read(json: &mut Json<'_>) -> Self {
        let mut place = Self::Whole;
        json.enter(b'[');
        while json.element() {
            place = if json.is_string() {
                place.below(json.string().unwrap_or_default())
            } else {
                place.at(json.count())
            };
        }
        place
    }

    fn below(self, key: &[u8]) -> Self {
        match (self, key) {
            // An update of an output has its value below this key.
            (Self::Whole, b"value") => self,
            (Self::Element(at), b"content") => Self::Content(at),
            (Self::Content(_), b"text") => self,
            _ => Self::Elsewhere,
        }
    }

    fn at(self, number: f64) -> Self {
        match self {
            Self::Whole if number.is_finite() => Self::Element(number as usize),
            Self::Element(at) if number == 1.0 => Self::PairAnswer(at),
            Self::Content(_) => self,
            _ => Self::Elsewhere,
        }
    }
}

/// A message of a chat.
pub(super) struct ChatMessage {
    /// The kind of its text; none if the model did not write it.
    pub(super) kinds: TextKinds,
    /// The length of its text.
    pub(super) bytes: usize,
}

impl ChatMessage {
    /// Reads an object. `None` if it is no message.
    pub(super) fn read(json: &mut Json<'_>) -> Option<Self> {
        let (mut role, mut bytes, mut is_titled) = (None, 0, false);
        json.enter(b'{');
        while let Some(key) = json.key() {
            if key == ROLE {
                role = json.string();
            } else if key == CONTENT {
                bytes = content_bytes(json);
            } else if key == METADATA {
                is_titled = has_title(json);
            }
        }
        let kinds = match role? {
            // A title is over a thought or the use of a tool.
            b"assistant" if is_titled => TextKinds::REASONING,
            b"assistant" => TextKinds::ANSWER,
            _ => TextKinds::NONE,
        };
        Some(Self { kinds, bytes })
    }
}

/// The length of the text in a string, in an object with `text`, or in a list of these. A file has none.
pub(super) fn content_bytes(json: &mut Json<'_>) -> usize {
    if json.is_string() {
        return json.string().map_or(0, <[u8]>::len);
    }
    let mut bytes = 0;
    if json.is_array() {
        json.enter(b'[');
        while json.element() {
            bytes += content_bytes(json);
        }
    } else if json.enter(b'{') {
        while let Some(key) = json.key() {
            if key == TEXT {
                bytes += json.string().map_or(0, <[u8]>::len);
            }
        }
    }
    bytes
}

fn has_title(json: &mut Json<'_>) -> bool {
    let mut is_titled = false;
    let is_object = json.enter(b'{');
    while is_object && let Some(key) = json.key() {
        is_titled |= key == TITLE && json.is_something();
    }
    is_titled
}

const ROLE: Word = Word::of(b"role");
const CONTENT: Word = Word::of(b"content");
const METADATA: Word = Word::of(b"metadata");
const TITLE: Word = Word::of(b"title");
const TEXT: Word = Word::of(b"text");
