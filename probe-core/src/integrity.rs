//! Finds the defects that show only across several events or reads: gaps in numbers, spliced messages, stalls.

use beacon::{Defect, Defects};

use crate::absent::ABSENT;

/// Follows the sequence numbers of events.
///
/// Numbers count only if the first two events both carry one: some gateways number one event in a dozen.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    events: u32,
    /// [`ABSENT`] where numbers do not count.
    highest: f64,
    /// Which of the 64 numbers below the highest came; the lowest bit is the nearest.
    recent: u64,
}

impl Sequence {
    /// Before the first event.
    pub(crate) const NEW: Self = Self { events: 0, highest: ABSENT, recent: 0 };

    /// Adds the number of the next event, [`ABSENT`] if it has none.
    pub(crate) fn observe(&mut self, number: f64, defects: &mut Defects) {
        self.events = self.events.saturating_add(1);
        if self.events == 1 || (self.events == 2 && number.is_nan()) {
            self.highest = number;
            return;
        }
        let step = number - self.highest;
        if step > 0.0 {
            if step > 1.0 {
                defects.add(Defect::SequenceGap);
            }
            self.recent = shift(self.recent, step) | shift(1, step - 1.0);
            self.highest = number;
        } else if step <= 0.0 {
            let back = if step < 0.0 { shift(1, -step - 1.0) } else { 0 };
            let seen = step == 0.0 || self.recent & back != 0;
            defects.add(if seen { Defect::Duplicate } else { Defect::Reordered });
            self.recent |= back;
        }
    }

    /// A new answer begins in the same stream, and its numbers start anew.
    pub(crate) fn restart(&mut self) {
        *self = Self::NEW;
    }
}

fn shift(bits: u64, by: f64) -> u64 {
    bits.checked_shl(by as u32).unwrap_or(0)
}

/// The answer that a stream is in the middle of, by the provider's id.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    id: Vec<u8>,
    /// Events that named it.
    events: u32,
}

impl Message {
    /// For a stream that has named none.
    pub(crate) const NONE: Self = Self { id: Vec::new(), events: 0 };

    /// Adds the id that an event names. True if it differs from the open answer's id, which at least `settled` events
    /// had named: some servers make up an id per event.
    pub(crate) fn observe(&mut self, id: &[u8], settled: u32) -> bool {
        let id = &id[..id.len().min(MAX_ID_BYTES)];
        if self.id == id {
            self.events = self.events.saturating_add(1);
            return false;
        }
        let spliced = self.events >= settled && !self.id.is_empty();
        self.id.clear();
        self.id.extend_from_slice(id);
        self.events = 1;
        spliced
    }

    /// Whether one more event of the same answer changes nothing.
    pub(crate) fn is_settled(&self) -> bool {
        self.events >= 2 || self.id.is_empty()
    }

    /// Whether `id` is the open answer's, or the last one's.
    pub(crate) fn is(&self, id: &[u8]) -> bool {
        !id.is_empty() && self.id == id[..id.len().min(MAX_ID_BYTES)]
    }

    /// The answer has ended: another id belongs to the next one.
    pub(crate) fn close(&mut self) {
        self.events = 0;
    }
}

/// Watches how reads bring generated text, to detect a proxy that buffers it.
///
/// A proxy passes on its buffer when it is full, wherever that is in the text. A server writes whole events, however
/// many at once. So text that comes in bursts which end inside an event was in a buffer.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    /// The latest read.
    read_ms: f64,
    /// The events with generated text of the latest burst.
    deltas: f64,
    /// Bursts so far that had generated text, but for the latest.
    bursts: f64,
    /// Whether the latest read ended inside an event.
    is_cut: bool,
    /// A burst with many events ended inside an event, and the rest of that came much later.
    was_cut: bool,
}

impl Flow {
    /// Before the first read.
    pub(crate) const NEW: Self =
        Self { read_ms: ABSENT, deltas: 0.0, bursts: 0.0, is_cut: false, was_cut: false };

    /// Adds one read with `deltas` events with generated text. `is_cut`: it ended inside an event.
    pub(crate) fn observe(&mut self, now_ms: f64, deltas: f64, is_cut: bool) {
        let silence_ms = now_ms - self.read_ms;
        if silence_ms > BURST_GAP_MS {
            self.was_cut |= self.is_cut && self.deltas >= BURST;
            self.bursts += f64::from(u8::from(self.deltas > 0.0));
            self.deltas = 0.0;
        }
        self.deltas += deltas;
        (self.read_ms, self.is_cut) = (now_ms, is_cut);
    }

    /// Whether a proxy buffered the `deltas` events that came within `generation_ms` of an answer that took `e2e_ms`.
    /// Not if the server's own `server_ms` is about as short.
    pub(crate) fn is_buffered(&self, deltas: f64, generation_ms: f64, e2e_ms: f64, server_ms: f64) -> bool {
        let as_fast = server_ms <= generation_ms * 2.0;
        let burst = deltas >= BURST && generation_ms < e2e_ms * BURST_SHARE && !as_fast;
        let in_bursts = self.was_cut && deltas >= BURST * (self.bursts + 1.0);
        e2e_ms > LONG_ANSWER_MS && (burst || in_bursts)
    }
}

/// Gaps that may be stalls, which only the median of all gaps shows.
#[derive(Debug, Clone)]
pub(crate) struct LongGaps(Vec<f64>);

impl LongGaps {
    pub(crate) const NONE: Self = Self(Vec::new());

    pub(crate) fn observe(&mut self, gap_ms: f64) {
        // A stream with more long gaps has been silent for over eight minutes in all.
        if gap_ms > STALL_MS && self.0.len() < MAX_LONG_GAPS {
            self.0.push(gap_ms);
        }
    }

    /// The number of stalls among them.
    pub(crate) fn stalls(&self, median_ms: f64) -> usize {
        let limit = STALL_MS.max(median_ms * STALL_MEDIANS);
        self.0.iter().filter(|&&gap| gap > limit).count()
    }
}

/// Whether the provider bundled its `tokens` into few `deltas`: no proxy joins the tokens of several events into one.
/// The gaps must never be much longer than the median.
pub(crate) fn is_coarse(tokens: f64, deltas: f64, gaps: u64, longest_gap_ms: f64, median_ms: f64) -> bool {
    let bundled = tokens > 0.0 && tokens >= deltas * BUNDLED_TOKENS;
    let regular = median_ms > 0.0 && longest_gap_ms <= median_ms * REGULAR_MEDIANS;
    bundled && gaps >= FEWEST_GAPS && regular
}

/// Silence longer than this is dead air.
pub(crate) const DEAD_AIR_MS: f64 = 15_000.0;
/// A stream open longer than this after its end marker closes late.
pub(crate) const LATE_CLOSE_MS: f64 = 1_000.0;

const STALL_MS: f64 = 2_000.0;
const STALL_MEDIANS: f64 = 8.0;
const MAX_LONG_GAPS: usize = 256;
const MAX_ID_BYTES: usize = 128;
/// Reads nearer to each other are one burst: a browser hands over a buffer in several reads.
const BURST_GAP_MS: f64 = 50.0;
const BURST: f64 = 8.0;
const BURST_SHARE: f64 = 0.05;
const LONG_ANSWER_MS: f64 = 1_000.0;
/// Where tokens come one by one, or as words, a single event holds about three at most.
const BUNDLED_TOKENS: f64 = 4.0;
const FEWEST_GAPS: u64 = 4;
const REGULAR_MEDIANS: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn defects(numbers: &[Option<u64>]) -> [u32; 3] {
        let (mut sequence, mut defects) = (Sequence::NEW, Defects::default());
        for number in numbers {
            sequence.observe(number.map_or(ABSENT, |number: u64| number as f64), &mut defects);
        }
        [Defect::SequenceGap, Defect::Duplicate, Defect::Reordered].map(|defect| defects.get(defect))
    }

    #[test]
    fn sequence_numbers_count_once_the_first_two_events_have_one() {
        for (numbers, expected) in [
            (&[Some(0), Some(1), Some(2)][..], [0, 0, 0]),
            (&[Some(0), Some(2), Some(3)], [1, 0, 0]),
            (&[Some(0), Some(1), Some(1)], [0, 1, 0]),
            (&[Some(5), Some(7), Some(6), Some(6)], [1, 1, 1]),
            (&[Some(0), Some(1), None, Some(2)], [0, 0, 0]),
            (&[Some(0), None, Some(9), Some(3)], [0, 0, 0]),
            (&[None, Some(1), Some(9), Some(3)], [0, 0, 0]),
            (&[Some(0), Some(1), Some(1 << 50), Some(0)], [1, 0, 1]),
        ] {
            assert_eq!(defects(numbers), expected, "{numbers:?}");
        }
    }

    #[test]
    fn a_stall_is_long_beside_the_median() {
        let mut gaps = LongGaps::NONE;
        [20.0, 2_000.0, 2_001.0, 5_000.0].into_iter().for_each(|gap| gaps.observe(gap));
        for (median, stalls) in [(20.0, 2), (250.0, 2), (300.0, 1), (1_000.0, 0)] {
            assert_eq!(gaps.stalls(median), stalls, "median {median}");
        }
    }

    #[test]
    fn bursts_that_end_inside_an_event_were_buffered() {
        let buffered = |reads: &[(f64, f64, bool)]| {
            let mut flow = Flow::NEW;
            reads.iter().for_each(|&(now_ms, deltas, is_cut)| flow.observe(now_ms, deltas, is_cut));
            flow.is_buffered(reads.iter().map(|read| read.1).sum(), 3_000.0, 4_000.0, ABSENT)
        };
        assert!(buffered(&[(1_000.0, 20.0, true), (4_000.0, 9.0, false)]));
        assert!(buffered(&[
            (1_000.0, 12.0, true),
            (1_002.0, 8.0, true),
            (1_600.0, 20.0, true),
            (4_000.0, 9.0, false)
        ]));
        for (reads, why) in [
            (&[(1_000.0, 20.0, false), (4_000.0, 20.0, false)][..], "the server bundles whole events"),
            (&[(1_000.0, 20.0, true), (1_009.0, 20.0, false)], "the browser cuts reads"),
            (&[(1_000.0, 20.0, true), (1_040.0, 20.0, false)], "a packet came late"),
            (&[(1_000.0, 7.0, true), (4_000.0, 20.0, false)], "an event was cut by itself"),
            (
                &[(1_000.0, 9.0, true), (3_000.0, 1.0, false), (4_000.0, 1.0, false)],
                "most of it came in time",
            ),
        ] {
            assert!(!buffered(reads), "{why}");
        }
    }

    #[test]
    fn a_short_answer_is_never_buffered() {
        for (deltas, generation_ms, e2e_ms, expected) in [
            (8.0, 40.0, 1_001.0, true),
            (8.0, 40.0, 1_000.0, false),
            (7.0, 40.0, 4_000.0, false),
            (8.0, 201.0, 4_000.0, false),
        ] {
            assert_eq!(Flow::NEW.is_buffered(deltas, generation_ms, e2e_ms, ABSENT), expected);
        }
    }

    #[test]
    fn a_stream_as_slow_as_its_server_is_not_buffered() {
        for (server_ms, expected) in [(ABSENT, true), (2_000.0, true), (81.0, true), (80.0, false)] {
            assert_eq!(Flow::NEW.is_buffered(40.0, 40.0, 4_000.0, server_ms), expected, "{server_ms}");
        }
    }

    #[test]
    fn coarse_chunks_are_many_tokens_at_regular_gaps() {
        for (tokens, deltas, gaps, longest_gap_ms, expected) in [
            (20.0, 5.0, 4, 200.0, true),
            (20.0, 5.0, 3, 200.0, false),
            (19.0, 5.0, 4, 200.0, false),
            (434.0, 7.0, 6, 201.0, false),
            (0.0, 0.0, 5, 50.0, false),
        ] {
            let coarse = is_coarse(tokens, deltas, gaps, longest_gap_ms, 50.0);
            assert_eq!(coarse, expected, "{tokens} in {deltas}");
        }
        assert!(!is_coarse(434.0, 7.0, 6, 0.0, 0.0), "all at once");
    }
}
