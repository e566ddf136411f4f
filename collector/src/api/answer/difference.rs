//! Differences between two sets of streams, each with an interval.

use beacon::{Histogram, RELATIVE_ERROR};
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::metric::Metric;
use crate::aggregate::window_stats::{Sum, WindowStats};
use crate::stats::binomial::{difference, quantile_ranks};

/// Interval with at least 95 % confidence of a difference. If it includes 0, no difference is shown.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Difference {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// The figures of a range minus those of the comparison period. Absent with too few streams. Times are in milliseconds,
/// shares from -1 to 1.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Differences {
    #[serde(skip_serializing_if = "Option::is_none")]
    ttfv_p50_ms: Option<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttfv_p95_ms: Option<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttfv_p99_ms: Option<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    e2e_p50_ms: Option<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    e2e_p95_ms: Option<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tpot_p50_ms: Option<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tpot_p95_ms: Option<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    availability: Option<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    integrity: Option<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goodput: Option<Difference>,
}

impl Difference {
    /// Difference of two values that lie within these intervals. The ends that are farthest apart count, so it is wider
    /// than needed, never too narrow.
    pub(crate) fn of_intervals(now: (f64, f64), before: (f64, f64)) -> Self {
        Self { lower: now.0 - before.1, upper: now.1 - before.0 }
    }

    /// The first share minus the second one. Each is a count and the number that it is a part of.
    pub(crate) fn of_shares(now: (u64, u64), before: (u64, u64)) -> Option<Self> {
        let (lower, upper) = (now.1 > 0 && before.1 > 0).then(|| difference(now, before))?;
        Some(Self { lower, upper })
    }

    /// The first percentile minus the second one. The error of the histograms is within the interval.
    fn of_quantiles(now: &Histogram, before: &Histogram, q: f64) -> Option<Self> {
        Some(Self::of_intervals(interval(now, q)?, interval(before, q)?))
    }
}

impl Differences {
    /// Metrics that both statistics must contain.
    pub(crate) const METRICS: [Metric; 3] = [Metric::Ttfv, Metric::E2e, Metric::Tpot];

    pub(crate) fn of(now: &WindowStats, before: &WindowStats) -> Self {
        let time = |metric, q| Difference::of_quantiles(now.histogram(metric), before.histogram(metric), q);
        let share = |good: fn(&WindowStats) -> u64| {
            Difference::of_shares((good(now), now.eligible()), (good(before), before.eligible()))
        };
        Self {
            ttfv_p50_ms: time(Metric::Ttfv, 0.5),
            ttfv_p95_ms: time(Metric::Ttfv, 0.95),
            ttfv_p99_ms: time(Metric::Ttfv, 0.99),
            e2e_p50_ms: time(Metric::E2e, 0.5),
            e2e_p95_ms: time(Metric::E2e, 0.95),
            tpot_p50_ms: time(Metric::Tpot, 0.5),
            tpot_p95_ms: time(Metric::Tpot, 0.95),
            availability: share(|stats| stats.eligible() - stats.errors()),
            integrity: share(|stats| stats.sum(Sum::Intact)),
            goodput: share(|stats| stats.sum(Sum::WithinSlo)),
        }
    }
}

/// The values between which a percentile lies with 95 % confidence. `None` if there are too few values.
fn interval(histogram: &Histogram, q: f64) -> Option<(f64, f64)> {
    let n = histogram.count();
    let (lower, upper) = quantile_ranks(n, q);
    // The middle between two ranks, so that rounding cannot select a neighbour.
    let at = |rank: u64| histogram.quantile((rank as f64 - 0.5) / n as f64);
    Some((at(lower?)? * (1.0 - RELATIVE_ERROR), at(upper?)? * (1.0 + RELATIVE_ERROR)))
}

#[cfg(test)]
mod tests {
    use beacon::StreamReport;

    use super::*;
    use crate::aggregate::judgement::Judgement;

    fn stats(waits_ms: impl Iterator<Item = f64>) -> WindowStats {
        let mut stats = WindowStats::default();
        for ttfv_ms in waits_ms {
            let report = StreamReport { ttfv_ms: Some(ttfv_ms), ..StreamReport::new("0") };
            stats.add(&report, Judgement::WITHIN_SLO);
        }
        stats
    }

    #[test]
    fn a_difference_of_percentiles_includes_its_true_value() {
        let now = stats((0..2_000).map(|at| 300.0 + f64::from(at)));
        let before = stats((0..2_000).map(|at| 100.0 + f64::from(at)));
        let differences = Differences::of(&now, &before);
        for difference in [differences.ttfv_p50_ms, differences.ttfv_p95_ms, differences.ttfv_p99_ms] {
            let Difference { lower, upper } = difference.unwrap();
            assert!(lower < 200.0 && 200.0 < upper && upper - lower < 300.0, "{lower} {upper}");
        }
        assert_eq!(differences.e2e_p50_ms, None, "without a value");
        let same = Differences::of(&now, &now).ttfv_p50_ms.unwrap();
        assert!(same.lower < 0.0 && same.upper > 0.0);
    }

    #[test]
    fn few_streams_have_no_difference() {
        let differences = Differences::of(&stats([1.0, 2.0].into_iter()), &stats(std::iter::empty()));
        assert_eq!((differences.ttfv_p50_ms, differences.integrity), (None, None));
    }
}
