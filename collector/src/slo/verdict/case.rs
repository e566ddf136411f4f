//! What a verdict is about, and its levels.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::window_stats::WindowStats;
use crate::config::targets::Targets;
use crate::slo::alert::GroupState;
use crate::slo::error_budget::Objective;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "VerdictLevel")]
pub(crate) enum Level {
    /// No eligible streams or no targets.
    None,
    /// All targets are met, and no alert fires.
    Good,
    /// A target is missed, but only by few streams, among few streams, or perhaps by chance; or a budget is
    /// overspent.
    Warn,
    /// A target is missed, or an urgent alert fires.
    Bad,
}

/// The streams of one use case of a site, and what they are compared with.
pub(crate) struct Case<'a> {
    pub(crate) site: &'a str,
    pub(crate) use_case: &'a str,
    pub(crate) stats: &'a WindowStats,
    pub(crate) targets: Targets,
    /// Its alerts and budgets. `None` if no stream of it ended in the period of the budgets.
    pub(crate) state: Option<&'a GroupState>,
}

impl Case<'_> {
    /// Bad streams beyond those that its objectives allow: the largest number by one objective.
    fn excess(&self) -> f64 {
        let of_objective = |objective: Objective| {
            let sli = objective.sli(self.stats, &self.targets);
            let allowed = 1.0 - objective.share(&self.targets)?;
            Some(sli.bad() as f64 - allowed * sli.total as f64)
        };
        Objective::ALL.into_iter().filter_map(of_objective).fold(0.0, f64::max)
    }

    /// Orders the worse one first: by level, then by bad streams beyond what is allowed, then by traffic.
    pub(crate) fn worst_first(a: (&Self, Level), b: (&Self, Level)) -> Ordering {
        let ((a, level_of_a), (b, level_of_b)) = (a, b);
        let by_excess = || b.excess().total_cmp(&a.excess());
        let by_traffic = || b.stats.eligible().cmp(&a.stats.eligible());
        level_of_b.cmp(&level_of_a).then_with(by_excess).then_with(by_traffic)
    }
}

/// Which streams a missed target counts as bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missed {
    /// Those whose wait was above its p95 target.
    Wait,
    /// Those that missed their pace.
    Pace,
    /// Those that failed.
    Availability,
    /// Those that were not intact.
    Integrity,
    /// Those that were not within SLO.
    Goodput,
}

/// With fewer streams, a percentile or a share says little.
pub(super) const FEW: u64 = 30;
