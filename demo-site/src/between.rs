//! Inserts SSE comments between the events of a relayed stream, whose chunks may split events anywhere. All
//! other bytes stay unchanged.

use bytes::Bytes;

/// Position in the stream, and comments that wait for the next boundary.
#[derive(Debug)]
pub(crate) struct Between {
    /// The stream so far consists of whole events.
    at_edge: bool,
    at_line_start: bool,
    last: u8,
    waiting: String,
}

impl Between {
    pub(crate) const fn new() -> Self {
        Self { at_edge: true, at_line_start: true, last: 0, waiting: String::new() }
    }

    /// Inserts `comment`, with its blank line, at the next event boundary.
    pub(crate) fn insert(&mut self, comment: &str) {
        self.waiting.push_str(comment);
    }

    /// Returns the chunk with any waiting comment inserted.
    pub(crate) fn pass(&mut self, chunk: Bytes) -> Bytes {
        let edge = self.first_edge(&chunk).filter(|_| !self.waiting.is_empty());
        let Some(edge) = edge else { return chunk };
        let comment = std::mem::take(&mut self.waiting);
        [&chunk[..edge], comment.as_bytes(), &chunk[edge..]].concat().into()
    }

    /// Reads the whole chunk and returns the first position in it between two events.
    fn first_edge(&mut self, chunk: &[u8]) -> Option<usize> {
        let mut edge = self.at_edge.then_some(0);
        for (at, &byte) in chunk.iter().enumerate() {
            match byte {
                // The second byte of a CRLF.
                b'\n' if self.last == b'\r' => {}
                b'\n' | b'\r' => {
                    self.at_edge = self.at_line_start;
                    self.at_line_start = true;
                }
                _ => (self.at_edge, self.at_line_start) = (false, false),
            }
            self.last = byte;
            // A CRLF must not be split.
            if self.at_edge && edge.is_none() && chunk.get(at + 1) != Some(&b'\n') {
                edge = Some(at + 1);
            }
        }
        edge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(chunks: &[&str], comment_before: usize) -> String {
        let mut between = Between::new();
        let mut sent = Vec::new();
        for (at, chunk) in chunks.iter().enumerate() {
            if at == comment_before {
                between.insert(": c\n\n");
            }
            sent.extend_from_slice(&between.pass(Bytes::copy_from_slice(chunk.as_bytes())));
        }
        String::from_utf8(sent).unwrap()
    }

    #[test]
    fn a_comment_goes_before_a_chunk_that_starts_an_event() {
        assert_eq!(passed(&["data: 1\n\n", "data: 2\n\n"], 1), "data: 1\n\n: c\n\ndata: 2\n\n");
        assert_eq!(passed(&["data: 1\n\n"], 0), ": c\n\ndata: 1\n\n");
    }

    #[test]
    fn a_comment_waits_for_the_end_of_an_event_that_is_split() {
        assert_eq!(passed(&["data: 1", "\n\ndata: 2\n\n"], 1), "data: 1\n\n: c\n\ndata: 2\n\n");
        assert_eq!(passed(&["data: 1", "\n", "\ndata: 2\n\n"], 1), "data: 1\n\n: c\n\ndata: 2\n\n");
        assert_eq!(passed(&["event: a\n", "data: 1\n", "\n"], 1), "event: a\ndata: 1\n\n: c\n\n");
    }

    #[test]
    fn every_line_end_of_the_sse_standard_ends_an_event() {
        assert_eq!(passed(&["data: 1\r\n\r\n", "data: 2\r\n"], 1), "data: 1\r\n\r\n: c\n\ndata: 2\r\n");
        assert_eq!(passed(&["data: 1\r\n", "\r\ndata: 2\r\n"], 1), "data: 1\r\n\r\n: c\n\ndata: 2\r\n");
        assert_eq!(passed(&["data: 1\r\r", "data: 2\r\r"], 1), "data: 1\r\r: c\n\ndata: 2\r\r");
    }

    #[test]
    fn bytes_without_a_comment_or_a_boundary_stay_unchanged() {
        assert_eq!(passed(&["data: 1\n", "data: 2\n\n"], 9), "data: 1\ndata: 2\n\n");
        assert_eq!(passed(&["data: 1\n", "data: 2\n"], 1), "data: 1\ndata: 2\n");
    }
}
