//! Frames of the journal: a batch is packed into one, and frames are found again in damaged bytes.
//!
//! A frame is a head of 16 bytes and a payload, all numbers little-endian:
//!
//! ```text
//! 0  magic   4   "rumJ"
//! 4  length  4   of the payload
//! 8  payload 4   CRC-32 of the payload
//! 12 head    4   CRC-32 of the frame's position in the journal, then of bytes 4 to 12
//! 16 time    8   arrival, milliseconds since 1970
//! 24         …   each record: its length (4), then its bytes as `record.rs` has them
//! ```
//!
//! The position is part of the head's checksum because files are reused: bytes from a file's earlier use are not a
//! valid frame at their new position.

use memchr::memmem;

use crate::report::source::ReportSource;

/// One batch in its encoded form; the position is filled in when it is known.
#[derive(Debug)]
pub(crate) struct Frame {
    /// The mark of the journal's end follows the frame.
    bytes: Vec<u8>,
    payload_sum: u32,
    /// Not in the bytes.
    source: ReportSource,
}

/// Location of a record inside its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordRange {
    pub(crate) offset: u32,
    pub(crate) len: u32,
}

/// Result of [`next`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Scanned<'a> {
    /// An intact frame, which ends at `end`.
    Whole { payload: &'a [u8], end: usize },
    /// An intact head whose damaged payload ends at `end`, or where the bytes end.
    Damaged { payload: &'a [u8], end: usize },
    /// No head.
    Nothing,
}

impl Frame {
    /// Packs the records of one batch. `write` encodes each of them.
    pub(crate) fn pack<T>(
        received_ms: i64,
        records: impl IntoIterator<Item = T>,
        write: impl Fn(T, &mut Vec<u8>),
    ) -> Self {
        let records = records.into_iter();
        let usual_bytes = records.size_hint().0 * USUAL_BYTES;
        let mut bytes = Vec::with_capacity(HEAD_BYTES + 8 + usual_bytes + END.len());
        bytes.extend_from_slice(&[0; HEAD_BYTES]);
        bytes.extend_from_slice(&received_ms.to_le_bytes());
        for record in records {
            let at = bytes.len();
            bytes.extend_from_slice(&[0; 4]);
            write(record, &mut bytes);
            let len = (bytes.len() - at - 4) as u32;
            bytes[at..at + 4].copy_from_slice(&len.to_le_bytes());
        }
        let payload_sum = crc32fast::hash(&bytes[HEAD_BYTES..]);
        bytes.extend_from_slice(&END);
        Self { bytes, payload_sum, source: ReportSource::default() }
    }

    /// The same frame, whose batch comes from `source`.
    pub(super) fn sent_by(self, source: ReportSource) -> Self {
        Self { source, ..self }
    }

    pub(super) const fn source(&self) -> ReportSource {
        self.source
    }

    pub(super) fn payload(&self) -> &[u8] {
        &self.bytes[HEAD_BYTES..self.len()]
    }

    /// Its memory.
    pub(super) const fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    pub(super) const fn len(&self) -> usize {
        self.bytes.len() - END.len()
    }

    /// The frame's bytes for this position.
    pub(super) fn sealed(&mut self, position: u64) -> &[u8] {
        let len = (self.len() - HEAD_BYTES) as u32;
        let mut head = [0; HEAD_BYTES];
        head[..4].copy_from_slice(&MAGIC);
        head[4..8].copy_from_slice(&len.to_le_bytes());
        head[8..12].copy_from_slice(&self.payload_sum.to_le_bytes());
        let head_sum = head_sum(position, &head);
        head[12..].copy_from_slice(&head_sum.to_le_bytes());
        self.bytes[..HEAD_BYTES].copy_from_slice(&head);
        &self.bytes[..self.len()]
    }

    /// The same, followed by the mark of the journal's end.
    pub(super) fn sealed_last(&mut self, position: u64) -> &[u8] {
        self.sealed(position);
        &self.bytes
    }
}

/// Looks for a frame at `at` in `bytes`, which begin at `base` in the journal.
pub(super) fn next(bytes: &[u8], base: u64, at: usize) -> Scanned<'_> {
    let Some(head) = bytes.get(at..).and_then(|rest| rest.first_chunk::<HEAD_BYTES>()) else {
        return Scanned::Nothing;
    };
    let word = |from: usize| u32::from_le_bytes([head[from], head[from + 1], head[from + 2], head[from + 3]]);
    if head[..4] != MAGIC || head_sum(base + at as u64, head) != word(12) {
        return Scanned::Nothing;
    }
    let begin = at + HEAD_BYTES;
    let end = begin.saturating_add(word(4) as usize);
    match bytes.get(begin..end) {
        Some(payload) if crc32fast::hash(payload) == word(8) => Scanned::Whole { payload, end },
        _ => {
            let end = end.min(bytes.len());
            Scanned::Damaged { payload: &bytes[begin..end], end }
        }
    }
}

/// The first position after `at` that has a head. `None` if there is none.
pub(super) fn resync(bytes: &[u8], base: u64, at: usize) -> Option<usize> {
    let rest = bytes.get(at + 1..)?;
    let heads = memmem::find_iter(rest, &MAGIC).map(|found| at + 1 + found);
    heads.into_iter().find(|&head| next(bytes, base, head) != Scanned::Nothing)
}

/// Arrival of a payload with a valid checksum. `None` if it is not in this format.
pub(super) fn received_ms(payload: &[u8]) -> Option<i64> {
    payload.first_chunk().map(|bytes| i64::from_le_bytes(*bytes))
}

/// Arrival and records of such a payload.
pub(super) fn unpack(payload: &[u8]) -> Option<(i64, Vec<RecordRange>)> {
    let (received_ms, mut rest) = payload.split_first_chunk::<8>()?;
    let mut spans = Vec::new();
    let mut offset = (HEAD_BYTES + 8) as u32;
    while !rest.is_empty() {
        let (len, after) = rest.split_first_chunk::<4>()?;
        let len = u32::from_le_bytes(*len);
        rest = after.get(len as usize..)?;
        spans.push(RecordRange { offset: offset + 4, len });
        offset += 4 + len;
    }
    Some((i64::from_le_bytes(*received_ms), spans))
}

impl RecordRange {
    /// The record's bytes in the payload of its frame.
    pub(super) fn of<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        let from = self.offset as usize - HEAD_BYTES;
        &payload[from..from + self.len as usize]
    }
}

fn head_sum(position: u64, head: &[u8; HEAD_BYTES]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&position.to_le_bytes());
    sum.update(&head[4..12]);
    sum.finalize()
}

const MAGIC: [u8; 4] = *b"rumJ";
const HEAD_BYTES: usize = 16;
/// Enough for most reports: a larger one makes the frame grow. With one report the frame takes 512 bytes, a
/// size that allocators provide exactly.
const USUAL_BYTES: usize = 472;

/// Follows the last frame. It is not a head, so that recovery can tell a clean end from a torn one.
pub(super) const END: [u8; HEAD_BYTES] = [0; HEAD_BYTES];

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(received_ms: i64, reports: &[&str]) -> Frame {
        Frame::pack(received_ms, reports, |text, into| into.extend_from_slice(text.as_bytes()))
    }

    fn framed(position: u64, reports: &[&str]) -> Vec<u8> {
        packed(7, reports).sealed(position).to_vec()
    }

    #[test]
    fn a_frame_unpacks_to_its_reports() {
        let mut frame = packed(-5, &["{}", "{\"a\":1}"]);
        let bytes = frame.sealed(99).to_vec();
        let Scanned::Whole { payload, end } = next(&bytes, 99, 0) else { panic!("no frame") };
        assert_eq!(end, bytes.len());
        assert_eq!(payload, frame.payload());
        let (received_ms, spans) = unpack(payload).unwrap();
        assert_eq!((received_ms, spans.len(), spans[0].of(payload)), (-5, 2, &b"{}"[..]));
        assert_eq!(spans[1].of(payload), b"{\"a\":1}");
        assert_eq!(&bytes[spans[1].offset as usize..][..spans[1].len as usize], b"{\"a\":1}");
    }

    #[test]
    fn a_frame_is_valid_only_at_its_own_position() {
        let bytes = framed(1_000, &["{}"]);
        assert_eq!(next(&bytes, 1_001, 0), Scanned::Nothing);
    }

    #[test]
    fn every_flipped_bit_is_detected() {
        let good = framed(5, &["{\"a\":1}"]);
        for at in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            assert!(!matches!(next(&bytes, 5, 0), Scanned::Whole { .. }), "bit {at}");
        }
    }

    #[test]
    fn a_frame_after_damage_is_found() {
        let mut bytes = framed(0, &["{\"a\":1}"]);
        let second = bytes.len();
        bytes.extend(framed(second as u64, &["{}"]));
        bytes[2] ^= 1;
        assert_eq!(resync(&bytes, 0, 0), Some(second));
        bytes.truncate(second);
        assert_eq!(resync(&bytes, 0, 0), None);
    }

    #[test]
    fn the_end_marker_is_no_frame() {
        assert_eq!(next(&END, 0, 0), Scanned::Nothing);
    }
}
