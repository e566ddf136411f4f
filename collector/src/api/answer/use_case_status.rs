//! The state of each use case of each site in a range: level, wait, failures, budget and alerts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::dimension::Dimension;
use crate::aggregate::metric::Metric;
use crate::aggregate::window_stats::{Sum, WindowStats};
use crate::api::answer::percentiles::quantile;
use crate::api::answer::ratio::Ratio;
use crate::api::request::range::Range;
use crate::api::state::ApiState;
use crate::config::Config;
use crate::config::targets::Targets;
use crate::slo::alert::{Alert, GroupState, GroupStates};
use crate::slo::error_budget::Objective;
use crate::slo::verdict::case::{Case, Level, Missed};
use crate::slo::verdict::{self, CaseVerdict, Verdict};
use crate::stats::onset::{StepCount, onset};
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::time::MINUTE_MS;

/// Statistics by site and use case.
pub(crate) type ByUseCase = BTreeMap<[String; 2], WindowStats>;

/// The state of one use case of a site, as the first screen lists it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UseCaseStatus {
    site: String,
    use_case: String,
    level: Level,
    streams: u64,
    /// The wait that its targets are about: `ttfv`, or `e2e` if it has targets for the end alone. Without targets, `e2e`
    /// if no stream has a visible token: a whole JSON response has only an end.
    metric: &'static str,
    /// Percentiles of the metric; all absent without a value of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_ms: Option<f64>,
    /// Targets of the use case.
    targets: Targets,
    availability: Ratio,
    integrity: Ratio,
    goodput: Ratio,
    /// The objective whose budget has the smallest share left. Absent without objectives, and where alerts are not
    /// evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    least_budget: Option<BudgetLeft>,
    /// Alerts that fire now, most urgent first. Always empty for a range in the past, and with a filter beyond site
    /// and use case.
    alerts: Vec<Alert>,
}

/// What is left of an error budget.
#[derive(Debug, Serialize, JsonSchema)]
struct BudgetLeft {
    objective: Objective,
    /// Share of the budget that is left; below 0 if overspent.
    remaining: f64,
}

/// What a verdict is computed from, read from the store.
pub(crate) struct Judgements {
    pub(crate) verdict: Verdict,
    pub(crate) by_use_case: Vec<UseCaseStatus>,
}

/// Statistics of the range by site and use case, with the distributions of `metrics`.
pub(crate) fn read(
    store: &Backend<'_>,
    range: Range,
    filter: &Filter,
    metrics: &[Metric],
) -> Result<ByUseCase, StoreError> {
    let mut groups =
        store.grouped_stats(&range.windows(filter, None, metrics), [Dimension::Site, Dimension::UseCase])?;
    // A window without streams remains if a later revision moved its stream to another series.
    groups.retain(|_, stats| stats.streams() > 0);
    Ok(groups)
}

/// The alerts of the moment. Empty if the query is about the past, or about a part of the streams of a use case: alerts
/// judge all of them.
pub(crate) fn alerts(
    state: &ApiState,
    store: &Backend<'_>,
    range: Range,
    filter: &Filter,
) -> Result<GroupStates, StoreError> {
    let of_alerts = [Dimension::Site, Dimension::UseCase];
    let is_part = filter.restricted().any(|(dimension, ..)| !of_alerts.contains(&dimension));
    if is_part || filter.needs_streams() || !range.includes_now() {
        return Ok(GroupStates::new());
    }
    state.firing(store, filter)
}

/// Judges the use cases. Reads once more from the store, to find out when the worst began.
pub(crate) fn judge(
    config: &Config,
    store: &Backend<'_>,
    (range, filter): (Range, &Filter),
    (groups, states): (&ByUseCase, &GroupStates),
    open: u64,
) -> Result<Judgements, StoreError> {
    let cases: Vec<_> = groups
        .iter()
        .map(|(group, stats)| {
            let [site, use_case] = group;
            let targets = config.targets(Some(site), use_case);
            Case { site, use_case, stats, targets, state: states.get(group) }
        })
        .collect();
    let verdicts = verdict::judge_all(&cases);
    let (verdict, worst) = verdict::of(open, &cases, &verdicts);
    let missed =
        worst.and_then(|at| Some((at, verdicts[at].missed.filter(|_| verdicts[at].level > Level::Good)?)));
    let onset = missed.map(|(at, missed)| {
        let own =
            filter.clone().with(Dimension::Site, cases[at].site).with(Dimension::UseCase, cases[at].use_case);
        steps(store, range, &own, missed).map(|steps| onset(&steps))
    });
    let verdict = verdict.with_onset(onset.transpose()?.flatten());
    Ok(Judgements { verdict, by_use_case: statuses(&cases, &verdicts) })
}

/// Good and bad streams of each step of the range.
fn steps(
    store: &Backend<'_>,
    range: Range,
    filter: &Filter,
    missed: Missed,
) -> Result<Vec<StepCount>, StoreError> {
    let step_ms = range.onset_step_ms();
    let mut steps: BTreeMap<i64, StepCount> = BTreeMap::new();
    store.windows(&range.windows(filter, Some(step_ms), &[]), |minute, stats| {
        let at = (minute * MINUTE_MS).div_euclid(step_ms) * step_ms;
        let (bad, total) = bad_streams(missed, stats);
        let step = steps.entry(at).or_insert(StepCount { at, bad: 0, total: 0 });
        step.bad += bad;
        step.total += total;
    })?;
    Ok(steps.into_values().collect())
}

/// Bad streams and all that count.
fn bad_streams(missed: Missed, stats: &WindowStats) -> (u64, u64) {
    let eligible = stats.eligible();
    match missed {
        Missed::Wait => (stats.wait_causes().map(|(_, count)| count).sum(), stats.streams()),
        Missed::Pace => {
            let known = stats.sum(Sum::PaceKnown);
            (known - stats.sum(Sum::WithinPace), known)
        }
        Missed::Availability => (stats.errors(), eligible),
        Missed::Integrity => (eligible.saturating_sub(stats.sum(Sum::Intact)), eligible),
        Missed::Goodput => (eligible.saturating_sub(stats.sum(Sum::WithinSlo)), eligible),
    }
}

/// Worst first.
fn statuses(cases: &[Case<'_>], verdicts: &[CaseVerdict]) -> Vec<UseCaseStatus> {
    let order = verdict::worst_first(cases, verdicts).into_iter().take(MOST_ROWS);
    order.map(|at| UseCaseStatus::of(&cases[at], verdicts[at].level)).collect()
}

impl UseCaseStatus {
    fn of(case: &Case<'_>, level: Level) -> Self {
        let Case { site, use_case, stats, targets, state } = case;
        let has_token = stats.histogram(Metric::Ttfv).count() > 0;
        let untargeted = if has_token { Metric::Ttfv } else { Metric::E2e };
        let metric = targets.wait().map_or(untargeted, |(metric, _)| metric);
        let wait = stats.histogram(metric);
        let eligible = stats.eligible();
        let least_budget = state.and_then(|state| state.least_budget);
        Self {
            site: (*site).to_owned(),
            use_case: (*use_case).to_owned(),
            level,
            streams: stats.streams(),
            metric: metric.id(),
            p50_ms: quantile(wait, 0.5),
            p90_ms: quantile(wait, 0.9),
            p95_ms: quantile(wait, 0.95),
            p99_ms: quantile(wait, 0.99),
            targets: *targets,
            availability: Ratio::of(eligible - stats.errors(), eligible),
            integrity: Ratio::of(stats.sum(Sum::Intact), eligible),
            goodput: Ratio::of(stats.sum(Sum::WithinSlo), eligible),
            least_budget: least_budget.map(|(objective, remaining)| BudgetLeft { objective, remaining }),
            alerts: state.map(|GroupState { alerts, .. }| alerts.clone()).unwrap_or_default(),
        }
    }
}

/// A page names its use cases, so there may be many. The worst are enough for one screen.
const MOST_ROWS: usize = 50;
