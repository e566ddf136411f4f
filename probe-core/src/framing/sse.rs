//! Server-sent events by the WHATWG rules (HTML standard, section 9.2), as a push parser.
//!
//! One field is not in the standard: `error`, with a JSON object. Some servers report a failure by it.
//!
//! A usual event inside one chunk is lent from the chunk. The bytes of any other event move to `buffer` once, so the
//! cost of an event does not depend on how it is split.

use std::mem;
use std::ops::Range;

use super::find::find;
use super::frame::{BOM, Event, Frame, MAX_EVENT_BYTES, Pending};
use crate::build_variant::{ALL_DIALECTS, IN_PAGE};
use crate::json::Json;

/// A push parser for server-sent events. Feed it chunks in order with [`Sse::next`].
#[derive(Debug, Clone, Default)]
pub struct Sse {
    block: Block,
    /// The lines so far of an event that is not lent from its chunk, without line ends.
    buffer: Vec<u8>,
    /// The beginning of the current line in `buffer`.
    line_start: usize,
    lent: Lent,
    skipping: Skipping,
    /// Bytes of the byte order mark so far; all of them once it has come or cannot come.
    bom: usize,
    /// The last chunk ended in CR: one LF is still part of that line end.
    after_cr: bool,
}

/// The fields of one event so far. Ranges are relative to the event's first byte.
#[derive(Debug, Clone, Default)]
struct Block {
    name: Range<usize>,
    data: Range<usize>,
    data_lines: usize,
    /// Data of an event with several `data` lines.
    joined: Vec<u8>,
    /// Bytes of its fields, without line ends.
    size: usize,
    id: Vec<u8>,
    retry: Option<u64>,
}

/// The part of `buffer` that the last frame was lent from. The next call clears it.
#[derive(Debug, Clone, Copy, Default)]
enum Lent {
    #[default]
    Nothing,
    Event,
    Comment,
}

/// Whether the rest of an event is skipped because it is over the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Skipping {
    #[default]
    No,
    /// At the beginning of a line: a blank line ends the event.
    LineStart,
    InLine,
}

/// The kind of a line.
enum Line {
    Blank,
    Comment,
    Field,
    Html,
    Oversize,
}

impl Sse {
    /// Takes the next frame off the front of `input`. `None` when it is used up.
    pub fn next<'a, 'b: 'a>(&'a mut self, input: &mut &'b [u8]) -> Option<Frame<'a>> {
        self.release_lent();
        if input.is_empty() {
            return None;
        }
        // A page strips the mark from the bytes that it keeps until the framing is known.
        if !IN_PAGE && self.bom < BOM.len() {
            self.drop_bom(input);
        }
        if self.after_cr && !input.is_empty() {
            self.after_cr = false;
            *input = input.strip_prefix(b"\n").unwrap_or(input);
        }
        if self.skipping != Skipping::No {
            self.skip(input);
        }
        loop {
            if !IN_PAGE
                && self.buffer.is_empty()
                && let Some((name, data)) = usual_event(input)
            {
                return Some(Frame::Event(Event {
                    name,
                    data,
                    id: &self.block.id,
                    retry: self.block.retry(),
                }));
            }
            match self.take_line(input)? {
                Line::Blank if self.block.data_lines > 0 => {
                    self.lent = Lent::Event;
                    return Some(Frame::Event(self.block.event(&self.buffer)));
                }
                Line::Comment => {
                    self.lent = Lent::Comment;
                    return Some(Frame::Comment(&self.buffer[self.line_start + 1..]));
                }
                Line::Html => {
                    self.forget();
                    return Some(Frame::Html);
                }
                Line::Oversize => {
                    self.forget();
                    return Some(Frame::Oversize);
                }
                Line::Blank => self.forget(),
                Line::Field => self.line_start = self.buffer.len(),
            }
        }
    }

    /// Whether an event has begun that has not ended, once [`Sse::next`] has used up the input.
    pub(crate) fn is_inside_event(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// The unfinished event when no more bytes come. By the standard it is dropped, but most SDKs read it. A comment
    /// does not count.
    pub fn finish(&mut self) -> Pending<'_> {
        self.release_lent();
        let line = self.line_start..self.buffer.len();
        self.block.read(&self.buffer, line);
        let event = (self.block.data_lines > 0).then(|| self.block.event(&self.buffer));
        Pending { bytes: self.block.size, event, unclosed: false }
    }

    /// Moves the next line of `input` to the buffer. `None` if the line goes on in the next chunk.
    fn take_line(&mut self, input: &mut &[u8]) -> Option<Line> {
        let chunk = *input;
        let len = line_len(chunk);
        let part = &chunk[..len.unwrap_or(chunk.len())];
        let size = self.block.size + self.buffer.len() - self.line_start + part.len();
        *input = len.map_or(&[], |end| &chunk[self.past_line_end(chunk, end)..]);
        if size > MAX_EVENT_BYTES {
            self.skipping = if len.is_some() { Skipping::LineStart } else { Skipping::InLine };
            return Some(Line::Oversize);
        }
        self.buffer.extend_from_slice(part);
        len?;
        Some(self.block.read(&self.buffer, self.line_start..self.buffer.len()))
    }

    /// Clears what the last call lent.
    fn release_lent(&mut self) {
        match mem::take(&mut self.lent) {
            Lent::Nothing => {}
            Lent::Event => self.forget(),
            Lent::Comment => self.buffer.truncate(self.line_start),
        }
    }

    fn forget(&mut self) {
        self.block.clear();
        self.buffer.clear();
        self.line_start = 0;
    }

    /// Skips lines up to the blank one that ends the event.
    fn skip(&mut self, input: &mut &[u8]) {
        while let Some(len) = line_len(input) {
            let blank = len == 0 && self.skipping == Skipping::LineStart;
            *input = &input[self.past_line_end(input, len)..];
            if blank {
                self.skipping = Skipping::No;
                return;
            }
            self.skipping = Skipping::LineStart;
        }
        if !input.is_empty() {
            self.skipping = Skipping::InLine;
            *input = &[];
        }
    }

    /// The beginning of the next line, after the line end at `end`.
    fn past_line_end(&mut self, chunk: &[u8], end: usize) -> usize {
        if chunk[end] == b'\n' {
            return end + 1;
        }
        match chunk.get(end + 1) {
            Some(b'\n') => end + 2,
            Some(_) => end + 1,
            None => {
                self.after_cr = true;
                end + 1
            }
        }
    }

    /// Drops the byte order mark at the very beginning, which may come in pieces. A second one is content.
    fn drop_bom(&mut self, input: &mut &[u8]) {
        while let Some((first, rest)) = input.split_first() {
            if *first != BOM[self.bom] {
                self.buffer.extend_from_slice(&BOM[..self.bom]);
                self.bom = BOM.len();
                return;
            }
            *input = rest;
            self.bom += 1;
            if self.bom == BOM.len() {
                return;
            }
        }
    }
}

impl Block {
    /// Adds one line of the event whose first byte is `event[0]`.
    fn read(&mut self, event: &[u8], line: Range<usize>) -> Line {
        let bytes = &event[line.clone()];
        let Some(first) = bytes.first() else {
            return Line::Blank;
        };
        match first {
            b':' => return Line::Comment,
            b'<' if self.size == 0 => return Line::Html,
            _ => self.size += bytes.len(),
        }
        let error = error_at(bytes);
        if error.is_some() {
            self.name = line.start..line.start + ERROR.len();
        }
        if let Some(skip) = value_at(bytes, b"data").or(error) {
            self.add_data(event, line.start + skip..line.end);
        } else if let Some(skip) = value_at(bytes, b"event") {
            self.name = line.start + skip..line.end;
        } else if ALL_DIALECTS && let Some(skip) = value_at(bytes, b"id") {
            let id = &bytes[skip..];
            if find(id, [0; 2]).is_none() {
                self.id.clear();
                self.id.extend_from_slice(id);
            }
        } else if !IN_PAGE && let Some(skip) = value_at(bytes, b"retry") {
            self.retry = digits(&bytes[skip..]).or(self.retry);
        }
        Line::Field
    }

    fn add_data(&mut self, event: &[u8], value: Range<usize>) {
        self.data_lines += 1;
        match self.data_lines {
            1 => {
                self.data = value;
                return;
            }
            2 => {
                self.joined.clear();
                self.joined.extend_from_slice(&event[self.data.clone()]);
            }
            _ => {}
        }
        self.joined.push(b'\n');
        self.joined.extend_from_slice(&event[value]);
    }

    fn event<'a>(&'a self, event: &'a [u8]) -> Event<'a> {
        let data = if self.data_lines > 1 { &self.joined[..] } else { &event[self.data.clone()] };
        Event { name: &event[self.name.clone()], data, id: &self.id, retry: self.retry() }
    }

    fn retry(&self) -> Option<u64> {
        if IN_PAGE { None } else { self.retry }
    }

    /// Forgets the event. The id and the reconnection time stay in force.
    fn clear(&mut self) {
        self.name = 0..0;
        self.data = 0..0;
        self.data_lines = 0;
        self.size = 0;
    }
}

impl Event<'_> {
    /// Whether the data is `error: {…}`: some servers write an error so, in place of `event: error`.
    pub(crate) fn is_bare_error(&self) -> bool {
        error_at(self.data).is_some_and(|at| Json::new(&self.data[at..]).finish())
    }
}

/// Name and data of a usual event at the beginning of `input`: perhaps an `event` line, one `data` line and a blank
/// one, all ended by LF. Nearly all events are usual, and without bookkeeping they take two thirds of the time. A page
/// does without: 230 bytes of download would save 0.06 µs.
fn usual_event<'b>(input: &mut &'b [u8]) -> Option<(&'b [u8], &'b [u8])> {
    let (mut rest, mut name) = (*input, &b""[..]);
    if let Some(value) = value_of(rest, b"event:") {
        let len = line_len(value)?;
        (name, rest) = (&value[..len], value[len..].strip_prefix(b"\n")?);
    }
    let value = value_of(rest, b"data:")?;
    let len = line_len(value)?;
    let after = value[len..].strip_prefix(b"\n\n")?;
    if input.len() - after.len() > MAX_EVENT_BYTES {
        return None;
    }
    *input = after;
    Some((name, &value[..len]))
}

/// The value after `field` and one space.
fn value_of<'b>(line: &'b [u8], field: &[u8]) -> Option<&'b [u8]> {
    let value = line.strip_prefix(field)?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

/// Bytes up to the next line end.
fn line_len(bytes: &[u8]) -> Option<usize> {
    // Every event ends in a blank line, whose line end is the first byte.
    match bytes.first() {
        Some(b'\n' | b'\r') => Some(0),
        _ => find(bytes, *b"\n\r"),
    }
}

/// The beginning of the value, if `line` is of the field `name`.
fn value_at(line: &[u8], name: &[u8]) -> Option<usize> {
    match line.strip_prefix(name)? {
        [] => Some(name.len()),
        [b':', b' ', ..] => Some(name.len() + 2),
        [b':', ..] => Some(name.len() + 1),
        _ => None,
    }
}

/// The beginning of the object, if `line` is an error.
fn error_at(line: &[u8]) -> Option<usize> {
    value_at(line, ERROR).filter(|&at| line.get(at) == Some(&b'{'))
}

/// A number of ASCII digits only: with a sign or a blank it is not valid.
fn digits(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    value.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(digit))
    })
}

/// The field of an error, which is not in the standard, and the name that its event gets.
const ERROR: &[u8] = b"error";
