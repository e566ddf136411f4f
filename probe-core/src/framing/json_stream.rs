//! JSON texts one after another: one in each line, or separated by their brackets.
//!
//! Blank lines are skipped. Some writers put a code before a line's value, as in `0:"Hi"`, or a record separator.

use std::mem;

use super::brackets::{Brackets, RECORD_SEPARATOR};
use super::find::find;
use super::frame::{BOM, Event, Frame, MAX_EVENT_BYTES, Pending};

/// A push parser for JSON texts. Feed it chunks in order with [`JsonStream::next`].
#[derive(Debug, Clone, Default)]
pub struct JsonStream {
    /// Separates the texts by brackets. `None` if line ends separate them.
    brackets: Option<Brackets>,
    /// The text so far, if it did not end in the chunk that it began in.
    buffer: Vec<u8>,
    /// The buffer was lent to the caller, and is cleared with the next call.
    lent: bool,
    /// The rest of the text is over the limit and is skipped.
    skipping: bool,
}

impl JsonStream {
    /// One text in each line.
    #[must_use]
    pub fn by_lines() -> Self {
        Self::default()
    }

    /// Texts separated by their brackets: one array around the whole body, values one after another, or a value printed
    /// over many lines.
    #[must_use]
    pub fn by_brackets() -> Self {
        Self { brackets: Some(Brackets::default()), ..Self::default() }
    }

    /// Whether each line is a text.
    #[must_use]
    pub fn are_lines(&self) -> bool {
        self.brackets.is_none()
    }

    /// Whether the texts are values with nothing around them: a single one is the whole body.
    #[must_use]
    pub(crate) fn has_bare_values(&self) -> bool {
        self.brackets.as_ref().is_some_and(Brackets::is_sequence)
    }

    /// Takes the next text off the front of `input`. `None` when the input is used up.
    pub fn next<'a, 'b: 'a>(&'a mut self, input: &mut &'b [u8]) -> Option<Frame<'a>> {
        self.release_lent();
        loop {
            let begins = self.buffer.is_empty() && !self.skipping;
            let (part, ends) = self.part(input, begins)?;
            if self.skipping {
                self.skipping = !ends;
                continue;
            }
            if self.buffer.len() + part.len() > MAX_EVENT_BYTES {
                self.buffer.clear();
                self.skipping = !ends;
                return Some(Frame::Oversize);
            }
            let lines = self.are_lines();
            if begins && ends {
                match frame(part, lines) {
                    None => continue,
                    whole => return whole,
                }
            }
            self.buffer.extend_from_slice(part);
            self.lent = ends;
            if ends && !trim(&self.buffer, lines).is_empty() {
                return frame(&self.buffer, lines);
            }
            self.release_lent();
        }
    }

    /// Whether a text has begun that has not ended, once [`JsonStream::next`] has used up the input.
    pub(crate) fn is_inside_event(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// The rest when no more bytes come. A last line without a line end is common and whole.
    pub fn finish(&mut self) -> Pending<'_> {
        self.release_lent();
        let text = trim(&self.buffer, self.are_lines()).trim_ascii();
        Pending {
            bytes: text.len(),
            event: (!text.is_empty()).then(|| event(text, self.are_lines())),
            unclosed: self.brackets.as_ref().is_some_and(Brackets::is_array_open),
        }
    }

    /// Takes the part of `input` that belongs to the current text. True if the text ends there.
    fn part<'b>(&mut self, input: &mut &'b [u8], begins: bool) -> Option<(&'b [u8], bool)> {
        let mut brackets = self.brackets.as_mut();
        if let Some(brackets) = &mut brackets
            && begins
        {
            brackets.skip_separators(input);
        }
        let chunk = *input;
        let end = match brackets {
            _ if chunk.is_empty() => return None,
            Some(brackets) => brackets.value_end(chunk),
            None => find(chunk, *b"\n\n"),
        };
        let (part, rest) = chunk.split_at(end.unwrap_or(chunk.len()));
        *input = rest.strip_prefix(b"\n").unwrap_or(rest);
        Some((part, end.is_some()))
    }

    /// Clears the buffer that the last call lent.
    fn release_lent(&mut self) {
        if mem::take(&mut self.lent) {
            self.buffer.clear();
        }
    }
}

fn frame(text: &[u8], lines: bool) -> Option<Frame<'_>> {
    let text = trim(text, lines);
    match text.first()? {
        b'<' => Some(Frame::Html),
        _ => Some(Frame::Event(event(text, lines))),
    }
}

/// No JSON has a colon as its second byte.
fn event(text: &[u8], lines: bool) -> Event<'_> {
    match text {
        [_, b':', data @ ..] if lines => Event { name: &text[..1], data, ..Event::default() },
        data => Event { data, ..Event::default() },
    }
}

/// A line without the blanks around it, and without the byte order mark or separator that some writers put first.
fn trim(text: &[u8], line: bool) -> &[u8] {
    if !line {
        return text;
    }
    let line = text.trim_ascii();
    line.strip_prefix(BOM).or_else(|| line.strip_prefix(&[RECORD_SEPARATOR])).unwrap_or(line).trim_ascii()
}
