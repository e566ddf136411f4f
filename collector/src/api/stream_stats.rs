//! Counts, percentiles and shares of a set of streams, as the API serializes them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::percentiles::Quantiles;
use super::ratio::{Ratio, share};
use crate::aggregate::metric::Metric;
use crate::aggregate::window_stats::WindowStats;
use crate::stats::binomial;

/// Counts, percentiles and shares of a set of streams.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StreamStats {
    outcomes: BTreeMap<&'static str, u64>,
    defects: BTreeMap<&'static str, u64>,
    ttfv: Quantiles,
    ttft: Quantiles,
    e2e: Quantiles,
    tpot: Quantiles,
    gap: Quantiles,
    integrity: Ratio,
    availability: Ratio,
    errors: Errors,
    input_tokens: u64,
    output_tokens: u64,
}

/// Failed streams as a share of the eligible streams.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Errors {
    count: u64,
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    /// Lower bound of the failure rate with 95 % confidence. Few streams give a low bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_ci_lower: Option<f64>,
}

impl StreamStats {
    /// `stats` must contain the metrics of [`SHOWN`].
    pub(crate) fn of(stats: &WindowStats) -> Self {
        Self {
            outcomes: stats.outcomes().map(|(outcome, count)| (outcome.as_str(), count)).collect(),
            defects: stats.defects().map(|(defect, count)| (defect.as_str(), count)).collect(),
            ttfv: Quantiles::of(stats, Metric::Ttfv),
            ttft: Quantiles::of(stats, Metric::Ttft),
            e2e: Quantiles::of(stats, Metric::E2e),
            tpot: Quantiles::of(stats, Metric::Tpot),
            gap: Quantiles::of(stats, Metric::Gap),
            integrity: Ratio::of(stats.intact, stats.eligible()),
            availability: Ratio::of(stats.eligible() - stats.errors(), stats.eligible()),
            errors: Errors::of(stats),
            input_tokens: stats.input_tokens,
            output_tokens: stats.output_tokens,
        }
    }
}

impl Errors {
    pub(super) fn of(stats: &WindowStats) -> Self {
        let (count, total) = (stats.errors(), stats.eligible());
        let ratio_ci_lower = (total > 0).then(|| binomial::lower_bound(count, total));
        Self { count, total, ratio: share(count, total), ratio_ci_lower }
    }
}

/// Metrics with a distribution in the response.
pub(super) const SHOWN: [Metric; 9] = [
    Metric::Ttfv,
    Metric::AbandonedTtfv,
    Metric::FailedTtfv,
    Metric::Ttft,
    Metric::AbandonedTtft,
    Metric::FailedTtft,
    Metric::E2e,
    Metric::Tpot,
    Metric::Gap,
];
