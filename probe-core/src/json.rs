//! A pull scanner over one JSON text. It walks every value, and returns numbers, short identifiers and whether a string
//! is empty. Text is stepped over and never copied.
//!
//! Objects are read with [`Json::enter`] and [`Json::key`], arrays with [`Json::enter`] and [`Json::element`]. A value
//! that is not taken is skipped. After the first fault every method returns nothing, and [`Json::finish`] is false. A
//! key with escapes counts as unknown.

mod number;
mod text;
mod word;

use beacon::NameShape;

use crate::absent::ABSENT;
use crate::work_counter;

use number::Decimal;
pub(crate) use number::whole;
use text::special_bytes;
pub(crate) use text::{name, plain_len, same, written_bytes};
pub(crate) use word::Word;

/// The deepest nesting, as in `serde_json`. Deeper text counts as malformed.
const MAX_DEPTH: u32 = 128;

/// A position in one JSON text.
pub(crate) struct Json<'a> {
    bytes: &'a [u8],
    at: usize,
    /// One bit per open container, the innermost lowest: 1 for an object.
    kinds: u128,
    depth: u32,
    /// A container was just opened: its first member needs no comma.
    fresh: bool,
    /// A value comes next that is not taken yet.
    owed: bool,
    failed: bool,
}

impl<'a> Json<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, kinds: 0, depth: 0, fresh: false, owed: true, failed: false }
    }

    /// Whether the text was one whole JSON value and nothing after it.
    pub(crate) fn finish(mut self) -> bool {
        while self.depth > 0 && !self.failed {
            self.next_member();
        }
        self.settle();
        self.peek().is_none() && !self.failed
    }

    /// Enters an object or array, by its opening bracket. Any other value is skipped, and the result is false.
    pub(crate) fn enter(&mut self, open: u8) -> bool {
        if self.peek() != Some(open) {
            self.skip();
            return false;
        }
        self.owed = false;
        self.open(open);
        !self.failed
    }

    /// Whether the next value is an array.
    pub(crate) fn is_array(&mut self) -> bool {
        self.peek() == Some(b'[')
    }

    /// Whether the next value is an object.
    pub(crate) fn is_object(&mut self) -> bool {
        self.peek() == Some(b'{')
    }

    /// Whether the next value is a string.
    pub(crate) fn is_string(&mut self) -> bool {
        self.peek() == Some(b'"')
    }

    /// Whether the next value is `null`.
    pub(crate) fn is_null(&mut self) -> bool {
        self.peek() == Some(b'n')
    }

    /// Takes a value, and returns whether it is anything but `null`, `false` or an empty string.
    pub(crate) fn is_something(&mut self) -> bool {
        match self.peek() {
            Some(b'n' | b'f') | None => {
                self.skip();
                false
            }
            Some(b'"') => self.string().is_some_and(|text| !text.is_empty()),
            Some(_) => {
                self.skip();
                !self.failed
            }
        }
    }

    /// Takes a string as it is between its quotes, with escapes: for tags and ids.
    pub(crate) fn string(&mut self) -> Option<&'a [u8]> {
        if self.peek() == Some(b'"') {
            self.owed = false;
            return self.quoted();
        }
        self.skip();
        None
    }

    /// Takes a string as the [`name`] of a model.
    pub(crate) fn model(&mut self) -> String {
        name(self.string().unwrap_or_default(), NameShape::MODEL)
    }

    /// Takes a number of zero or more, as all counts and durations are. [`ABSENT`] for any other value.
    pub(crate) fn number(&mut self) -> f64 {
        self.peek();
        let start = self.at;
        self.skip();
        match Decimal::parse(&self.bytes[start..]) {
            Some(decimal) if !self.failed && !decimal.negative => decimal.value(),
            _ => ABSENT,
        }
    }

    /// Takes a whole number of zero or more that a double holds exactly. [`ABSENT`] for any other value.
    pub(crate) fn count(&mut self) -> f64 {
        whole(self.number())
    }

    /// The beginning of the next value.
    pub(crate) fn start(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// The end of the last value.
    pub(crate) fn end(&self) -> usize {
        self.at
    }

    /// Steps over these bytes if exactly they come next.
    pub(crate) fn pass(&mut self, literal: &[u8]) -> Option<()> {
        let end = self.at + literal.len();
        same(self.bytes.get(self.at..end)?, literal).then(|| (self.at, self.owed) = (end, false))
    }

    /// Takes the next value of any kind.
    pub(crate) fn skip(&mut self) {
        let base = self.depth;
        self.begin();
        while self.depth > base && !self.failed {
            self.next_member();
        }
    }

    /// The next key of the innermost object, which it must be. `None` at its end.
    pub(crate) fn key(&mut self) -> Option<Word> {
        if !self.another(b'}') {
            return None;
        }
        let key = match self.plain_key() {
            Some(key) => key,
            None => Word::of(self.quoted()?),
        };
        if self.peek() == Some(b':') {
            self.at += 1;
            self.owed = true;
            return Some(key);
        }
        self.fail();
        None
    }

    /// Whether the innermost container, which must be an array, has another element; that is the next value.
    pub(crate) fn element(&mut self) -> bool {
        self.owed = self.another(b']');
        self.owed
    }

    fn next_member(&mut self) {
        let more = if self.kinds & 1 == 1 { self.key().is_some() } else { self.element() };
        if more {
            self.begin();
        }
    }

    /// Takes a scalar, or the opening bracket of a container.
    fn begin(&mut self) {
        self.owed = false;
        match self.peek() {
            Some(b'"') => drop(self.quoted()),
            Some(open @ (b'{' | b'[')) => self.open(open),
            Some(b'-' | b'0'..=b'9') => self.digits(),
            Some(b't') => self.literal(b"true"),
            Some(b'f') => self.literal(b"false"),
            Some(b'n') => self.literal(b"null"),
            _ => self.fail(),
        }
    }

    fn open(&mut self, open: u8) {
        if self.depth == MAX_DEPTH {
            return self.fail();
        }
        self.at += 1;
        self.depth += 1;
        self.kinds = self.kinds << 1 | u128::from(open == b'{');
        self.fresh = true;
    }

    /// Whether the innermost container has another member; else leaves it.
    fn another(&mut self, close: u8) -> bool {
        self.settle();
        let fresh = std::mem::take(&mut self.fresh);
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                self.depth -= 1;
                self.kinds >>= 1;
                false
            }
            Some(b',') if !fresh => {
                self.at += 1;
                true
            }
            Some(_) if fresh => true,
            _ => {
                self.fail();
                false
            }
        }
    }

    fn settle(&mut self) {
        if self.owed {
            self.skip();
        }
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.at) {
            work_counter::add(1);
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Takes a key in one pass, eight bytes at a time. `None` if it has escapes or is too near the end of the text.
    fn plain_key(&mut self) -> Option<Word> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let (mut hash, mut at) = (0, self.at + 1);
        loop {
            let eight = u64::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?);
            work_counter::add(1);
            let hits = special_bytes(eight);
            if hits != 0 {
                let bits = hits.trailing_zeros() & !7;
                if eight >> bits & 0xff != u64::from(b'"') {
                    return None;
                }
                let len = bits as usize / 8;
                self.at = at + len + 1;
                return Some(Word::end(hash, eight & !(u64::MAX << bits), len));
            }
            hash = Word::mix(hash, eight);
            at += 8;
        }
    }

    /// The bytes between the quotes of a string.
    fn quoted(&mut self) -> Option<&'a [u8]> {
        if self.peek() != Some(b'"') {
            self.fail();
            return None;
        }
        let start = self.at + 1;
        let mut at = start;
        loop {
            at += plain_len(&self.bytes[at..]);
            match self.bytes.get(at..)? {
                [b'"', ..] => {
                    self.at = at + 1;
                    return Some(&self.bytes[start..at]);
                }
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => at += 2,
                [b'\\', b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|hex| hex.is_ascii_hexdigit()) => {
                    at += 6;
                }
                _ => {
                    self.fail();
                    return None;
                }
            }
        }
    }

    fn digits(&mut self) {
        match Decimal::parse(&self.bytes[self.at..]) {
            Some(decimal) => self.at += decimal.len,
            None => self.fail(),
        }
    }

    fn literal(&mut self, word: &[u8]) {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
        } else {
            self.fail();
        }
    }

    fn fail(&mut self) {
        self.failed = true;
        self.owed = false;
        self.at = self.bytes.len();
        self.depth = 0;
    }
}

#[cfg(test)]
mod tests;
