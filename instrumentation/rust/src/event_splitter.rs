//! Splits a body into server-sent events, and says where in a chunk each begins and ends.

use memchr::memchr2;

/// An event that a chunk completes.
pub(crate) struct Event<'a> {
    /// Position of its first byte in the chunk. `None` if no comment can go before it: the byte was in an earlier
    /// chunk, or begins a byte order mark.
    pub(crate) start: Option<usize>,
    /// The byte after its empty line, in the same chunk.
    pub(crate) end: usize,
    /// Its lines without a byte order mark. Of a long event only the part that was kept.
    pub(crate) text: &'a [u8],
    /// Whether it is longer than what is kept.
    pub(crate) is_long: bool,
    /// Whether a line `data:` has a value, known also where it is not kept.
    pub(crate) has_data: bool,
    /// Whether one of its lines, or of an earlier event's, was `id:` or `retry:`.
    pub(crate) has_ids: bool,
    /// The end of its last line that is not empty.
    pub(crate) line_end: &'static str,
}

#[derive(Debug)]
pub(crate) struct EventSplitter {
    /// Whether the last event is incomplete.
    is_open: bool,
    /// As in `Event`, for the lines so far.
    has_ids: bool,
    /// As in `Event`, for the lines so far.
    line_end: &'static str,
    /// What earlier chunks had of the open event, as far as it is kept.
    carried: Vec<u8>,
    /// How long that was, kept or not.
    carried_bytes: usize,
    has_data: bool,
    line_bytes: usize,
    /// The first bytes of the line.
    line_head: [u8; LINE_HEAD],
    is_first_line: bool,
    /// Whether the open event begins with a byte order mark.
    starts_with_mark: bool,
    /// The last byte was a carriage return: a line feed would belong to the same line end.
    after_return: bool,
}

impl EventSplitter {
    pub(crate) const fn new() -> Self {
        Self {
            is_open: false,
            has_ids: false,
            line_end: "\n",
            carried: Vec::new(),
            carried_bytes: 0,
            has_data: false,
            line_bytes: 0,
            line_head: [0; LINE_HEAD],
            is_first_line: true,
            starts_with_mark: false,
            after_return: false,
        }
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.is_open
    }

    pub(crate) const fn has_ids(&self) -> bool {
        self.has_ids
    }

    pub(crate) const fn line_end(&self) -> &'static str {
        self.line_end
    }

    /// Calls `on_event` for each event that `chunk` completes.
    pub(crate) fn feed(&mut self, chunk: &[u8], mut on_event: impl FnMut(&Event<'_>)) {
        // Where the open event begins in this chunk.
        let mut start = 0;
        let mut at = 0;
        if self.after_return && chunk.first() == Some(&b'\n') {
            if self.is_open {
                self.line_end = "\r\n";
            }
            at = 1;
            // The chunk may have no other byte.
            self.after_return = false;
            // The rest of a line end in the middle of the open event belongs to its text.
            start = usize::from(!self.is_open);
        }
        while at < chunk.len() {
            self.after_return = false;
            let rest = &chunk[at..];
            let length = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            if length > 0 {
                if !self.is_open {
                    start = at;
                    self.is_open = true;
                }
                self.add_to_line(&rest[..length]);
                at += length;
            }
            let line_end = match &rest[length..] {
                [] => break,
                [b'\r', b'\n', ..] => "\r\n",
                [b'\r', ..] => "\r",
                _ => "\n",
            };
            at += line_end.len();
            self.after_return = line_end == "\r" && at == chunk.len();
            if self.line_bytes > 0 {
                self.end_line(line_end);
            } else if self.is_open {
                self.close(&chunk[start..at], start, at, &mut on_event);
            }
        }
        if self.is_open {
            self.carry(&chunk[start..]);
        }
    }

    fn add_to_line(&mut self, bytes: &[u8]) {
        let room = &mut self.line_head[self.line_bytes.min(LINE_HEAD)..];
        let kept = room.len().min(bytes.len());
        room[..kept].copy_from_slice(&bytes[..kept]);
        self.line_bytes += bytes.len();
    }

    fn end_line(&mut self, line_end: &'static str) {
        self.line_end = line_end;
        let head = &self.line_head[..self.line_bytes.min(LINE_HEAD)];
        if self.is_first_line {
            self.starts_with_mark = head.starts_with(BYTE_ORDER_MARK);
        }
        let skipped = if self.is_first_line && self.starts_with_mark { BYTE_ORDER_MARK.len() } else { 0 };
        let head = &head[skipped..];
        self.has_ids |= head.starts_with(b"id:") || head.starts_with(b"retry:");
        let name = if head.starts_with(b"data: ") { "data: " } else { "data:" };
        self.has_data |= head.starts_with(b"data:") && self.line_bytes > skipped + name.len();
        self.is_first_line = false;
        self.line_bytes = 0;
    }

    /// Ends the open event, of which `last` is what this chunk has, from `start` to `end`.
    fn close(&mut self, last: &[u8], start: usize, end: usize, on_event: &mut impl FnMut(&Event<'_>)) {
        let is_carried = self.carried_bytes > 0;
        let is_long = self.carried_bytes + last.len() > LONGEST_PARSED;
        if is_carried {
            self.carry(last);
        }
        let kept = if is_carried { &self.carried } else { &last[..last.len().min(LONGEST_PARSED)] };
        let text = if self.starts_with_mark { &kept[BYTE_ORDER_MARK.len()..] } else { kept };
        on_event(&Event {
            start: (!is_carried && !self.starts_with_mark).then_some(start),
            end,
            text,
            is_long,
            has_data: self.has_data,
            has_ids: self.has_ids,
            line_end: self.line_end,
        });
        (self.is_open, self.has_data, self.starts_with_mark) = (false, false, false);
        self.carried.clear();
        self.carried_bytes = 0;
    }

    fn carry(&mut self, bytes: &[u8]) {
        let room = LONGEST_PARSED.saturating_sub(self.carried_bytes);
        self.carried.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.carried_bytes += bytes.len();
    }
}

/// Bytes of an event that are kept until it is complete.
const LONGEST_PARSED: usize = 16_384;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes that show a line's field, behind a byte order mark, too.
const LINE_HEAD: usize = BYTE_ORDER_MARK.len() + "retry:".len();
