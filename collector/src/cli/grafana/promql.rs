//! PromQL that several sections share. It selects the series that the viewer's variables choose.

use super::panel::{Question, asked};
use crate::aggregate::metric::{Export, Metric, Unit};
use crate::cli::prometheus_rules::rounded;

/// The median and the slow end of a metric by a label: p90, p95 and p99 of a duration, p10, p5 and p1 of a rate.
pub(super) fn percentiles(metric: Metric, by: &str) -> Vec<Question> {
    let slow_end = match metric.definition().unit {
        Unit::Milliseconds => [0.9, 0.95, 0.99],
        Unit::OutputTokensPerSecond => [0.1, 0.05, 0.01],
    };
    let at = |q: f64| {
        let legend = format!("{{{{{by}}}}} p{}", rounded(q * 100.0));
        asked(quantile(q, metric.export(), by), &legend)
    };
    [0.5].into_iter().chain(slow_end).map(at).collect()
}

/// A percentile of a histogram by a label, or over all series if `by` is empty.
pub(super) fn quantile(q: f64, export: &Export, by: &str) -> String {
    let labels = if by.is_empty() { "le".to_owned() } else { format!("le, {by}") };
    let buckets = rate(&format!("{}_bucket", export.prometheus), "");
    format!("histogram_quantile({q}, sum by ({labels}) ({buckets}))")
}

pub(super) fn rate(name: &str, more: &str) -> String {
    format!("rate({name}{{{CHOSEN}{more}}}[$__rate_interval])")
}

pub(super) const CHOSEN: &str =
    "site=~\"$site\",use_case=~\"$use_case\",provider=~\"$provider\",model=~\"$model\"";

/// Variables with a limit to draw.
pub(super) const IN_FLIGHT_CAP: &str = "in_flight_cap";
pub(super) const QUEUE_CAP: &str = "queue_cap";
