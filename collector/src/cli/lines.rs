//! Splits input into lines of any length. Memory contains at most a limited part of a long line.

use std::io::{self, BufRead};

/// A line without its line break.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    /// Longer than the limit; its text was skipped.
    TooLong,
}

/// Reads the lines that are not blank.
pub(super) struct Lines<R> {
    from: R,
    most: usize,
    line: Vec<u8>,
    read: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) const fn new(from: R, most: usize) -> Self {
        Self { from, most, line: Vec::new(), read: 0 }
    }

    /// Number of lines read so far, blank lines included.
    pub(super) const fn read(&self) -> u64 {
        self.read
    }

    /// The next line that is not blank, and its number from 1 on. `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        loop {
            let Some(fits) = self.fill()? else { return Ok(None) };
            self.read += 1;
            if !fits {
                return Ok(Some((self.read, Line::TooLong)));
            }
            if !self.line.trim_ascii().is_empty() {
                // The return is outside the loop because the borrow checker would extend the borrow over all
                // iterations.
                break;
            }
        }
        Ok(Some((self.read, Line::Whole(self.line.trim_ascii()))))
    }

    /// Reads to the end of the next line and returns whether it fits. `None` at the end.
    fn fill(&mut self) -> io::Result<Option<bool>> {
        self.line.clear();
        let (mut length, mut ended) = (0, false);
        while !ended {
            let piece = match self.from.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if piece.is_empty() {
                break;
            }
            let end = memchr::memchr(b'\n', piece);
            let part = &piece[..end.unwrap_or(piece.len())];
            if length + part.len() <= self.most {
                self.line.extend_from_slice(part);
            }
            length += part.len();
            ended = end.is_some();
            let consumed = part.len() + usize::from(ended);
            self.from.consume(consumed);
        }
        Ok((ended || length > 0).then_some(length <= self.most))
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn read(text: &str, most: usize, buffer: usize) -> Vec<(u64, Option<String>)> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, text.as_bytes()), most);
        let mut all = Vec::new();
        loop {
            let (number, line) = match lines.next().unwrap() {
                None => return all,
                Some((number, Line::Whole(line))) => {
                    (number, Some(String::from_utf8(line.to_vec()).unwrap()))
                }
                Some((number, Line::TooLong)) => (number, None),
            };
            all.push((number, line));
        }
    }

    #[test]
    fn lines_are_the_same_however_they_are_read() {
        let text = "one\r\n\n  \ntwo and more\nthree";
        let line = |number, text: &str| (number, Some(text.to_owned()));
        for buffer in 1..=text.len() {
            assert_eq!(read(text, 20, buffer), [line(1, "one"), line(4, "two and more"), line(5, "three")]);
            assert_eq!(read(text, 5, buffer), [line(1, "one"), (4, None), line(5, "three")]);
        }
        assert_eq!(read("", 5, 1), []);
        assert_eq!(read("\n\n", 5, 1), []);
    }

    #[test]
    fn a_line_without_end_uses_bounded_memory() {
        let endless = io::Read::take(io::repeat(b'x'), 50_000_000);
        let mut lines = Lines::new(BufReader::new(endless), 1_000);
        assert_eq!(lines.next().unwrap(), Some((1, Line::TooLong)));
        assert!(lines.line.capacity() <= 2 * 8_192);
        assert_eq!(lines.next().unwrap(), None);
    }
}
