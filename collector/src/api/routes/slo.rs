//! `GET /v1/slo`: the error budgets and burn rates of a use case. `GET /v1/alerts`: the alerts that fire now.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::dimension::Dimension;
use crate::aggregate::window_stats::WindowStats;
use crate::api::answer::ratio::share;
use crate::api::answer::targets_in_view::TargetsOf;
use crate::api::request::params::AlertFilter;
use crate::api::request::query_string::Query;
use crate::api::request::range::{AskedRange, Range};
use crate::api::state::ApiState;
use crate::config::severity::Severity;
use crate::http::error::ApiError;
use crate::slo::alert::{Alert, GroupState};
use crate::slo::error_budget::{ALERT_WINDOWS, BurnRateAlert, Objective, SliCount};
use crate::store::backend::Backend;
use crate::store::filter::Filter;
use crate::time::{DAY_MINUTES, DAY_MS};

/// Error budgets of a site's use case.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Slo {
    #[serde(flatten)]
    range: Range,
    days: u32,
    /// Absent if no site is chosen and none has streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    site: Option<String>,
    targets: TargetsOf,
    budgets: Vec<Budget>,
}

/// The error budget of one objective.
#[derive(Serialize, JsonSchema)]
struct Budget {
    objective: Objective,
    /// Target share of good streams.
    objective_ratio: f64,
    good: u64,
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    /// Number of bad streams that the objective allows among `total`.
    allowed: f64,
    /// Share of the error budget that is left; below 0 if overspent. Absent without streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<f64>,
    burn_rates: Vec<BurnRate>,
    /// Days (UTC) of the period with streams that count for the objective, oldest first.
    by_day: Vec<Day>,
    /// Severity of the most severe alert that fires. Absent if none fires.
    #[serde(skip_serializing_if = "Option::is_none")]
    alert: Option<Severity>,
}

/// Burn rate over the newest minutes.
#[derive(Serialize, JsonSchema)]
struct BurnRate {
    minutes: i64,
    total: u64,
    /// Failure rate divided by the allowed one: at 1 the budget lasts exactly its period. Absent without
    /// streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
}

/// One objective on one day.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BudgetDay")]
struct Day {
    timestamp_ms: i64,
    good: u64,
    total: u64,
}

/// The alerts that fire now.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Alerts {
    /// Most urgent first.
    alerts: Vec<FiringAlert>,
}

/// An alert of one site's use case.
#[derive(Serialize, JsonSchema)]
struct FiringAlert {
    site: String,
    use_case: String,
    #[serde(flatten)]
    alert: Alert,
    /// The alert in one sentence.
    text: String,
}

/// Handles `/v1/slo`.
pub(crate) async fn slo(
    State(state): State<ApiState>,
    Query(mut filter): Query<Filter>,
) -> Result<Json<Slo>, ApiError> {
    if let Some([site, use_case]) = worst_of(&state, &filter).await? {
        filter = filter.with(Dimension::Site, site).with(Dimension::UseCase, use_case);
    }
    let site = filter.only(Dimension::Site).map(str::to_owned);
    let targets = TargetsOf::of(&state, &filter);
    filter = filter.with(Dimension::UseCase, &targets.use_case);
    let days = state.config.budget_days();
    let newest = |minutes| AskedRange::Newest { minutes }.at_present(&state);
    let period = newest(i64::from(days) * DAY_MINUTES);
    let waits: Vec<_> = targets.targets.wait().map(|(metric, _)| metric).into_iter().collect();
    let lately = ALERT_WINDOWS.map(newest);
    let needs_streams = filter.needs_streams();
    let read_all = move |store: &Backend<'_>| {
        let sum = |store: &Backend<'_>, range: Range| {
            let mut sum = WindowStats::default();
            store.windows(&range.windows(&filter, None, &waits), |_, stats| sum.merge(stats))?;
            Ok(sum)
        };
        let by_day = |store: &Backend<'_>| {
            let mut by_day = BTreeMap::<i64, WindowStats>::new();
            // No window is longer than a day or crosses midnight (UTC).
            store.windows(&period.windows(&filter, None, &waits), |minute, stats| {
                by_day.entry(minute.div_euclid(DAY_MINUTES)).or_default().merge(stats);
            })?;
            Ok(by_day)
        };
        store.both(by_day, |store| store.each(lately, sum))
    };
    let (by_day, lately) = state.reader.run(read_all).await?;
    let period = period.with_kept_since(&state, needs_streams).await?;
    let objectives = Objective::ALL.into_iter().filter_map(|objective| {
        let sli = |stats: &WindowStats| objective.sli(stats, &targets.targets);
        let by_day = by_day.iter().map(|(day, stats)| (*day, sli(stats))).collect();
        let lately: Vec<_> = lately.iter().map(sli).collect();
        Some(Budget::of(objective, objective.share(&targets.targets)?, days, by_day, &lately))
    });
    Ok(Json(Slo { range: period, days, site, budgets: objectives.collect(), targets }))
}

/// The site and use case in the filter with the most urgent alert, and the largest of those: budgets of several together
/// would hide each other. `None` if the filter names both, or nothing in it has streams.
async fn worst_of(state: &ApiState, filter: &Filter) -> Result<Option<[String; 2]>, ApiError> {
    let parts = [Dimension::Site, Dimension::UseCase];
    if parts.iter().all(|dimension| filter.only(*dimension).is_some()) {
        return Ok(None);
    }
    let states = {
        let (state, filter) = (state.clone(), filter.clone());
        state.reader.clone().run(move |store: &Backend<'_>| state.firing(store, &filter)).await?
    };
    let is_chosen =
        |group: &[String; 2]| parts.iter().zip(group).all(|(part, name)| filter.selects(*part, name));
    let rank =
        |state: &GroupState| (state.alerts.first().map(|alert| Reverse(alert.severity)), state.streams);
    let worst = states.iter().filter(|(group, _)| is_chosen(group)).max_by_key(|(_, state)| rank(state));
    Ok(worst.map(|(group, _)| group.clone()))
}

/// Handles `/v1/alerts`.
pub(crate) async fn alerts(
    State(state): State<ApiState>,
    Query(AlertFilter(filter)): Query<AlertFilter>,
) -> Result<Json<Alerts>, ApiError> {
    let states = {
        let (state, filter) = (state.clone(), filter.clone());
        state.reader.clone().run(move |store: &Backend<'_>| state.firing(store, &filter)).await?
    };
    let is_chosen = |[site, use_case]: &[String; 2]| {
        filter.selects(Dimension::Site, site) && filter.selects(Dimension::UseCase, use_case)
    };
    let mut alerts: Vec<_> = states
        .iter()
        .filter(|(group, _)| is_chosen(group))
        .flat_map(|([site, use_case], state)| {
            let of_group = |alert: &Alert| FiringAlert {
                site: site.clone(),
                use_case: use_case.clone(),
                alert: alert.clone(),
                text: alert.describe(),
            };
            state.alerts.iter().map(of_group)
        })
        .collect();
    alerts.sort_by_key(|firing| firing.alert.severity);
    Ok(Json(Alerts { alerts }))
}

impl Budget {
    fn of(
        objective: Objective,
        objective_ratio: f64,
        days: u32,
        by_day: Vec<(i64, SliCount)>,
        lately: &[SliCount],
    ) -> Self {
        let all = by_day.iter().fold(SliCount::default(), |all, (_, day)| SliCount {
            good: all.good + day.good,
            total: all.total + day.total,
        });
        let over = |minutes| {
            ALERT_WINDOWS
                .iter()
                .position(|length| *length == minutes)
                .map_or(SliCount::default(), |at| lately[at])
        };
        let fires = |alert: &&BurnRateAlert| {
            alert.fires(days, objective_ratio, over(alert.long_minutes), over(alert.short_minutes))
        };
        let burn_rate = |(minutes, sli): (i64, &SliCount)| BurnRate {
            minutes,
            total: sli.total,
            rate: sli.burn_rate(objective_ratio),
        };
        Self {
            objective,
            objective_ratio,
            good: all.good,
            total: all.total,
            ratio: share(all.good, all.total),
            allowed: (1.0 - objective_ratio) * all.total as f64,
            remaining: all.remaining(objective_ratio),
            by_day: by_day.into_iter().filter(|(_, sli)| sli.total > 0).map(Day::of).collect(),
            burn_rates: ALERT_WINDOWS.into_iter().zip(lately).map(burn_rate).collect(),
            alert: BurnRateAlert::ALL.iter().find(fires).map(|alert| alert.severity),
        }
    }
}

impl Day {
    const fn of((day, SliCount { good, total }): (i64, SliCount)) -> Self {
        Self { timestamp_ms: day * DAY_MS, good, total }
    }
}
