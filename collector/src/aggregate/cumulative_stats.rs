//! Cumulative statistics of a series, for Prometheus. Nothing is retracted, so counters only rise; classic and native
//! buckets are counted from the raw values.

use beacon::{Defect, Histogram, Outcome, StreamReport};
use serde::{Deserialize, Serialize};

use crate::aggregate::blob_encoding::{self, UnreadableBlob};
use crate::aggregate::censored_wait::{EndedBy, censored_wait};
use crate::aggregate::native_histogram::NativeHistogram;
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Buckets {
    /// Per bucket, not cumulative; the last is above all edges. Empty until the first value, because there
    /// are thousands of series, and most have no server times.
    counts: Vec<u64>,
    /// In seconds.
    pub(crate) sum: f64,
    pub(crate) native: NativeHistogram,
}

impl Buckets {
    /// Counts of the buckets, followed by zeros without end: take as many as there are buckets.
    pub(crate) fn counts(&self) -> impl Iterator<Item = u64> {
        self.counts.iter().copied().chain(std::iter::repeat(0))
    }

    fn add(&mut self, edges: &[f64], seconds: f64, count: u64) {
        if self.counts.is_empty() {
            self.counts = vec![0; edges.len() + 1];
        }
        self.counts[bucket_of(edges, seconds)] += count;
        self.native.add(seconds, count);
    }

    fn record(&mut self, edges: &[f64], value_ms: f64) {
        // Division makes 100 ms exactly the double `0.1`; multiplication would not.
        let seconds = value_ms / 1_000.0;
        self.add(edges, seconds, 1);
        self.sum += seconds;
    }

    /// An exponential bucket that contains an edge is counted above that edge.
    fn fold(&mut self, edges: &[f64], histogram: &Histogram) {
        if histogram.zero() > 0 {
            self.add(edges, 0.0, histogram.zero());
        }
        for bucket in histogram.buckets() {
            self.add(edges, bucket.upper / 1_000.0, bucket.count);
        }
        self.sum += histogram.sum() / 1_000.0;
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
        blob_encoding::encode(FORMAT_VERSION, &(self.stored(), self.broken))
    }

    fn stored(&self) -> Stored {
        Stored {
            outcomes: self.outcomes().map(|(outcome, count)| (outcome.as_str().to_owned(), count)).collect(),
            defects: self.defects().map(|(defect, count)| (defect.as_str().to_owned(), count)).collect(),
            output_tokens: self.output_tokens,
            histograms: self.histograms.to_vec(),
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, UnreadableBlob> {
        let (stored, broken): (Stored, u64) = match bytes.first() {
            // The number of earlier broken streams is unknown: the count starts at 0.
            Some(&WITHOUT_BROKEN) => (blob_encoding::decode(WITHOUT_BROKEN, bytes)?, 0),
            _ => blob_encoding::decode(FORMAT_VERSION, bytes)?,
        };
        let mut total = Self { broken, output_tokens: stored.output_tokens, ..Self::default() };
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
        for (classic, mut stored) in PrometheusHistogram::ALL.into_iter().zip(stored.histograms) {
            if !stored.counts.is_empty() && stored.counts.len() != classic.edges().len() + 1 {
                return Err(UnreadableBlob);
            }
            if stored.counts.iter().all(|count| *count == 0) {
                stored.counts = Vec::new();
            }
            total.histograms[classic as usize] = stored;
        }
        Ok(total)
    }
}

impl MemorySize for CumulativeStats {
    fn bytes(&self) -> usize {
        let buckets = |held: &Buckets| size_of_val(&*held.counts) + held.native.bytes();
        size_of::<Self>()
            + self.histograms.iter().map(buckets).sum::<usize>()
            + size_of_val(self.unfolded_gaps.dense().1)
    }
}

/// Version of the format that includes the number of broken streams.
const FORMAT_VERSION: u8 = 2;
/// Version of the format of 0.1.0, without that number.
const WITHOUT_BROKEN: u8 = 1;

#[derive(Serialize, Deserialize)]
struct Stored {
    outcomes: Vec<(String, u64)>,
    defects: Vec<(String, u64)>,
    output_tokens: u64,
    histograms: Vec<Buckets>,
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
            assert_eq!(total.buckets(PrometheusHistogram::FirstToken).counts[at], 1, "{edge}");
        }
    }

    #[test]
    fn a_value_above_every_edge_is_still_counted() {
        let mut total = CumulativeStats::default();
        total.add(&report(61_000.0));
        assert_eq!(total.buckets(PrometheusHistogram::FirstToken).counts.last(), Some(&1));
    }

    #[test]
    fn an_inter_chunk_bucket_across_an_edge_counts_above_it() {
        let mut total = CumulativeStats::default();
        total.add(&report(100.0));
        total.fold_gaps();
        let gaps = total.buckets(PrometheusHistogram::ChunkGap);
        assert_eq!(gaps.counts[..4], [1, 0, 0, 1], "24.9 ms lies in a bucket that reaches beyond 25 ms");
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

    #[test]
    fn an_encoding_without_broken_streams_is_read_with_none_broken() {
        let mut total = CumulativeStats::default();
        total.add(&report(700.0));
        total.fold_gaps();
        let before = blob_encoding::encode(WITHOUT_BROKEN, &total.stored());
        assert_eq!(CumulativeStats::decode(&before), Ok(CumulativeStats { broken: 0, ..total }));
    }
}
