//! The encoded form of the dialects' tables, as a page loads them: one row of bytes.
//!
//! In the compiler's layout each row of a table takes 16 bytes, and most of them are pointers. Here it takes five, and
//! equal tables are stored once.

use crate::event_numbers::Number;
use crate::json::Word;
use crate::server_timing::TimingFormat;

/// One wire format, as its [`Dialect`](super::schema::Dialect) describes it.
#[derive(Clone, Copy)]
pub(crate) struct EncodedDialect {
    pub(crate) name: &'static str,
    pub(super) provider: Option<&'static str>,
    pub(super) event_types: EncodedTable,
    pub(super) key_pairs: &'static [(Word, Word)],
    pub(super) schema: EncodedTable,
    pub(super) numbered_events: Option<&'static [u8]>,
    /// Index in [`TIMINGS`](super::table_reader::TIMINGS).
    pub(super) timing: Option<u8>,
    pub(super) typed_by_name: bool,
    pub(crate) marks_end: bool,
    pub(crate) gives_reason: bool,
    pub(super) ends_by_closing: bool,
    pub(crate) is_queue: bool,
}

/// An engine's own timing, as its [`EngineTiming`](super::schema::EngineTiming) describes it.
pub(crate) type EncodedTiming = TimingFormat<EncodedTable>;

/// A table, by its offset among the bytes. The number of rows comes first. Each row is a word and its meaning, lowest
/// bytes first.
#[derive(Clone, Copy)]
pub(crate) struct EncodedTable(pub(super) u16);

/// A word and its meaning.
pub(super) const ROW_BYTES: usize = 5;

/// The meaning of a word in a table of what to take: one of these above its argument. Zero is none of them.
pub(super) mod op {
    pub(crate) const TEXT: u16 = 1;
    pub(crate) const ANSWER_OR_IN: u16 = 2;
    pub(crate) const CONTENT: u16 = 3;
    pub(crate) const IN: u16 = 4;
    pub(crate) const CHOICE: u16 = 5;
    pub(crate) const TIMING: u16 = 6;
    pub(crate) const TOKENS: u16 = 7;
    pub(crate) const MORE_TOKENS: u16 = 8;
    pub(crate) const NUMBER: u16 = 9;
    pub(crate) const MODEL: u16 = 10;
    pub(crate) const ID: u16 = 11;
    pub(crate) const EVENT_TYPE: u16 = 12;
    pub(crate) const REASON: u16 = 13;
    pub(crate) const IF: u16 = 14;
    pub(crate) const WORD: u16 = 15;
    pub(crate) const PROVES_PROVIDER: u16 = 16;
    pub(crate) const IF_STRING: u16 = 17;

    /// The number of bits of the argument.
    pub(crate) const ARGUMENT_BITS: u32 = 11;
}

/// What the tables of this build use. Code for anything else is compiled out.
pub(super) struct UsedFeatures {
    /// A bit for each of the ops.
    pub(super) ops: u32,
    /// All acts together.
    pub(super) acts: u16,
    /// A bit for each of the numbers.
    pub(super) numbers: u16,
    /// Some dialect has its event types in the names of SSE events.
    pub(super) typed_by_name: bool,
    /// Some dialect numbers its events by their ids.
    pub(super) numbered_events: bool,
    /// Some dialect marks the end by nothing but the end of the body.
    pub(super) ends_by_closing: bool,
}

impl UsedFeatures {
    pub(super) const NONE: Self = Self {
        ops: 0,
        acts: 0,
        numbers: 0,
        typed_by_name: false,
        numbered_events: false,
        ends_by_closing: false,
    };

    pub(super) const fn op(&self, op: u16) -> bool {
        self.ops >> op & 1 == 1
    }

    pub(super) const fn number(&self, number: Number) -> bool {
        self.numbers >> number as u16 & 1 == 1
    }
}
