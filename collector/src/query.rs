//! The dashboard's only source: parameters come in, answers over the stored windows and reports go
//! out. One file per question; here what they share. The contract: `docs/api.md`.

mod accounting;
mod compare;
mod histogram;
mod params;
mod streams;
mod summary;
mod timeseries;

use beacon::{Histogram, RELATIVE_ERROR};
use serde::Serialize;

pub(crate) use accounting::accounting;
pub(crate) use compare::compare;
pub(crate) use histogram::histogram;
use params::{Params, Range};
pub(crate) use streams::{stream, streams};
pub(crate) use summary::summary;
pub(crate) use timeseries::timeseries;

use crate::error::{ApiError, Reason};
use crate::slo::Targets;
use crate::state::AppState;
use crate::store::Filter;
use crate::tally::Metric;

/// Percentiles of a distribution, with how many values stand behind them.
#[derive(Debug, Clone, Serialize)]
struct Quantiles {
    n: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_ms: Option<f64>,
    relative_error: f64,
}

impl Quantiles {
    fn of(histogram: &Histogram) -> Self {
        Self {
            n: histogram.count(),
            p50_ms: quantile_ms(histogram, 0.5),
            p95_ms: quantile_ms(histogram, 0.95),
            p99_ms: quantile_ms(histogram, 0.99),
            relative_error: (RELATIVE_ERROR * 1e4).round() / 1e4,
        }
    }
}

/// A share, with what it is a share of.
#[derive(Debug, Clone, Serialize)]
struct Ratio {
    good: u64,
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
}

impl Ratio {
    fn of(good: u64, total: u64) -> Self {
        Self { good, total, ratio: share(good, total) }
    }
}

/// Targets of the use case that a query is about.
#[derive(Debug, Clone, Serialize)]
struct TargetsOf {
    use_case: String,
    #[serde(flatten)]
    targets: Targets,
}

impl TargetsOf {
    /// The filtered use case; else the default of the filtered site; else that of the first site.
    fn of(state: &AppState, filter: &Filter) -> Self {
        let sites = &state.config().sites;
        let site = sites.iter().find(|site| filter.site.as_ref() == Some(&site.name)).or(sites.first());
        let default = || site.map(|site| site.use_case.clone()).unwrap_or_default();
        let use_case = filter.use_case.clone().unwrap_or_else(default);
        let targets = state.config().targets(&use_case);
        Self { use_case, targets }
    }
}

fn share(part: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| part as f64 / total as f64)
}

/// To the microsecond: what is beyond lies within the error anyway.
fn quantile_ms(histogram: &Histogram, q: f64) -> Option<f64> {
    histogram.quantile(q).map(|ms| (ms * 1e3).round() / 1e3)
}

fn metric(params: &Params) -> Result<(&'static str, Metric), ApiError> {
    let asked = params.get("metric").unwrap_or("ttfv");
    METRICS.into_iter().find(|(name, _)| *name == asked).ok_or_else(|| {
        let known = METRICS.map(|(name, _)| name).join(", ");
        ApiError::new(Reason::BadQuery, format!("`metric` is one of {known}"))
    })
}

const METRICS: [(&str, Metric); 7] = [
    ("ttfv", Metric::Ttfv),
    ("ttft", Metric::Ttft),
    ("e2e", Metric::E2e),
    ("tpot", Metric::Tpot),
    ("gap", Metric::Gap),
    ("server_ttft", Metric::ServerTtft),
    ("overhead", Metric::Overhead),
];
