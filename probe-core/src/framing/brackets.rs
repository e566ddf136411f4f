//! Finds JSON values by their brackets: in one array around the whole body, one after another, or printed over many
//! lines.
//!
//! After a broken value the next one is found: no string goes over a line end, and a brace at the very beginning of a
//! line opens a new value, as everything inside a value is indented.

use std::mem;

use crate::json::plain_len;
use crate::work_counter;

/// Follows values over chunks that come in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Brackets {
    within: Within,
    /// The number of open brackets in the value.
    depth: u32,
    /// The byte before was a line feed.
    line_start: bool,
    body: Body,
}

/// The place of the next byte.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Within {
    #[default]
    Nothing,
    /// In an object, an array, or a scalar that goes on to the next comma.
    Value,
    String,
    /// After a backslash in a string.
    Escape,
}

/// The form of the whole body.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Body {
    /// Only blanks have come.
    #[default]
    Unknown,
    Sequence,
    OpenArray,
    ClosedArray,
}

impl Brackets {
    /// Whether the array around all values was not closed.
    pub(super) fn is_array_open(&self) -> bool {
        self.body == Body::OpenArray
    }

    /// Whether the values stand side by side, without an array around them.
    pub(super) fn is_sequence(&self) -> bool {
        self.body == Body::Sequence
    }

    /// Skips separators between values, and the brackets of an array around all of them.
    pub(super) fn skip_separators(&mut self, input: &mut &[u8]) {
        while let Some((&byte, rest)) = input.split_first() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b',' | RECORD_SEPARATOR | 0xEF | 0xBB | 0xBF => {}
                b'[' if self.body == Body::Unknown => self.body = Body::OpenArray,
                b']' if matches!(self.body, Body::OpenArray | Body::ClosedArray) => {
                    self.body = Body::ClosedArray;
                }
                b']' => self.body = Body::Sequence,
                _ => {
                    if self.body == Body::Unknown {
                        self.body = Body::Sequence;
                    }
                    return;
                }
            }
            *input = rest;
        }
    }

    /// Follows a value. Returns its end if that is in `chunk`.
    pub(super) fn value_end(&mut self, chunk: &[u8]) -> Option<usize> {
        let end = self.follow(chunk);
        if end.is_some() {
            (self.within, self.depth) = (Within::Nothing, 0);
        }
        end
    }

    fn follow(&mut self, chunk: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = chunk.get(at) {
            work_counter::add(1);
            let line_start = mem::replace(&mut self.line_start, byte == b'\n');
            match (self.within, byte) {
                (Within::Escape, _) => self.within = Within::String,
                (Within::String, b'"') => {
                    self.within = Within::Value;
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                (Within::String, b'\\') => self.within = Within::Escape,
                (Within::String, b'\n') => return Some(at),
                (Within::String, _) => at += plain_len(&chunk[at + 1..]),
                (_, b'"') => self.within = Within::String,
                (Within::Value, b'{') if line_start && self.depth > 0 => return Some(at),
                (_, b'{' | b'[') => {
                    self.within = Within::Value;
                    self.depth += 1;
                }
                (_, b'}' | b']') if self.depth > 1 => self.depth -= 1,
                (_, b'}' | b']') if self.depth == 1 => return Some(at + 1),
                (Within::Value, b',' | b']' | b'\n') if self.depth == 0 => return Some(at),
                _ => self.within = Within::Value,
            }
            at += 1;
        }
        None
    }
}

/// The byte before each text of a JSON text sequence (RFC 7464).
pub(super) const RECORD_SEPARATOR: u8 = 0x1E;
