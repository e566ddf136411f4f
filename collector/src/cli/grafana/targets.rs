//! Lines at the targets of the configured use cases.

use super::panel::{Question, limit};
use super::promql::rate;
use crate::aggregate::metric::Metric;
use crate::cli::prometheus_rules::{Profile, profiles, rounded};
use crate::config::Config;
use crate::config::targets::Targets;
use crate::export::prometheus::names;

/// A line for every target that a use case has for the metric, while the use case has streams.
pub(super) fn target_lines(config: &Config, metric: Metric) -> Vec<Question> {
    let of = |profile: Profile| {
        let targets = of_metric(metric, &profile.targets);
        targets.into_iter().map(move |(name, value)| line(config, &profile, name, value)).collect::<Vec<_>>()
    };
    profiles(config).into_iter().flat_map(of).collect()
}

fn line(config: &Config, profile: &Profile, name: &str, value: f64) -> Question {
    let differs = config.sites.iter().any(|site| site.targets.contains_key(&profile.use_case));
    let (by, site) = if differs { ("site, use_case", "{{site}} ") } else { ("use_case", "") };
    // A use case that the viewer filters away, or that has no streams, has no line.
    let streams = rate(names::REQUESTS, &format!(",{}", profile.labels));
    let expr = format!("0 * sum by ({by}) ({streams}) + {}", rounded(value));
    limit(expr, &format!("{site}{{{{use_case}}}} {name}target"))
}

/// Targets in the unit of the exported metric.
fn of_metric(metric: Metric, targets: &Targets) -> Vec<(&'static str, f64)> {
    let Targets { ttft_p50_ms, ttft_p95_ms, ttft_p99_ms, e2e_p50_ms, e2e_p95_ms, e2e_p99_ms, .. } = *targets;
    let all_ms = match metric {
        Metric::Ttfv => vec![("p50 ", ttft_p50_ms), ("p95 ", ttft_p95_ms), ("p99 ", ttft_p99_ms)],
        Metric::E2e => vec![("p50 ", e2e_p50_ms), ("p95 ", e2e_p95_ms), ("p99 ", e2e_p99_ms)],
        Metric::Tpot | Metric::OutputRate => vec![("", targets.tpot_ms)],
        Metric::InterChunkLatency => vec![("", targets.longest_gap_ms)],
        _ => Vec::new(),
    };
    let exported = |target_ms: f64| match metric {
        Metric::OutputRate => 1_000.0 / target_ms,
        _ => target_ms / 1_000.0,
    };
    all_ms.into_iter().filter_map(|(name, target_ms)| Some((name, exported(target_ms?)))).collect()
}
