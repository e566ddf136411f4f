//! The tables of all dialects as a page loads them: one row of bytes, which [`table_encoder`](super::table_encoder)
//! makes of their files while the probe is compiled.
//!
//! As the compiler lays tables out, each row is 16 bytes and most of them are pointers; here it is five,
//! and what is equal is there once.

use beacon::ServerStart;

use super::schema::Number;
use super::table_encoder::{ALL, ROW_BYTES, Uses};
use crate::json::Word;
use crate::server_timing::Unit;

/// Every dialect, in the order in which they are tried. Some that are only recognised share a place.
pub(crate) static KNOWN: [Known; ALL.count] = ALL.each_known();
pub(super) static TIMINGS: [Timing; ALL.packer.timings] = ALL.packer.each_timing();
/// Finish reasons that say that the answer broke off.
pub(super) const FAILURES: Rows = ALL.failures;
/// What our own comment says.
pub(super) const COMMENT: Rows = ALL.comment;
/// What any of them says: code for the rest would be loaded in vain.
pub(crate) const USES: Uses = ALL.packer.uses;
static BYTES: [u8; ALL.packer.bytes.len] = ALL.packer.bytes.each();

/// One wire format, as its [`Dialect`](super::Dialect) describes it.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(super) provider: Option<&'static str>,
    pub(super) kinds: Rows,
    pub(super) signs: &'static [(Word, Word)],
    pub(super) shape: Rows,
    pub(super) numbered: Option<&'static [u8]>,
    /// Place in [`TIMINGS`].
    pub(super) clock: Option<u8>,
    pub(super) named: bool,
    pub(crate) marks_end: bool,
    pub(crate) gives_reason: bool,
    pub(super) ends_by_closing: bool,
}

impl Known {
    /// Whether it is only recognised, and read elsewhere.
    pub(super) fn is_beyond(&self) -> bool {
        !crate::ALL && self.name.is_empty()
    }
}

/// Whose timing it is and how to read it, as its [`Clock`](crate::server_timing::Clock) describes it.
#[derive(Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) name: &'static str,
    pub(crate) is_provider: bool,
    pub(crate) starts_from: ServerStart,
    pub(crate) unit: Unit,
    pub(crate) needs: Number,
    pub(super) shape: Rows,
}

/// A table: where it stands among the bytes, behind the number of its rows. Each row is a word and what
/// it means there, lowest bytes first.
#[derive(Clone, Copy)]
pub(super) struct Rows(pub(super) u16);

impl Rows {
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

/// What a word means in a table of what to take: one of these, above its argument. Zero is none of them.
pub(super) mod op {
    pub(crate) const TEXT: u16 = 1;
    pub(crate) const ANSWER_OR_IN: u16 = 2;
    pub(crate) const THING: u16 = 3;
    pub(crate) const IN: u16 = 4;
    pub(crate) const CHOICE: u16 = 5;
    pub(crate) const CLOCK: u16 = 6;
    pub(crate) const TOKENS: u16 = 7;
    pub(crate) const MORE_TOKENS: u16 = 8;
    pub(crate) const NUMBER: u16 = 9;
    pub(crate) const MODEL: u16 = 10;
    pub(crate) const ID: u16 = 11;
    pub(crate) const KIND: u16 = 12;
    pub(crate) const REASON: u16 = 13;
    pub(crate) const IF: u16 = 14;
    pub(crate) const SAYS: u16 = 15;
    pub(crate) const PROVES: u16 = 16;
    pub(crate) const IF_STRING: u16 = 17;

    /// How many bits of the meaning are its argument.
    pub(crate) const ARGUMENT_BITS: u32 = 11;
}
