//! JSON values by their brackets: one array over the whole body, values one after another, or one
//! that is printed over many lines.
//!
//! Where a value is broken, the next is found again: no string reaches over a line end, and a brace
//! at the very beginning of a line opens a value of its own, as everything inside one is indented.

use super::{Event, Frame, MAX_EVENT_BYTES, Pending};
use crate::json::plain_len;
use crate::steps;

/// A push parser for JSON values. Feed it chunks in order with [`Values::next`].
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// The value so far, when it did not end in the chunk that it began in.
    held: Vec<u8>,
    /// The held value was lent out and goes with the next call.
    lent: bool,
    /// The rest of the value is over the cap and is dropped.
    skipping: bool,
    within: Within,
    /// Brackets open in the value.
    depth: u32,
    /// The byte before was a line feed.
    line_start: bool,
    body: Body,
}

/// Where the next byte stands.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Within {
    #[default]
    Nothing,
    /// In an object, an array, or something that is neither and goes on to the next comma.
    Value,
    String,
    /// Behind a backslash in a string.
    Escape,
}

/// What the body is as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Body {
    /// Nothing but blanks has come.
    #[default]
    Unknown,
    Sequence,
    OpenArray,
}

impl Values {
    /// Takes the next value off the front of `input`. `None` when it is used up.
    pub fn next<'a, 'b: 'a>(&'a mut self, input: &mut &'b [u8]) -> Option<Frame<'a>> {
        if std::mem::take(&mut self.lent) {
            self.held.clear();
        }
        loop {
            let begins = self.within == Within::Nothing;
            if begins {
                self.skip_separators(input);
            }
            let chunk = *input;
            if chunk.is_empty() {
                return None;
            }
            let end = self.value_end(chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            *input = &chunk[part.len()..];
            if end.is_some() {
                (self.within, self.depth) = (Within::Nothing, 0);
            }
            if self.skipping {
                self.skipping = end.is_none();
                continue;
            }
            if self.held.len() + part.len() > MAX_EVENT_BYTES {
                self.held.clear();
                self.skipping = end.is_none();
                return Some(Frame::Oversize);
            }
            if begins && end.is_some() {
                return Some(frame(part));
            }
            self.held.extend_from_slice(part);
            if end.is_some() {
                self.lent = true;
                return Some(frame(&self.held));
            }
        }
    }

    /// What is left when no more bytes come.
    pub fn finish(&mut self) -> Pending<'_> {
        if std::mem::take(&mut self.lent) {
            self.held.clear();
        }
        let value = self.held.trim_ascii();
        let event = (!value.is_empty()).then_some(Event { data: value, ..Event::default() });
        Pending { bytes: value.len(), event, unclosed: self.body == Body::OpenArray }
    }

    /// Drops what stands between values, and the brackets of an array that holds them all.
    fn skip_separators(&mut self, input: &mut &[u8]) {
        while let Some((&byte, rest)) = input.split_first() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b',' | RECORD_SEPARATOR | 0xEF | 0xBB | 0xBF => {}
                b'[' if self.body == Body::Unknown => self.body = Body::OpenArray,
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

    /// Follows a value. Where it ends, if that is in `chunk`.
    fn value_end(&mut self, chunk: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = chunk.get(at) {
            steps::add(1);
            let line_start = std::mem::replace(&mut self.line_start, byte == b'\n');
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

fn frame(value: &[u8]) -> Frame<'_> {
    match value {
        [b'<', ..] => Frame::Html,
        data => Frame::Event(Event { data, ..Event::default() }),
    }
}

/// What stands before each text of a JSON text sequence (RFC 7464).
pub(super) const RECORD_SEPARATOR: u8 = 0x1E;
