//! Plain text, which has no events: every read is text as it comes.

use std::mem;

use super::frame::{Frame, Pending};
use crate::utf8::{self, First};

/// A body of text. Feed it chunks in order with [`PlainText::next`].
#[derive(Debug, Clone, Default)]
pub struct PlainText {
    /// The first bytes of a character that the last chunk broke off.
    cut: Vec<u8>,
}

impl PlainText {
    /// Takes all of `input`. `None` when there is nothing.
    pub fn next<'b>(&mut self, input: &mut &'b [u8]) -> Option<Frame<'b>> {
        let bytes = mem::take(input);
        (!bytes.is_empty()).then(|| Frame::Text { bytes, is_utf8: self.is_utf8(bytes) })
    }

    /// What is left when no more bytes come: half a character is never shown.
    pub fn finish(&mut self) -> Pending<'_> {
        Pending { bytes: self.cut.len(), ..Pending::default() }
    }

    /// Whether all characters that end in `bytes` are whole.
    fn is_utf8(&mut self, bytes: &[u8]) -> bool {
        let mut joined = mem::take(&mut self.cut);
        let mut rest = bytes;
        if !joined.is_empty() {
            joined.extend_from_slice(bytes);
            rest = &joined;
        }
        let mut valid = true;
        while let Some(first) = utf8::first(rest) {
            if first == First::Cut {
                self.cut = rest.to_vec();
                break;
            }
            valid &= first != First::Broken;
            utf8::take(&mut rest);
        }
        valid
    }
}
