//! Cumulative statistics of a series, for Prometheus. Nothing is retracted, so counters only rise; classic and native
//! buckets are counted from the raw values.

use beacon::{Defect, ExponentialHistogram, Histogram, Outcome, StreamReport};
use serde::{Deserialize, Serialize};

use crate::aggregate::blob_encoding::{self, StoredHistogram, UnreadableBlob};
use crate::aggregate::censored_wait::{EndedBy, censored_wait};
use crate::aggregate::write_back_cache::MemorySize;

/// A Prometheus histogram of each series. The number is its position in stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrometheusHistogram {
    FirstToken = 0,
    FirstVisible = 1,
    Request = 2,
    Generation = 3,
    ServerFirstToken = 4,
    Overhead = 5,
    TimePerToken = 6,
    ChunkGap = 7,
    FirstPaint = 8,
    AbandonedWait = 9,
}

impl PrometheusHistogram {
    pub(crate) const ALL: [Self; 10] = [
        Self::FirstToken,
        Self::FirstVisible,
        Self::Request,
        Self::Generation,
        Self::ServerFirstToken,
        Self::Overhead,
        Self::TimePerToken,
        Self::ChunkGap,
        Self::FirstPaint,
        Self::AbandonedWait,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::FirstToken => "llm_first_token_duration_seconds",
            Self::FirstVisible => "llm_rum_first_visible_duration_seconds",
            Self::Request => "llm_request_duration_seconds",
            Self::Generation => "llm_generation_duration_seconds",
            Self::ServerFirstToken => "llm_rum_server_first_token_duration_seconds",
            Self::Overhead => "llm_rum_first_token_overhead_seconds",
            Self::TimePerToken => "llm_rum_time_per_output_token_seconds",
            Self::ChunkGap => "llm_rum_chunk_gap_seconds",
            Self::FirstPaint => "llm_rum_first_paint_duration_seconds",
            Self::AbandonedWait => "llm_rum_abandoned_wait_seconds",
        }
    }

    pub(crate) const fn help(self) -> &'static str {
        match self {
            Self::FirstToken => {
                "Time from the request to the first generated token, measured in the browser."
            }
            Self::FirstVisible => {
                "Time from the request to the first visible token, measured in the browser."
            }
            Self::Request => "Time from the request to the last generated token, measured in the browser.",
            Self::Generation => {
                "Time from first to last token, measured by the server; only streams with this figure."
            }
            Self::ServerFirstToken => "Time to first token, measured by the server.",
            Self::Overhead => "Browser minus server time to first token, of the same stream.",
            Self::TimePerToken => {
                "Time per output token after the first, based on the provider's token count."
            }
            Self::ChunkGap => "Time between two reads that carried generated text.",
            Self::FirstPaint => {
                "Time from the request to the first frame that shows the first visible token."
            }
            Self::AbandonedWait => {
                "Time from the request to the end of streams abandoned before a visible token."
            }
        }
    }

    /// Upper bounds in seconds. They must be the same on every collector, or sums over collectors are wrong.
    pub(crate) const fn edges(self) -> &'static [f64] {
        match self {
            Self::FirstToken
            | Self::FirstVisible
            | Self::FirstPaint
            | Self::ServerFirstToken
            | Self::AbandonedWait => &FIRST_TOKEN_EDGES,
            Self::Request | Self::Generation => &DURATION_EDGES,
            Self::Overhead => &OVERHEAD_EDGES,
            Self::TimePerToken => &TIME_PER_TOKEN_EDGES,
            Self::ChunkGap => &CHUNK_GAP_EDGES,
        }
    }

    /// The value that a report adds to it. `None` if the report does not have it, and for inter-chunk
    /// latencies, which a report has as a histogram.
    pub(crate) fn value_ms(self, report: &StreamReport) -> Option<f64> {
        match self {
            Self::FirstToken => report.ttft_ms,
            Self::FirstVisible => report.ttfv_ms,
            Self::FirstPaint => report.ttfp_ms,
            Self::Request => report.e2e_ms,
            Self::Generation => report.server.as_ref()?.generation_ms,
            Self::ServerFirstToken => report.server.as_ref()?.ttft_ms,
            Self::Overhead => report.overhead_ms().map(|overhead_ms| overhead_ms.max(0.0)),
            Self::TimePerToken => report.tpot_ms,
            Self::AbandonedWait => match censored_wait(report, report.ttfv_ms)? {
                (EndedBy::User, wait_ms) => Some(wait_ms),
                (EndedBy::Failure, _) => None,
            },
            Self::ChunkGap => None,
        }
    }
}

/// One histogram, in classic and in native buckets.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Buckets {
    /// Per bucket, not cumulative; the last is above all edges. Empty until the first value, because there
    /// are thousands of series, and most have no server times.
    classic: Vec<u64>,
    /// Values in units of `1 / NATIVE_UNITS` seconds.
    native: NativeHistogram,
}

impl Buckets {
    /// Counts of the classic buckets, followed by zeros without end: take as many as there are buckets.
    pub(crate) fn classic(&self) -> impl Iterator<Item = u64> {
        self.classic.iter().copied().chain(std::iter::repeat(0))
    }

    /// Numbers and counts of the native buckets with values, lowest first. Prometheus' bucket `n` holds values
    /// in `(2^((n-1)/8), 2^(n/8)]` seconds.
    pub(crate) fn native(&self) -> impl Iterator<Item = (i32, u64)> {
        self.native.indexed().map(|(index, count)| (index + 1 - NATIVE_SHIFT, count))
    }

    /// Number of values of zero.
    pub(crate) const fn zero(&self) -> u64 {
        self.native.zero()
    }

    /// Sum of the values, in seconds.
    pub(crate) const fn sum(&self) -> f64 {
        self.native.sum() / NATIVE_UNITS
    }

    pub(crate) fn record(&mut self, edges: &[f64], value_ms: f64) {
        // Division makes 100 ms exactly the double `0.1`; multiplication would not.
        let seconds = value_ms / 1_000.0;
        *self.slot(edges, seconds) += 1;
        self.native.record(seconds * NATIVE_UNITS);
    }

    /// An exponential bucket counts as its upper edge, so one that contains a classic edge counts above it.
    fn fold(&mut self, edges: &[f64], histogram: &Histogram) {
        if histogram.is_empty() {
            return;
        }
        *self.slot(edges, 0.0) += histogram.zero();
        let mut native = Vec::new();
        for bucket in histogram.buckets() {
            let seconds = bucket.upper / 1_000.0;
            *self.slot(edges, seconds) += bucket.count;
            native.push((NativeHistogram::index_of(seconds * NATIVE_UNITS), bucket.count));
        }
        let sum = histogram.sum() / 1_000.0 * NATIVE_UNITS;
        let native = NativeHistogram::from_indexed(histogram.zero(), sum, native);
        self.native.merge(&native.expect("every index is that of a value"));
    }

    fn slot(&mut self, edges: &[f64], seconds: f64) -> &mut u64 {
        if self.classic.is_empty() {
            self.classic = vec![0; edges.len() + 1];
        }
        &mut self.classic[bucket_of(edges, seconds)]
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.classic) + size_of_val(self.native.dense().1)
    }
}

/// Index of the classic bucket for a value. The bucket above all edges has the number of edges as its index.
pub(crate) fn bucket_of(edges: &[f64], seconds: f64) -> usize {
    edges.partition_point(|edge| *edge < seconds)
}

/// Everything that was ever counted of one series.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CumulativeStats {
    outcomes: [u64; Outcome::ALL.len()],
    defects: [u64; Defect::ALL.len()],
    /// Eligible streams that did not arrive intact.
    pub(crate) broken: u64,
    pub(crate) output_tokens: u64,
    histograms: [Buckets; PrometheusHistogram::ALL.len()],
    /// Inter-chunk latencies that are in no bucket yet. To find the buckets for one report costs more than
    /// everything else that is counted of it, and for the sum of a thousand reports it costs no more.
    unfolded_gaps: Histogram,
}

impl CumulativeStats {
    pub(crate) fn add(&mut self, report: &StreamReport) {
        self.outcomes[report.outcome as usize] += 1;
        for (defect, _) in report.defects.iter() {
            self.defects[defect as usize] += 1;
        }
        self.broken += u64::from(report.outcome.is_eligible() && !report.is_intact());
        self.output_tokens += report.output_tokens.unwrap_or(0);
        for classic in PrometheusHistogram::ALL {
            if let Some(value_ms) = classic.value_ms(report) {
                self.histograms[classic as usize].record(classic.edges(), value_ms);
            }
        }
        if let Some(gaps) = &report.gaps {
            self.unfolded_gaps.merge(gaps);
        }
    }

    fn fold_gaps(&mut self) {
        let gaps = std::mem::take(&mut self.unfolded_gaps);
        self.histograms[PrometheusHistogram::ChunkGap as usize]
            .fold(PrometheusHistogram::ChunkGap.edges(), &gaps);
    }

    /// Buckets of a histogram. Inter-chunk latencies are added to them by [`encode`](Self::encode).
    pub(crate) const fn buckets(&self, classic: PrometheusHistogram) -> &Buckets {
        &self.histograms[classic as usize]
    }

    pub(crate) fn outcomes(&self) -> impl Iterator<Item = (Outcome, u64)> + '_ {
        Outcome::ALL.into_iter().zip(self.outcomes).filter(|&(_, count)| count > 0)
    }

    pub(crate) fn defects(&self) -> impl Iterator<Item = (Defect, u64)> + '_ {
        Defect::ALL.iter().copied().zip(self.defects).filter(|&(_, count)| count > 0)
    }

    /// Number of streams.
    pub(crate) fn requests(&self) -> u64 {
        self.outcomes.iter().sum()
    }

    /// Streams in which the service failed the user.
    pub(crate) fn errors(&self) -> u64 {
        self.outcomes().filter(|(outcome, _)| outcome.is_error()).map(|(_, count)| count).sum()
    }

    /// Bytes for the store.
    pub(crate) fn encode(&mut self) -> Vec<u8> {
        self.fold_gaps();
        let histograms = self.histograms.iter();
        blob_encoding::encode(
            FORMAT_VERSION,
            &Stored {
                outcomes: self
                    .outcomes()
                    .map(|(outcome, count)| (outcome.as_str().to_owned(), count))
                    .collect(),
                defects: self.defects().map(|(defect, count)| (defect.as_str().to_owned(), count)).collect(),
                broken: self.broken,
                output_tokens: self.output_tokens,
                histograms: histograms
                    .map(|buckets| (buckets.classic.clone(), StoredHistogram::from(&buckets.native)))
                    .collect(),
            },
        )
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, UnreadableBlob> {
        let stored: Stored = blob_encoding::decode(FORMAT_VERSION, bytes)?;
        let mut total =
            Self { broken: stored.broken, output_tokens: stored.output_tokens, ..Self::default() };
        blob_encoding::restore_counts(
            &stored.outcomes,
            Outcome::ALL.map(Outcome::as_str).as_slice(),
            &mut total.outcomes,
        )?;
        let defects: Vec<_> = Defect::ALL.iter().map(|defect| defect.as_str()).collect();
        blob_encoding::restore_counts(&stored.defects, &defects, &mut total.defects)?;
        if stored.histograms.len() > total.histograms.len() {
            return Err(UnreadableBlob);
        }
        for (histogram, (classic, native)) in PrometheusHistogram::ALL.into_iter().zip(stored.histograms) {
            if !classic.is_empty() && classic.len() != histogram.edges().len() + 1 {
                return Err(UnreadableBlob);
            }
            total.histograms[histogram as usize] = Buckets { classic, native: native.try_into()? };
        }
        Ok(total)
    }
}

impl MemorySize for CumulativeStats {
    fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.histograms.iter().map(Buckets::bytes).sum::<usize>()
            + size_of_val(self.unfolded_gaps.dense().1)
    }
}

/// Schema of the native buckets, as Prometheus names it: `2^NATIVE_SCHEMA` per doubling.
///
/// Eight per doubling, 9.05 % wide, is the usual choice of Prometheus' own client libraries. A series from 10
/// ms to a minute takes 100 of their 160 buckets, and can be summed with theirs.
pub(crate) const NATIVE_SCHEMA: u8 = 3;

type NativeHistogram = ExponentialHistogram<NATIVE_SCHEMA>;

/// The lowest bucket of an exponential histogram ends at about 0.001 of its unit, and inter-chunk latencies may be
/// shorter than a thousandth of a second. A power of two keeps the edges that Prometheus has.
const NATIVE_UNITS: f64 = 1_024.0;
const NATIVE_SHIFT: i32 = 10 << NATIVE_SCHEMA;

/// Version of the format.
const FORMAT_VERSION: u8 = 3;

#[derive(Serialize, Deserialize)]
struct Stored {
    outcomes: Vec<(String, u64)>,
    defects: Vec<(String, u64)>,
    broken: u64,
    output_tokens: u64,
    histograms: Vec<(Vec<u64>, StoredHistogram)>,
}

/// Dense where chat latencies are. There are edges at 1, 1.5 and 2 times every p95 target and at twice every
/// p99 target, so that alerts can count the streams on one side of an edge.
const FIRST_TOKEN_EDGES: [f64; 18] =
    [0.05, 0.1, 0.2, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.25, 3.0, 4.0, 5.0, 7.5, 10.0, 20.0, 30.0, 60.0];
const DURATION_EDGES: [f64; 11] = [0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 30.0, 45.0, 60.0, 120.0, 300.0];
const OVERHEAD_EDGES: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
const TIME_PER_TOKEN_EDGES: [f64; 12] =
    [0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.2, 0.5, 1.0];
const CHUNK_GAP_EDGES: [f64; 13] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn report(ttft_ms: f64) -> StreamReport {
        let mut gaps = Histogram::default();
        gaps.record(0.0);
        gaps.record(24.9);
        StreamReport {
            outcome: Outcome::Truncated,
            ttft_ms: Some(ttft_ms),
            output_tokens: Some(41),
            gaps: Some(gaps),
            ..StreamReport::new("0")
        }
    }

    #[test]
    fn a_value_on_an_edge_counts_below_it() {
        for edge in FIRST_TOKEN_EDGES {
            let mut total = CumulativeStats::default();
            total.add(&report(edge * 1_000.0));
            let at = FIRST_TOKEN_EDGES.iter().position(|known| *known == edge).unwrap();
            assert_eq!(total.buckets(PrometheusHistogram::FirstToken).classic[at], 1, "{edge}");
        }
    }

    #[test]
    fn a_value_above_every_edge_is_still_counted() {
        let mut total = CumulativeStats::default();
        total.add(&report(61_000.0));
        assert_eq!(total.buckets(PrometheusHistogram::FirstToken).classic.last(), Some(&1));
    }

    #[test]
    fn an_inter_chunk_bucket_across_an_edge_counts_above_it() {
        let mut total = CumulativeStats::default();
        total.add(&report(100.0));
        total.fold_gaps();
        let gaps = total.buckets(PrometheusHistogram::ChunkGap);
        assert_eq!(gaps.classic[..4], [1, 0, 0, 1], "24.9 ms lies in a bucket that reaches beyond 25 ms");
    }

    #[test]
    fn a_total_is_the_same_after_encoding_and_decoding() {
        let mut total = CumulativeStats::default();
        total.add(&report(700.0));
        let bytes = total.encode();
        assert_eq!(CumulativeStats::decode(&bytes), Ok(total));
    }

    #[test]
    fn an_eligible_stream_is_intact_or_broken() {
        let mut total = CumulativeStats::default();
        let mut add = |outcome, defect: Option<Defect>| {
            let mut report = StreamReport { outcome, ..StreamReport::new("0") };
            defect.into_iter().for_each(|defect| report.defects.add(defect));
            total.add(&report);
            total.broken
        };
        for (outcome, defect, broken) in [
            (Outcome::Complete, None, 0),
            (Outcome::Complete, Some(Defect::NoSentinel), 0),
            (Outcome::Complete, Some(Defect::SequenceGap), 1),
            (Outcome::Truncated, None, 2),
            (Outcome::HttpError, Some(Defect::SequenceGap), 3),
            (Outcome::Aborted, None, 3),
            (Outcome::Abandoned, Some(Defect::SequenceGap), 3),
            (Outcome::Unobserved, None, 3),
        ] {
            assert_eq!(add(outcome, defect), broken, "{outcome:?} {defect:?}");
        }
    }

    fn of(values: &[f64]) -> Buckets {
        let mut buckets = Buckets::default();
        for seconds in values {
            buckets.record(&[], seconds * 1_000.0);
        }
        buckets
    }

    fn native(values: &[f64]) -> Vec<(i32, u64)> {
        of(values).native().collect()
    }

    #[test]
    fn a_native_edge_belongs_to_the_bucket_below_it() {
        assert_eq!(native(&[1.0]), [(0, 1)]);
        assert_eq!(native(&[1.0000001, 2.0]), [(1, 1), (8, 1)]);
        assert_eq!(native(&[0.5]), [(-8, 1)]);
    }

    #[test]
    fn a_tenth_of_a_millisecond_has_a_native_bucket_of_its_own() {
        assert_ne!(native(&[0.0001]), native(&[0.0005]));
    }

    #[test]
    fn a_zero_is_in_no_native_bucket() {
        let zero = of(&[0.0]);
        assert_eq!((zero.native().count(), zero.zero(), zero.sum()), (0, 1, 0.0));
    }

    proptest! {
        #[test]
        fn every_value_lies_in_its_native_bucket(exponents in prop::collection::vec(-5.0..6.0f64, 1..100)) {
            for exponent in exponents {
                let value = 10f64.powf(exponent);
                let number = native(&[value])[0].0;
                let edge = |number: i32| 2f64.powf(f64::from(number) / 8.0);
                prop_assert!(edge(number - 1) < value * (1.0 + 1e-12) && value <= edge(number) * (1.0 + 1e-12));
            }
        }
    }
}
