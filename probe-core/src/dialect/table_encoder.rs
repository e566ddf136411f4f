//! Encodes the dialects' tables into the bytes of [`table_reader`](super::table_reader). Only the compiler runs this
//! code: none of it is in the probe.

use beacon::ServerStart;

use super::encoded_table::{EncodedDialect, EncodedTable, EncodedTiming, UsedFeatures, op};
use super::formats::DIALECTS;
use super::formats::shared_tables::{COMMENT, FAILURES};
use super::schema::{Act, Dialect, EngineTiming, Schema, Table, Take};
use crate::event_numbers::Number;
use crate::json::Word;
use crate::server_timing::Unit;

pub(super) const ENCODED: EncodedTables = EncodedTables::encoded();

/// All encoded tables.
pub(super) struct EncodedTables {
    pub(super) dialects: [EncodedDialect; DIALECTS.len()],
    pub(super) failures: EncodedTable,
    pub(super) comment: EncodedTable,
    pub(super) encoder: TableEncoder,
}

impl EncodedTables {
    const fn encoded() -> Self {
        let mut encoder = TableEncoder::new();
        let mut dialects = [encoder.dialect(DIALECTS[0]); _];
        let mut at = 1;
        while at < DIALECTS.len() {
            dialects[at] = encoder.dialect(DIALECTS[at]);
            at += 1;
        }
        let (failures, comment) = (encoder.acts(FAILURES), encoder.schema(COMMENT));
        Self { dialects, failures, comment, encoder }
    }
}

/// Writes tables one after the other.
pub(super) struct TableEncoder {
    pub(super) bytes: Bytes<{ 1 << op::ARGUMENT_BITS }>,
    /// The beginning of each table.
    begun: [usize; 256],
    written: usize,
    timing: [EncodedTiming; 16],
    pub(super) timings: usize,
    pub(super) used: UsedFeatures,
}

impl TableEncoder {
    const fn new() -> Self {
        let none = EncodedTiming {
            name: "",
            is_provider: false,
            starts_from: ServerStart::Arrival,
            unit: Unit::Millisecond,
            needs: Number::Index,
            schema: EncodedTable(0),
        };
        Self {
            bytes: Bytes::new(),
            begun: [0; _],
            written: 0,
            timing: [none; _],
            timings: 0,
            used: UsedFeatures::NONE,
        }
    }

    const fn dialect(&mut self, dialect: &Dialect) -> EncodedDialect {
        self.used.typed_by_name |= dialect.typed_by_name;
        self.used.numbered_events |= dialect.numbered_events.is_some();
        self.used.ends_by_closing |= dialect.ends_by_closing;
        EncodedDialect {
            name: dialect.name,
            provider: dialect.provider,
            event_types: self.acts(dialect.event_types),
            key_pairs: dialect.key_pairs,
            schema: self.schema(dialect.schema),
            numbered_events: dialect.numbered_events,
            timing: match dialect.timing {
                Some(timing) => Some(self.timing(timing)),
                None => None,
            },
            typed_by_name: dialect.typed_by_name,
            marks_end: dialect.marks_end,
            gives_reason: dialect.gives_reason,
            ends_by_closing: dialect.ends_by_closing,
            is_queue: dialect.is_queue,
        }
    }

    const fn schema(&mut self, schema: &Schema) -> EncodedTable {
        let mut table = Bytes::counted(schema.len());
        let mut at = 0;
        while at < schema.len() {
            let (word, take) = &schema[at];
            table.row(*word, self.meaning(take));
            at += 1;
        }
        EncodedTable(self.write(&table))
    }

    const fn acts(&mut self, acts: &Table<Act>) -> EncodedTable {
        let mut table = Bytes::counted(acts.len());
        let mut at = 0;
        while at < acts.len() {
            let (word, act) = acts[at];
            table.row(word, act.bits());
            self.used.acts |= act.bits();
            at += 1;
        }
        EncodedTable(self.write(&table))
    }

    /// The index of the timing in [`TIMINGS`](super::table_reader::TIMINGS).
    const fn timing(&mut self, timing: &EngineTiming) -> u8 {
        let &EngineTiming { name, is_provider, starts_from, unit, needs, .. } = timing;
        let schema = self.schema(timing.schema);
        let mut at = 0;
        while at < self.timings && !same(self.timing[at].name.as_bytes(), name.as_bytes()) {
            at += 1;
        }
        self.timing[at] = EncodedTiming { name, is_provider, starts_from, unit, needs, schema };
        if at == self.timings {
            self.timings += 1;
        }
        at as u8
    }

    const fn meaning(&mut self, take: &Take) -> u16 {
        let (op, argument) = match *take {
            Take::Text(text) => (op::TEXT, text.bits() as u16),
            Take::AnswerOrIn(schema) => (op::ANSWER_OR_IN, self.schema(schema).0),
            Take::Content(text) => (op::CONTENT, text.bits() as u16),
            Take::In(schema) => (op::IN, self.schema(schema).0),
            Take::Choice(schema) => (op::CHOICE, self.schema(schema).0),
            Take::Timing(timing) => (op::TIMING, self.timing(timing) as u16),
            Take::Tokens(tokens) => (op::TOKENS, tokens as u16),
            Take::MoreTokens(tokens) => (op::MORE_TOKENS, tokens as u16),
            Take::Number(number) => {
                self.used.numbers |= 1 << number as u16;
                (op::NUMBER, number as u16)
            }
            Take::Model => (op::MODEL, 0),
            Take::Id => (op::ID, 0),
            Take::EventType => (op::EVENT_TYPE, 0),
            Take::Reason => (op::REASON, 0),
            Take::If(act) => {
                self.used.acts |= act.bits();
                (op::IF, act.bit())
            }
            Take::IfString(act) => {
                self.used.acts |= act.bits();
                (op::IF_STRING, act.bit())
            }
            Take::Word(acts) => (op::WORD, self.acts(acts).0),
            Take::ProvesProvider(timing) => (op::PROVES_PROVIDER, self.timing(timing) as u16),
        };
        self.used.ops |= 1 << op;
        op << op::ARGUMENT_BITS | argument
    }

    /// Writes a table unless an equal one is there. Returns its offset.
    const fn write(&mut self, it: &Bytes<MOST_BYTES>) -> u16 {
        let mut at = 0;
        while at < self.written {
            if self.bytes.has(self.begun[at], it) {
                return self.begun[at] as u16;
            }
            at += 1;
        }
        let start = self.bytes.len;
        self.begun[self.written] = start;
        self.written += 1;
        self.bytes.extend(&it.bytes, it.len);
        start as u16
    }

    pub(super) const fn each_timing<const N: usize>(&self) -> [EncodedTiming; N] {
        *self.timing.first_chunk().expect("no more than there are")
    }
}

const fn same(left: &[u8], right: &[u8]) -> bool {
    let mut at = 0;
    while at < left.len() && at < right.len() && left[at] == right[at] {
        at += 1;
    }
    at == left.len() && at == right.len()
}

/// Bytes that grow up to a limit. With more of them the crate does not compile.
pub(super) struct Bytes<const N: usize> {
    bytes: [u8; N],
    pub(super) len: usize,
}

/// The most bytes of one table.
const MOST_BYTES: usize = 256;

impl<const N: usize> Bytes<N> {
    const fn new() -> Self {
        Self { bytes: [0; N], len: 0 }
    }

    /// Begins with the number of rows.
    const fn counted(count: usize) -> Self {
        let mut bytes = Self::new();
        bytes.extend(&[count as u8], 1);
        bytes
    }

    const fn row(&mut self, word: Word, meaning: u16) {
        self.extend(&word.to_bytes(), 3);
        self.extend(&meaning.to_le_bytes(), 2);
    }

    const fn extend(&mut self, bytes: &[u8], len: usize) {
        let mut at = 0;
        while at < len {
            self.bytes[self.len] = bytes[at];
            self.len += 1;
            at += 1;
        }
    }

    const fn has<const M: usize>(&self, start: usize, other: &Bytes<M>) -> bool {
        let mut at = 0;
        while at < other.len {
            if self.bytes[start + at] != other.bytes[at] {
                return false;
            }
            at += 1;
        }
        true
    }

    pub(super) const fn each<const M: usize>(&self) -> [u8; M] {
        *self.bytes.first_chunk().expect("no more than there are")
    }
}
