//! The targets that the streams of an answer are compared with.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::params::Range;
use super::state::ApiState;
use crate::aggregate::window_stats::WindowStats;
use crate::config::targets::Targets;
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::query::{Dimension, Filter};

/// Targets of the use case that a query is about.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct TargetsOf {
    pub(super) use_case: String,
    #[serde(flatten)]
    pub(super) targets: Targets,
}

impl TargetsOf {
    /// The filtered use case; else the default of the filtered site; else that of the first site.
    pub(super) fn of(state: &ApiState, filter: &Filter) -> Self {
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
    pub(super) fn of_use_case(state: &ApiState, filter: &Filter, use_case: &str) -> Self {
        Self::of(state, &Filter { use_case: Some(use_case.to_owned()), ..filter.clone() })
    }
}

/// Targets of what is in view.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TargetsInView {
    /// Of the one use case that has streams here; where none or several have, of the filter's or the site's.
    pub(super) targets: TargetsOf,
    /// How many use cases have streams here: `targets` are not those of all when it is over 1.
    pub(super) use_cases: usize,
}

impl TargetsInView {
    /// By what each use case has in view.
    pub(super) fn of(state: &ApiState, filter: &Filter, by_use_case: &BTreeMap<String, WindowStats>) -> Self {
        // Where a later revision went elsewhere, the window is still there.
        let use_cases = by_use_case.iter().filter(|(_, stats)| stats.streams() > 0);
        let use_cases: Vec<_> = use_cases.map(|(use_case, _)| use_case).collect();
        let targets = match use_cases[..] {
            [only] => TargetsOf::of_use_case(state, filter, only),
            _ => TargetsOf::of(state, filter),
        };
        Self { targets, use_cases: use_cases.len() }
    }
}

/// What each use case has in a range, without its distributions.
pub(super) fn by_use_case(
    store: &Backend<'_>,
    range: Range,
    filter: &Filter,
) -> Result<BTreeMap<String, WindowStats>, StoreError> {
    store.stats_by(&range.windows(filter, None, &[]), Dimension::UseCase)
}
