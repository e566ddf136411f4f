//! The dashboard's only source: parameters come in, answers over the stored windows and reports go
//! out. One file per question; here what they share. The contract: `docs/api.md`.

mod abandonment;
mod breakdown;
mod compare;
mod csv;
mod error;
pub(crate) mod health;
mod heatmap;
mod histogram;
mod ingest_accounting;
mod integrity;
mod live;
pub(crate) mod live_feed;
mod openapi;
mod param_schema;
mod params;
mod percentiles;
mod slo;
pub(crate) mod state;
mod stream_stats;
mod streams;
mod summary;
mod timeseries;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use abandonment::abandonment;
pub(crate) use breakdown::breakdown;
pub(crate) use compare::compare;
pub(crate) use heatmap::heatmap;
pub(crate) use histogram::histogram;
pub(crate) use ingest_accounting::accounting;
pub(crate) use integrity::integrity;
pub(crate) use live::live;
pub(crate) use openapi::openapi;
use params::{Params, Range};
use percentiles::Quantiles;
pub(crate) use slo::slo;
pub(crate) use stream_stats::Figures;
pub(crate) use streams::{stream, streams};
pub(crate) use summary::summary;
pub(crate) use timeseries::timeseries;

use crate::aggregate::metric::Metric;
use crate::aggregate::window_stats::Tally;
use crate::api::state::ApiState;
use crate::config::targets::Targets;
use crate::http::error::{ApiError, Reason};
use crate::store::backend::Source;
use crate::store::error::StoreError;
use crate::store::query::{Dimension, Filter};

/// A share, with what it is a share of.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Ratio {
    good: u64,
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
}

impl Ratio {
    pub(crate) fn of(good: u64, total: u64) -> Self {
        Self { good, total, ratio: share(good, total) }
    }
}

/// Targets of the use case that a query is about.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct TargetsOf {
    use_case: String,
    #[serde(flatten)]
    targets: Targets,
}

impl TargetsOf {
    /// The filtered use case; else the default of the filtered site; else that of the first site.
    fn of(state: &ApiState, filter: &Filter) -> Self {
        let sites = &state.config.sites;
        let site = sites.iter().find(|site| filter.site.as_ref() == Some(&site.name)).or(sites.first());
        let default = || site.map(|site| site.use_case.clone()).unwrap_or_default();
        let use_case = filter.use_case.clone().unwrap_or_else(default);
        // Without a filter, and with one site alone, all streams are that site's.
        let own =
            filter.site.as_deref().or_else(|| site.filter(|_| sites.len() == 1).map(|site| &*site.name));
        let targets = state.config.targets(own, &use_case);
        Self { use_case, targets }
    }

    /// Those that a use case has within what a filter chooses.
    fn of_use_case(state: &ApiState, filter: &Filter, use_case: &str) -> Self {
        Self::of(state, &Filter { use_case: Some(use_case.to_owned()), ..filter.clone() })
    }
}

/// Targets of what is in view.
#[derive(Debug, Serialize, JsonSchema)]
struct TargetsInView {
    /// Of the one use case that has streams here; where none or several have, of the filter's or the site's.
    targets: TargetsOf,
    /// How many use cases have streams here: `targets` are not those of all when it is over 1.
    use_cases: usize,
}

impl TargetsInView {
    /// By what each use case has in view.
    fn of(state: &ApiState, filter: &Filter, by_use_case: &BTreeMap<String, Tally>) -> Self {
        // Where a later revision went elsewhere, the window is still there.
        let use_cases = by_use_case.iter().filter(|(_, tally)| tally.streams() > 0);
        let use_cases: Vec<_> = use_cases.map(|(use_case, _)| use_case).collect();
        let targets = match use_cases[..] {
            [only] => TargetsOf::of_use_case(state, filter, only),
            _ => TargetsOf::of(state, filter),
        };
        Self { targets, use_cases: use_cases.len() }
    }
}

/// What each use case has in a range, without its distributions.
fn by_use_case(
    store: &Source<'_>,
    range: Range,
    filter: &Filter,
) -> Result<BTreeMap<String, Tally>, StoreError> {
    store.tallies_by(&range.windows(filter, None, &[]), Dimension::UseCase)
}

fn share(part: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| part as f64 / total as f64)
}

fn metric(params: &Params) -> Result<(&'static str, Metric), ApiError> {
    let asked = params.get("metric").unwrap_or("ttfv");
    METRICS.into_iter().find(|(name, _)| *name == asked).ok_or_else(|| {
        let known = METRICS.map(|(name, _)| name).join(", ");
        ApiError::new(Reason::BadQuery, format!("`metric` is one of {known}"))
    })
}

const METRICS: [(&str, Metric); 8] = [
    ("ttfv", Metric::Ttfv),
    ("ttft", Metric::Ttft),
    ("ttfp", Metric::Ttfp),
    ("e2e", Metric::E2e),
    ("tpot", Metric::Tpot),
    ("gap", Metric::Gap),
    ("server_ttft", Metric::ServerTtft),
    ("overhead", Metric::Overhead),
];
