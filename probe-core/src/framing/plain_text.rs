//! Plain text, which has no events: every read is text.

use std::mem;

use super::frame::{Frame, Pending};

/// A body of text. Feed it chunks in order with [`PlainText::next`].
#[derive(Debug, Clone, Default)]
pub struct PlainText {
    /// The first bytes of a character that goes on in the next chunk.
    cut: Vec<u8>,
}

impl PlainText {
    /// Takes all of `input`. `None` if it is empty.
    pub fn next<'b>(&mut self, input: &mut &'b [u8]) -> Option<Frame<'b>> {
        let bytes = mem::take(input);
        (!bytes.is_empty()).then(|| Frame::Text { bytes, is_utf8: self.is_utf8(bytes) })
    }

    /// The rest when no more bytes come: half a character is never shown.
    pub fn finish(&mut self) -> Pending<'_> {
        Pending { bytes: self.cut.len(), ..Pending::default() }
    }

    /// Whether all characters that end in `bytes` are valid.
    fn is_utf8(&mut self, bytes: &[u8]) -> bool {
        let mut joined = mem::take(&mut self.cut);
        joined.extend_from_slice(bytes);
        let mut rest = joined.as_slice();
        let mut valid = true;
        while let Err(error) = str::from_utf8(rest) {
            rest = &rest[error.valid_up_to()..];
            let Some(broken) = error.error_len() else {
                self.cut = rest.to_vec();
                break;
            };
            valid = false;
            rest = &rest[broken..];
        }
        valid
    }
}
