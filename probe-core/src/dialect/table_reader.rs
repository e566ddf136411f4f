//! The encoded tables of all dialects, which [`table_encoder`](super::table_encoder) makes while the crate is
//! compiled, and what a word means in them.

use super::encoded_table::{EncodedDialect, EncodedTable, EncodedTiming, ROW_BYTES, UsedFeatures};
use super::schema::Act;
use super::table_encoder::ENCODED;
use crate::json::Word;

/// Every dialect, in the order in which they are tried. Some that are only recognised share a place.
pub(crate) static ENCODED_DIALECTS: [EncodedDialect; ENCODED.count] = ENCODED.each_dialect();
pub(super) static TIMINGS: [EncodedTiming; ENCODED.encoder.timings] = ENCODED.encoder.each_timing();
/// Finish reasons that say that the answer broke off.
pub(super) const FAILURES: EncodedTable = ENCODED.failures;
/// What our own comment says.
pub(super) const COMMENT: EncodedTable = ENCODED.comment;
/// What any of them says: code for the rest would be loaded in vain.
pub(crate) const USED: UsedFeatures = ENCODED.encoder.used;
static BYTES: [u8; ENCODED.encoder.bytes.len] = ENCODED.encoder.bytes.each();

impl EncodedTable {
    pub(super) fn is_empty(self) -> bool {
        behind(self.0).0 == 0
    }

    /// What `word` means by this table.
    pub(super) fn find(self, word: Word) -> Option<u16> {
        let (len, rest) = behind(self.0);
        let rows: &[[u8; ROW_BYTES]] = rest.as_chunks().0;
        let found = rows.iter().take(len).find(|&&[a, b, c, ..]| Word::from_bytes([a, b, c]) == word);
        found.map(|&[_, _, _, low, high]| u16::from_le_bytes([low, high]))
    }
}

/// The count that stands at `at`, and what stands behind it.
fn behind(at: u16) -> (usize, &'static [u8]) {
    match BYTES.get(usize::from(at)..) {
        Some([count, rest @ ..]) => (usize::from(*count), rest),
        _ => (0, &[]),
    }
}

impl Act {
    /// Whether it has any of the meanings of `other` that are in some table.
    pub(super) fn has(self, other: Self) -> bool {
        self.bits() & other.bits() & USED.acts != 0
    }

    /// What `word` means by this table.
    pub(super) fn of(word: &[u8], acts: EncodedTable) -> Option<Self> {
        acts.find(Word::of(word)).map(Self::from_bits)
    }
}
