//! Requests and tokens of all streams per second, and the streams slower than a reading speed.

use beacon::RELATIVE_ERROR;
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::metric::Metric;
use crate::aggregate::token_count::TokenCount;
use crate::aggregate::window_stats::WindowStats;
use crate::api::answer::ratio::share;

/// Rates over a time. A token rate covers the streams whose provider counted tokens. It is absent if none did.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Throughput {
    /// Finalized streams.
    pub(crate) requests_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input_tokens_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_tokens_per_second: Option<f64>,
}

/// Streams whose output rate is below a reading speed, of all streams with a rate.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BelowReadingSpeed {
    /// The reading speed.
    output_tokens_per_second: f64,
    count: u64,
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
}

impl Throughput {
    pub(crate) fn of(stats: &WindowStats, seconds: f64) -> Self {
        let rate = |count: TokenCount| count.known().map(|tokens| tokens as f64 / seconds);
        Self {
            requests_per_second: stats.streams() as f64 / seconds,
            input_tokens_per_second: rate(stats.input_tokens()),
            output_tokens_per_second: rate(stats.output_tokens()),
        }
    }
}

impl BelowReadingSpeed {
    /// `stats` must contain the output rate. A bucket counts as its middle, as in a percentile.
    pub(crate) fn of(stats: &WindowStats, output_tokens_per_second: f64) -> Self {
        let rates = stats.histogram(Metric::OutputRate);
        let is_below = |lower: f64| lower * (1.0 + RELATIVE_ERROR) < output_tokens_per_second;
        let below = rates.buckets().filter(|bucket| is_below(bucket.lower)).map(|bucket| bucket.count);
        let (count, total) = (rates.zero() + below.sum::<u64>(), rates.count());
        Self { output_tokens_per_second, count, total, ratio: share(count, total) }
    }
}
