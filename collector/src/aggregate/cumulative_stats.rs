//! Cumulative statistics of a series, for Prometheus. Nothing is retracted, so counters only rise; classic and native
//! buckets are counted from the raw values.

use beacon::{Defect, ExponentialHistogram, Histogram, Outcome, StreamReport};
use serde::{Deserialize, Serialize};

use crate::aggregate::blob_encoding::{self, StoredHistogram, UnreadableBlob};
use crate::aggregate::judgement::Judgement;
use crate::aggregate::metric::{METRICS, Metric, Value, exported};
use crate::aggregate::own_edges::OwnEdges;
use crate::aggregate::token_count::TokenCount;
use crate::aggregate::write_back_cache::MemorySize;

/// One histogram, in classic and in native buckets.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Buckets {
    /// Per bucket, not cumulative; the last is above all edges. Empty until the first value, because there
    /// are thousands of series, and most have no server times.
    classic: Vec<u64>,
    /// Values up to each own edge, in the exported unit. An edge that is new begins with the values up to the next lower
    /// edge of `classic`, so that cumulative counts never fall with rising edges.
    own: Vec<(f64, u64)>,
    /// Values in units of `1 / NATIVE_UNITS` of the exported unit.
    native: NativeHistogram,
    /// Values that are in no bucket yet. To find the buckets for the histogram of one report costs more than
    /// everything else that is counted of it, and for the sum of a thousand reports it costs no more.
    unfolded: Option<Box<Histogram>>,
}

impl Buckets {
    /// Counts of the classic buckets, followed by zeros without end: take as many as there are buckets.
    pub(crate) fn classic(&self) -> impl Iterator<Item = u64> {
        self.classic.iter().copied().chain(std::iter::repeat(0))
    }

    /// Upper edges in seconds and the number of values up to each, with the own edges among them.
    pub(crate) fn cumulative(&self, edges: &[f64], own: &[f64]) -> Vec<(f64, u64)> {
        let mut cumulative: Vec<_> = own.iter().map(|edge| (*edge, self.up_to_own(edges, *edge))).collect();
        let mut so_far = 0;
        for (edge, count) in edges.iter().zip(self.classic()) {
            so_far += count;
            cumulative.push((*edge, so_far));
        }
        cumulative.sort_by(|one, other| one.0.total_cmp(&other.0));
        cumulative
    }

    fn up_to_own(&self, edges: &[f64], own: f64) -> u64 {
        let known = self.own.iter().find(|(edge, _)| *edge == own).map(|(_, count)| *count);
        known.unwrap_or_else(|| self.classic().take(bucket_of(edges, own)).sum())
    }

    /// Numbers and counts of the native buckets with values, lowest first. Prometheus' bucket `n` holds values
    /// in `(2^((n-1)/8), 2^(n/8)]`.
    pub(crate) fn native(&self) -> impl Iterator<Item = (i32, u64)> {
        self.native.indexed().map(|(index, count)| (index + 1 - NATIVE_SHIFT, count))
    }

    /// Number of values of zero.
    pub(crate) const fn zero(&self) -> u64 {
        self.native.zero()
    }

    /// Sum of the values.
    pub(crate) const fn sum(&self) -> f64 {
        self.native.sum() / NATIVE_UNITS
    }

    /// Counts a value in the exported unit.
    pub(crate) fn record(&mut self, edges: &[f64], own: &[f64], value: f64) {
        if self.own.len() != own.len() || self.own.iter().zip(own).any(|((known, _), edge)| known != edge) {
            self.own = own.iter().map(|edge| (*edge, self.up_to_own(edges, *edge))).collect();
        }
        self.own.iter_mut().filter(|(edge, _)| value <= *edge).for_each(|(_, count)| *count += 1);
        *self.slot(edges, value) += 1;
        self.native.record(value * NATIVE_UNITS);
    }

    /// Counts durations in milliseconds.
    fn merge(&mut self, histogram: &Histogram) {
        self.unfolded.get_or_insert_default().merge(histogram);
    }

    /// Adds the buckets of other streams.
    fn merge_buckets(&mut self, edges: &[f64], other: &Self) {
        let mut own: Vec<f64> = self.own.iter().chain(&other.own).map(|(edge, _)| *edge).collect();
        own.sort_by(f64::total_cmp);
        own.dedup();
        let up_to = |edge: f64| (edge, self.up_to_own(edges, edge) + other.up_to_own(edges, edge));
        self.own = own.into_iter().map(up_to).collect();
        if self.classic.is_empty() {
            self.classic.clone_from(&other.classic);
        } else {
            self.classic.iter_mut().zip(&other.classic).for_each(|(mine, other)| *mine += other);
        }
        self.native.merge(&other.native);
        other.unfolded.iter().for_each(|values| self.merge(values));
    }

    /// An exponential bucket counts as its upper edge, so one that contains a classic edge counts above it.
    fn fold(&mut self, edges: &[f64]) {
        let Some(histogram) = self.unfolded.take().filter(|histogram| !histogram.is_empty()) else { return };
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

    fn slot(&mut self, edges: &[f64], value: f64) -> &mut u64 {
        if self.classic.is_empty() {
            self.classic = vec![0; edges.len() + 1];
        }
        &mut self.classic[bucket_of(edges, value)]
    }

    fn bytes(&self) -> usize {
        let unfolded = |histogram: &Histogram| size_of_val(histogram) + size_of_val(histogram.dense().1);
        size_of_val(&*self.classic)
            + size_of_val(&*self.own)
            + size_of_val(self.native.dense().1)
            + self.unfolded.as_deref().map_or(0, unfolded)
    }
}

/// Index of the classic bucket for a value. The bucket above all edges has the number of edges as its index.
pub(crate) fn bucket_of(edges: &[f64], value: f64) -> usize {
    edges.partition_point(|edge| *edge < value)
}

/// Everything that was ever counted of one series.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CumulativeStats {
    outcomes: [u64; Outcome::ALL.len()],
    defects: [u64; Defect::ALL.len()],
    /// Eligible streams that did not arrive intact.
    pub(crate) broken: u64,
    pub(crate) input_tokens: TokenCount,
    pub(crate) output_tokens: TokenCount,
    /// Streams with a figure that their target of pace applies to.
    pub(crate) pace_known: u64,
    /// Those of them that missed it.
    pub(crate) pace_missed: u64,
    /// Empty for metrics that are not exported.
    histograms: [Buckets; METRICS.len()],
}

impl CumulativeStats {
    pub(crate) fn add(&mut self, report: &StreamReport, judgement: Judgement, own_edges: &OwnEdges) {
        self.pace_known += u64::from(judgement.within_pace.is_some());
        self.pace_missed += u64::from(judgement.within_pace == Some(false));
        self.outcomes[report.outcome as usize] += 1;
        for (defect, _) in report.defects.iter() {
            self.defects[defect as usize] += 1;
        }
        self.broken += u64::from(report.outcome.is_eligible() && !report.is_intact());
        self.input_tokens.add(report.input_tokens);
        self.output_tokens.add(report.output_tokens);
        for (definition, export) in exported() {
            let buckets = &mut self.histograms[definition.metric as usize];
            match definition.value {
                Value::One(of) => {
                    let own = own_edges.of_metric(definition.metric);
                    let value = of(report).map(|value| definition.unit.to_export(value));
                    value.into_iter().for_each(|value| buckets.record(export.edges, own, value));
                }
                Value::Many(of) => of(report).into_iter().for_each(|values| buckets.merge(values)),
            }
        }
    }

    /// Adds the statistics of another set of streams.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.outcomes.iter_mut().zip(other.outcomes).for_each(|(mine, other)| *mine += other);
        self.defects.iter_mut().zip(other.defects).for_each(|(mine, other)| *mine += other);
        self.broken += other.broken;
        self.pace_known += other.pace_known;
        self.pace_missed += other.pace_missed;
        self.input_tokens.merge(other.input_tokens);
        self.output_tokens.merge(other.output_tokens);
        for (definition, export) in exported() {
            let at = definition.metric as usize;
            self.histograms[at].merge_buckets(export.edges, &other.histograms[at]);
        }
    }

    fn fold(&mut self) {
        for (definition, export) in exported() {
            self.histograms[definition.metric as usize].fold(export.edges);
        }
    }

    /// Buckets of an exported metric. Values that reports have as histograms are added by
    /// [`encode`](Self::encode).
    pub(crate) const fn buckets(&self, metric: Metric) -> &Buckets {
        &self.histograms[metric as usize]
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
        self.fold();
        let histograms = METRICS.iter().zip(&self.histograms);
        blob_encoding::encode(
            FORMAT_VERSION,
            &Stored {
                outcomes: self
                    .outcomes()
                    .map(|(outcome, count)| (outcome.as_str().to_owned(), count))
                    .collect(),
                defects: self.defects().map(|(defect, count)| (defect.as_str().to_owned(), count)).collect(),
                broken: self.broken,
                input_tokens: self.input_tokens,
                output_tokens: self.output_tokens,
                pace_known: self.pace_known,
                pace_missed: self.pace_missed,
                histograms: histograms
                    .filter(|(_, buckets)| !buckets.classic.is_empty())
                    .map(|(definition, buckets)| {
                        let native = StoredHistogram::from(&buckets.native);
                        (definition.stored_as, buckets.classic.clone(), buckets.own.clone(), native)
                    })
                    .collect(),
            },
        )
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, UnreadableBlob> {
        let stored: Stored = blob_encoding::decode(FORMAT_VERSION, bytes)?;
        let mut total = Self {
            broken: stored.broken,
            input_tokens: stored.input_tokens,
            output_tokens: stored.output_tokens,
            pace_known: stored.pace_known,
            pace_missed: stored.pace_missed,
            ..Self::default()
        };
        blob_encoding::restore_counts(
            &stored.outcomes,
            Outcome::ALL.map(Outcome::as_str).as_slice(),
            &mut total.outcomes,
        )?;
        let defects: Vec<_> = Defect::ALL.iter().map(|defect| defect.as_str()).collect();
        blob_encoding::restore_counts(&stored.defects, &defects, &mut total.defects)?;
        for (number, classic, own, native) in stored.histograms {
            let metric = Metric::of_stored(number).ok_or(UnreadableBlob)?;
            let export = metric.definition().export.as_ref().ok_or(UnreadableBlob)?;
            if classic.len() != export.edges.len() + 1 {
                return Err(UnreadableBlob);
            }
            let native = native.try_into()?;
            total.histograms[metric as usize] = Buckets { classic, own, native, unfolded: None };
        }
        Ok(total)
    }
}

impl MemorySize for CumulativeStats {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.histograms.iter().map(Buckets::bytes).sum::<usize>()
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
const FORMAT_VERSION: u8 = 5;

#[derive(Serialize, Deserialize)]
struct Stored {
    outcomes: Vec<(String, u64)>,
    defects: Vec<(String, u64)>,
    broken: u64,
    input_tokens: TokenCount,
    output_tokens: TokenCount,
    pace_known: u64,
    pace_missed: u64,
    histograms: Vec<StoredBuckets>,
}

/// Number of the metric, classic counts, values up to each own edge, and native counts.
type StoredBuckets = (u8, Vec<u64>, Vec<(f64, u64)>, StoredHistogram);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::aggregate::metric::FIRST_TOKEN_EDGES;
    use crate::config::Config;
    use crate::config::targets::Targets;

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

    fn count(total: &mut CumulativeStats, report: &StreamReport) {
        total.add(report, Judgement::WITHIN_SLO, &OwnEdges::default());
    }

    #[test]
    fn own_edges_count_from_the_next_lower_edge_on() {
        let (edges, own) = (&FIRST_TOKEN_EDGES[..], [1.7, 3.4]);
        let mut buckets = Buckets::default();
        for value in [0.9, 1.6, 1.65] {
            buckets.record(edges, &[], value);
        }
        let at = |buckets: &Buckets| {
            own.map(|edge| {
                let cumulative = buckets.cumulative(edges, &own);
                assert!(
                    cumulative.is_sorted_by(|one, other| one.0 < other.0 && one.1 <= other.1),
                    "{cumulative:?}"
                );
                cumulative.into_iter().find(|(known, _)| *known == edge).unwrap().1
            })
        };
        assert_eq!(at(&buckets), [1, 3], "1.6 s may be above 1.7 s for all that is known");
        buckets.record(edges, &own, 1.7);
        buckets.record(edges, &own, 1.7001);
        assert_eq!(at(&buckets), [2, 5]);
        buckets.record(edges, &[3.4], 1.0);
        assert_eq!(buckets.own, [(3.4, 6)]);
    }

    #[test]
    fn a_value_on_an_edge_counts_below_it() {
        for edge in FIRST_TOKEN_EDGES {
            let mut total = CumulativeStats::default();
            count(&mut total, &report(edge * 1_000.0));
            let at = FIRST_TOKEN_EDGES.iter().position(|known| *known == edge).unwrap();
            assert_eq!(total.buckets(Metric::Ttft).classic[at], 1, "{edge}");
        }
    }

    #[test]
    fn a_value_above_every_edge_is_still_counted() {
        let mut total = CumulativeStats::default();
        count(&mut total, &report(61_000.0));
        assert_eq!(total.buckets(Metric::Ttft).classic.last(), Some(&1));
    }

    #[test]
    fn an_inter_chunk_bucket_across_an_edge_counts_above_it() {
        let mut total = CumulativeStats::default();
        count(&mut total, &report(100.0));
        total.fold();
        let gaps = total.buckets(Metric::InterChunkLatency);
        assert_eq!(gaps.classic[..4], [1, 0, 0, 1], "24.9 ms lies in a bucket that reaches beyond 25 ms");
    }

    #[test]
    fn a_total_is_the_same_after_encoding_and_decoding() {
        let mut total = CumulativeStats::default();
        count(&mut total, &report(700.0));
        let bytes = total.encode();
        assert_eq!(CumulativeStats::decode(&bytes), Ok(total));
    }

    #[test]
    fn merged_totals_are_those_of_all_streams() {
        let mut config = Config::default();
        let targets = Targets { ttft_p95_ms: Some(600.0), ..Targets::default() };
        config.targets.insert("chat".to_owned(), targets.into());
        let own_edges = OwnEdges::of(&config);
        let of = |waits_ms: &[f64]| {
            let mut total = CumulativeStats::default();
            for ttft_ms in waits_ms {
                total.add(&report(*ttft_ms), Judgement::WITHIN_SLO, &own_edges);
            }
            CumulativeStats::decode(&total.encode()).unwrap()
        };
        let mut merged = CumulativeStats::default();
        merged.merge(&of(&[700.0]));
        merged.merge(&of(&[40.0, 0.0]));
        assert_eq!(merged, of(&[700.0, 40.0, 0.0]));
    }

    #[test]
    fn an_eligible_stream_is_intact_or_broken() {
        let mut total = CumulativeStats::default();
        let mut add = |outcome, defect: Option<Defect>| {
            let mut report = StreamReport { outcome, ..StreamReport::new("0") };
            defect.into_iter().for_each(|defect| report.defects.add(defect));
            count(&mut total, &report);
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
            buckets.record(&[], &[], *seconds);
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
