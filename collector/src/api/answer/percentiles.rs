//! Percentiles of a metric with their number of values. Small samples have confidence intervals. Metrics with
//! censored waits have Kaplan–Meier-adjusted percentiles.

use beacon::{Histogram, RELATIVE_ERROR};
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::metric::{Metric, Unit, Value};
use crate::aggregate::window_stats::WindowStats;
use crate::api::answer::quantile_values::{QuantileValues, quantiles};
use crate::stats::binomial;
use crate::stats::kaplan_meier::CensoredWaits;

/// Percentiles of a distribution. They are absent if `n` is 0.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Percentiles {
    /// Number of values.
    pub(crate) n: u64,
    #[serde(flatten)]
    pub(crate) values: QuantileValues,
    /// 95 % confidence intervals. Present if `n` is from 1 to 499, except for `inter_chunk_latency`, whose values within a
    /// stream are not independent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) intervals: Option<Intervals>,
    /// Percentiles with censored waits. Present for `ttft` and `ttfv`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) km_adjusted: Option<KmAdjusted>,
}

/// Kaplan–Meier-adjusted percentiles, which include censored waits. A percentile is absent if too few streams
/// waited that long.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct KmAdjusted {
    /// Streams that their users ended before the token.
    pub(crate) abandoned: u64,
    /// Streams that failed before the token.
    pub(crate) failed_before: u64,
    #[serde(flatten)]
    pub(crate) values: QuantileValues,
}

/// 95 % confidence intervals of the percentiles.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct Intervals {
    p50: Interval,
    #[serde(skip_serializing_if = "Option::is_none")]
    p90: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p10: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p5: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p1: Option<Interval>,
}

/// A confidence interval. An end is absent if there are too few values to bound it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Interval {
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_output_tokens_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_output_tokens_per_second: Option<f64>,
}

/// Percentiles and their maximum relative error.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Quantiles {
    #[serde(flatten)]
    pub(crate) percentiles: Percentiles,
    relative_error: f64,
}

impl Quantiles {
    /// `stats` must contain the metric and its censored waits: all of [`Metric::with_censored`].
    pub(crate) fn of(stats: &WindowStats, metric: Metric) -> Self {
        Self { percentiles: Percentiles::of(stats, metric), relative_error: relative_error() }
    }
}

impl Percentiles {
    /// `stats` must contain the metric and its censored waits: all of [`Metric::with_censored`].
    pub(crate) fn of(stats: &WindowStats, metric: Metric) -> Self {
        let (histogram, definition) = (stats.histogram(metric), metric.definition());
        let n = histogram.count();
        // A stream has many similar gaps, so hundreds of values from two streams would seem to bound a p95.
        let is_one_a_stream = matches!(definition.value, Value::One(_));
        let has_intervals = is_one_a_stream && (1..MANY).contains(&n);
        Self {
            n,
            values: QuantileValues::of(definition.unit, |q| quantile(histogram, q)),
            intervals: has_intervals.then(|| Intervals::of(definition.unit, histogram)),
            km_adjusted: KmAdjusted::of(stats, metric),
        }
    }
}

impl KmAdjusted {
    fn of(stats: &WindowStats, metric: Metric) -> Option<Self> {
        let censored = metric.censored()?;
        let (abandoned, failed) = (stats.histogram(censored.abandoned), stats.histogram(censored.failed));
        let waits = CensoredWaits::new(stats.histogram(metric), [abandoned, failed]);
        Some(Self {
            abandoned: abandoned.count(),
            failed_before: failed.count(),
            values: QuantileValues::of(metric.definition().unit, |q| waits.quantile(q).map(to_thousandth)),
        })
    }
}

impl Intervals {
    fn of(unit: Unit, histogram: &Histogram) -> Self {
        let [p50, one, two, three] = quantiles(unit).map(|(_, q)| Interval::of(unit, histogram, q));
        let (one, two, three) = (Some(one), Some(two), Some(three));
        match unit {
            Unit::Milliseconds => Self { p50, p90: one, p95: two, p99: three, ..Self::default() },
            Unit::OutputTokensPerSecond => Self { p50, p10: one, p5: two, p1: three, ..Self::default() },
        }
    }
}

impl Interval {
    fn of(unit: Unit, histogram: &Histogram, q: f64) -> Self {
        let n = histogram.count();
        let (lower, upper) = binomial::quantile_ranks(n, q);
        // The middle between two ranks, so that rounding cannot select a neighbour.
        let at = |rank: u64| quantile(histogram, (rank as f64 - 0.5) / n as f64);
        let (lower, upper) = (lower.and_then(at), upper.and_then(at));
        match unit {
            Unit::Milliseconds => Self { lower_ms: lower, upper_ms: upper, ..Self::default() },
            Unit::OutputTokensPerSecond => Self {
                lower_output_tokens_per_second: lower,
                upper_output_tokens_per_second: upper,
                ..Self::default()
            },
        }
    }
}

/// Maximum relative error of a percentile, rounded up to a hundredth of a per cent.
pub(crate) fn relative_error() -> f64 {
    (RELATIVE_ERROR * 1e4).ceil() / 1e4
}

/// Rounded to thousandths of the unit, far below the error of the histogram.
pub(crate) fn quantile(histogram: &Histogram, q: f64) -> Option<f64> {
    histogram.quantile(q).map(to_thousandth)
}

pub(crate) fn to_thousandth(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// From this many values on, intervals are left out: around the median they span less than a tenth of the
/// values.
const MANY: u64 = 500;

#[cfg(test)]
mod tests {
    use beacon::StreamReport;

    use super::*;
    use crate::aggregate::judgement::Judgement;

    #[test]
    fn gaps_have_no_interval_however_many_they_are() {
        let mut stats = WindowStats::default();
        for gap_ms in [20.0, 90.0] {
            let mut gaps = Histogram::default();
            (0..200).for_each(|_| gaps.record(gap_ms));
            let report = StreamReport { gaps: Some(gaps), ttft_ms: Some(gap_ms), ..StreamReport::new("0") };
            stats.add(&report, Judgement::WITHIN_SLO);
        }
        let gaps = Percentiles::of(&stats, Metric::InterChunkLatency);
        let p95 = gaps.values.iter().find(|(name, _)| *name == "p95").unwrap();
        assert_eq!((gaps.n, p95.1.is_some(), gaps.intervals.is_some()), (400, true, false));
        assert!(Percentiles::of(&stats, Metric::Ttft).intervals.is_some());
    }

    #[test]
    fn an_interval_has_its_stated_coverage() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for (n, q) in [(20, 0.5), (100, 0.5), (200, 0.95), (400, 0.99)] {
            let held = (0..2_000).filter(|_| {
                let mut histogram = Histogram::default();
                for _ in 0..n {
                    histogram.record(100.0 + 900.0 * uniform());
                }
                let Interval { lower_ms, upper_ms, .. } = Interval::of(Unit::Milliseconds, &histogram, q);
                let exact = 100.0 + 900.0 * q;
                lower_ms.is_none_or(|lower| lower <= exact * (1.0 + RELATIVE_ERROR))
                    && upper_ms.is_none_or(|upper| upper >= exact * (1.0 - RELATIVE_ERROR))
            });
            let share = held.count() as f64 / 2_000.0;
            assert!(share > 0.935, "n {n}, q {q}: {share}");
        }
    }
}
