//! NDJSON and JSON lines: one JSON value per line. Blank lines say nothing. Some writers put a code
//! before the value, as in `0:"Hi"`, or a record separator.

use super::values::RECORD_SEPARATOR;
use super::{BOM, Event, Frame, MAX_EVENT_BYTES, Pending, find};

/// A push parser for lines. Feed it chunks in order with [`Ndjson::next`].
#[derive(Debug, Clone, Default)]
pub struct Ndjson {
    /// The line so far, when it did not end in the chunk that it began in.
    held: Vec<u8>,
    /// The held line was lent out and goes with the next call.
    lent: bool,
    /// The rest of the line is over the cap and is dropped.
    skipping: bool,
}

impl Ndjson {
    /// Takes the next line off the front of `input`. `None` when it is used up.
    pub fn next<'a, 'b: 'a>(&'a mut self, input: &mut &'b [u8]) -> Option<Frame<'a>> {
        if std::mem::take(&mut self.lent) {
            self.held.clear();
        }
        loop {
            let chunk = *input;
            if chunk.is_empty() {
                return None;
            }
            let Some(end) = find(chunk, *b"\n\n") else {
                *input = &[];
                return self.hold(chunk).then_some(Frame::Oversize);
            };
            *input = &chunk[end + 1..];
            let line = &chunk[..end];
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if self.held.len() + line.len() > MAX_EVENT_BYTES {
                self.held.clear();
                return Some(Frame::Oversize);
            }
            if self.held.is_empty() {
                if let Some(frame) = frame(line) {
                    return Some(frame);
                }
            } else {
                self.held.extend_from_slice(line);
                if trim(&self.held).is_empty() {
                    self.held.clear();
                    continue;
                }
                self.lent = true;
                return frame(&self.held);
            }
        }
    }

    /// What is left when no more bytes come. A last line without a line end is common and whole.
    pub fn finish(&mut self) -> Pending<'_> {
        if std::mem::take(&mut self.lent) {
            self.held.clear();
        }
        let line = trim(&self.held);
        Pending { bytes: line.len(), event: (!line.is_empty()).then(|| event(line)), unclosed: false }
    }

    /// Keeps the beginning of a line. True when that put it over the cap.
    fn hold(&mut self, part: &[u8]) -> bool {
        if self.skipping {
            return false;
        }
        if self.held.len() + part.len() > MAX_EVENT_BYTES {
            self.held.clear();
            self.skipping = true;
            return true;
        }
        self.held.extend_from_slice(part);
        false
    }
}

fn frame(line: &[u8]) -> Option<Frame<'_>> {
    let line = trim(line);
    match line.first()? {
        b'<' => Some(Frame::Html),
        _ => Some(Frame::Event(event(line))),
    }
}

/// No JSON has a colon in the second place.
fn event(line: &[u8]) -> Event<'_> {
    match line {
        [_, b':', data @ ..] => Event { name: &line[..1], data, ..Event::default() },
        data => Event { data, ..Event::default() },
    }
}

/// Without the blanks around it, and without the mark or separator that some writers put first.
fn trim(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    line.strip_prefix(BOM).or_else(|| line.strip_prefix(&[RECORD_SEPARATOR])).unwrap_or(line).trim_ascii()
}
