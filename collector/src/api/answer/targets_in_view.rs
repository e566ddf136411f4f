//! Targets that a response compares streams with.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::dimension::Dimension;
use crate::aggregate::window_stats::WindowStats;
use crate::api::request::range::Range;
use crate::api::state::ApiState;
use crate::config::Site;
use crate::config::targets::Targets;
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;

/// Targets of a use case.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "UseCaseTargets")]
pub(crate) struct TargetsOf {
    pub(crate) use_case: String,
    #[serde(flatten)]
    pub(crate) targets: Targets,
}

impl TargetsOf {
    /// Targets of the filtered use case, else of the filtered site's default use case, else of the first
    /// site's that the reader may see.
    pub(crate) fn of(state: &ApiState, filter: &Filter) -> Self {
        let is_allowed = |site: &&Site| filter.sites().allows(&site.name);
        let sites: Vec<_> = state.config.sites.iter().filter(is_allowed).collect();
        let is_selected = |site: &&&Site| filter.only(Dimension::Site) == Some(&*site.name);
        let site = sites.iter().find(is_selected).or(sites.first());
        let default = || site.map(|site| site.use_case.clone()).unwrap_or_default();
        let use_case = filter.only(Dimension::UseCase).map_or_else(default, str::to_owned);
        // With a single site, all streams belong to it even without a filter.
        let own = filter
            .only(Dimension::Site)
            .or_else(|| site.filter(|_| sites.len() == 1).map(|site| &*site.name));
        let targets = state.config.targets(own, &use_case);
        Self { use_case, targets }
    }

    /// Targets of a use case under the other labels of a filter.
    pub(crate) fn of_use_case(state: &ApiState, filter: &Filter, use_case: &str) -> Self {
        Self::of(state, &filter.clone().with(Dimension::UseCase, use_case))
    }
}

/// Targets for the streams of the response.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TargetsInView {
    /// Targets of the only use case with streams. With none or several, the targets of the filtered use case,
    /// or of the site's default one.
    pub(crate) targets: TargetsOf,
    /// Number of use cases with streams. Above 1, `targets` do not apply to all streams.
    pub(crate) use_cases: usize,
}

impl TargetsInView {
    /// `by_use_case`: statistics of the response's streams.
    pub(crate) fn of(state: &ApiState, filter: &Filter, by_use_case: &BTreeMap<String, WindowStats>) -> Self {
        // A window without streams remains if a later revision moved its stream to another series.
        let use_cases = by_use_case.iter().filter(|(_, stats)| stats.streams() > 0);
        let use_cases: Vec<_> = use_cases.map(|(use_case, _)| use_case).collect();
        let targets = match use_cases[..] {
            [only] => TargetsOf::of_use_case(state, filter, only),
            _ => TargetsOf::of(state, filter),
        };
        Self { targets, use_cases: use_cases.len() }
    }
}

/// Targets of availability, integrity and goodput for all streams in view: each eligible stream counts with the target
/// of its use case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ShareTargets {
    /// Absent if a use case has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    availability: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    integrity: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goodput: Option<f64>,
}

impl ShareTargets {
    /// `groups`: the targets of each use case, and the number of its eligible streams. Without streams, the targets of
    /// `default`.
    pub(crate) fn of(groups: &[(Targets, u64)], default: &Targets) -> Self {
        let streams: u64 = groups.iter().map(|(_, streams)| streams).sum();
        let mean = |target: fn(&Targets) -> Option<f64>| {
            if streams == 0 {
                return target(default);
            }
            let with_streams = groups.iter().filter(|(_, streams)| *streams > 0);
            let sum: Option<f64> =
                with_streams.map(|(targets, streams)| Some(target(targets)? * *streams as f64)).sum();
            // Rounded, so that the mean of equal targets is that target.
            Some((sum? / streams as f64 * 1e9).round() / 1e9)
        };
        Self {
            availability: mean(|targets| targets.availability),
            integrity: mean(|targets| targets.integrity),
            goodput: mean(|targets| targets.goodput),
        }
    }
}

/// Statistics of each use case in a range, without distributions.
pub(crate) fn by_use_case(
    store: &Backend<'_>,
    range: Range,
    filter: &Filter,
) -> Result<BTreeMap<String, WindowStats>, StoreError> {
    store.stats_by(&range.windows(filter, None, &[]), Dimension::UseCase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(availability: f64) -> Targets {
        Targets { availability: Some(availability), ..Targets::default() }
    }

    #[test]
    fn each_stream_counts_with_the_target_of_its_use_case() {
        let availability = |groups: &[(Targets, u64)]| ShareTargets::of(groups, &targets(0.9)).availability;
        assert_eq!(
            availability(&[(targets(0.995), 300), (targets(0.999), 100), (targets(0.5), 0)]),
            Some(0.996)
        );
        assert_eq!(availability(&[(targets(0.995), 7)]), Some(0.995));
        assert_eq!(availability(&[(targets(0.995), 300), (Targets::default(), 1)]), None);
        assert_eq!(availability(&[(Targets::default(), 0)]), Some(0.9));
    }
}
