//! The encoded tables of all dialects, as [`table_encoder`](super::table_encoder) makes them at compile time, and the
//! lookup of words in them.

use super::encoded_table::{EncodedDialect, EncodedTable, EncodedTiming, ROW_BYTES, UsedFeatures};
use super::formats::DIALECTS;
use super::schema::Act;
use super::table_encoder::ENCODED;
use crate::json::Word;

/// Every dialect of this build, in the order in which they are tried.
pub(crate) static ENCODED_DIALECTS: [EncodedDialect; DIALECTS.len()] = ENCODED.dialects;
pub(super) static TIMINGS: [EncodedTiming; ENCODED.encoder.timings] = ENCODED.encoder.each_timing();
/// Finish reasons of an answer that broke off.
pub(super) const FAILURES: EncodedTable = ENCODED.failures;
/// The fields of our own comment.
pub(super) const COMMENT: EncodedTable = ENCODED.comment;
/// What any of the tables uses.
pub(crate) const USED: UsedFeatures = ENCODED.encoder.used;
static BYTES: [u8; ENCODED.encoder.bytes.len] = ENCODED.encoder.bytes.each();

impl EncodedTable {
    pub(super) fn is_empty(self) -> bool {
        behind(self.0).0 == 0
    }

    /// The meaning of `word` in this table.
    pub(super) fn find(self, word: Word) -> Option<u16> {
        let (len, rest) = behind(self.0);
        let rows: &[[u8; ROW_BYTES]] = rest.as_chunks().0;
        let found = rows.iter().take(len).find(|&&[a, b, c, ..]| Word::from_bytes([a, b, c]) == word);
        found.map(|&[_, _, _, low, high]| u16::from_le_bytes([low, high]))
    }
}

/// The number of rows at the offset `at`, and the bytes after it.
fn behind(at: u16) -> (usize, &'static [u8]) {
    match BYTES.get(usize::from(at)..) {
        Some([count, rest @ ..]) => (usize::from(*count), rest),
        _ => (0, &[]),
    }
}

impl Act {
    /// Whether it has any of the meanings of `other` that a table uses.
    pub(super) fn has(self, other: Self) -> bool {
        self.bits() & other.bits() & USED.acts != 0
    }

    /// The meaning of `word` in this table.
    pub(super) fn of(word: &[u8], acts: EncodedTable) -> Option<Self> {
        acts.find(Word::of(word)).map(Self::from_bits)
    }
}
