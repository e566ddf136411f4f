//! The alerts of each site and use case that fire now, and what is left of the budgets. Definitions:
//! `docs/slo.md#alerts`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::dimension::Dimension;
use crate::aggregate::metric::Metric;
use crate::aggregate::window_stats::WindowStats;
use crate::config::Config;
use crate::config::severity::Severity;
use crate::config::targets::Targets;
use crate::config::token::AllowedSites;
use crate::slo::error_budget::{ALERT_WINDOWS, BurnRateAlert, Objective, SliCount};
use crate::slo::words::grouped;
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::query::WindowsQuery;
use crate::time::{DAY_MINUTES, HOUR_MINUTES, minute_of};

/// An alert that fires.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Alert {
    pub(crate) severity: Severity,
    /// What is amiss: `availability`, `integrity`, `speed` or `pace` for a burn rate, `ttft_p99`, `ttft_p95`, `e2e_p99`
    /// or `e2e_p95` for waits.
    pub(crate) rule: &'static str,
    /// Length of the window that the figures are about.
    pub(crate) minutes: i64,
    /// Bad streams in the window: those outside the objective, or above `limit_ms`.
    pub(crate) bad: u64,
    /// Streams in the window that the rule applies to.
    pub(crate) total: u64,
    /// Burn rate over the window. Absent for waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) burn_rate: Option<f64>,
    /// Wait that at most 5 % (p95) or 1 % (p99) of the streams may exceed. Absent for burn rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit_ms: Option<f64>,
}

/// Alerts and budgets of one site's use case.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GroupState {
    /// Most urgent first.
    pub(crate) alerts: Vec<Alert>,
    /// The objective with the least budget left, and its share. `None` without streams or objectives.
    pub(crate) least_budget: Option<(Objective, f64)>,
    /// Streams in the period of the budgets.
    pub(crate) streams: u64,
}

/// States by site and use case.
pub(crate) type GroupStates = BTreeMap<[String; 2], GroupState>;

/// A limit on waits, by the requirement: a percentile above a multiple of its target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitAlert {
    pub(crate) severity: Severity,
    pub(crate) percentile: u8,
    /// Multiple of the target that the percentile exceeds.
    pub(crate) factor: f64,
    /// How long it must have been so.
    pub(crate) for_minutes: i64,
}

impl WaitAlert {
    /// Most urgent first.
    pub(crate) const ALL: [Self; 3] = [
        Self { severity: Severity::P1, percentile: 99, factor: 2.0, for_minutes: 0 },
        Self { severity: Severity::P2, percentile: 95, factor: 2.0, for_minutes: 0 },
        Self { severity: Severity::P3, percentile: 95, factor: 1.5, for_minutes: DAY_MINUTES },
    ];

    /// Share of streams that may exceed the limit.
    pub(crate) fn allowed(&self) -> f64 {
        f64::from(100 - self.percentile) / 100.0
    }

    /// The wait, the limit in milliseconds and the rule's name, for each wait with a target.
    pub(crate) fn limits(&self, targets: &Targets) -> impl Iterator<Item = (Metric, f64, &'static str)> {
        let waits = match self.percentile {
            99 => [
                (Metric::Ttfv, targets.ttft_p99_ms, "ttft_p99"),
                (Metric::E2e, targets.e2e_p99_ms, "e2e_p99"),
            ],
            _ => [
                (Metric::Ttfv, targets.ttft_p95_ms, "ttft_p95"),
                (Metric::E2e, targets.e2e_p95_ms, "e2e_p95"),
            ],
        };
        let factor = self.factor;
        waits
            .into_iter()
            .filter_map(move |(metric, target_ms, name)| Some((metric, target_ms? * factor, name)))
    }

    /// Whether the waits of an hour exceed the limit, and not by chance alone.
    fn is_exceeded(&self, waits: SliCount) -> bool {
        waits.exceeds(self.allowed()) && waits.proves(self.allowed())
    }
}

impl Alert {
    /// A sentence without its full stop.
    pub(crate) fn describe(&self) -> String {
        format!("alert {}: {}", self.severity.as_str(), self.finding())
    }

    /// What is amiss, as a sentence without its full stop.
    pub(crate) fn finding(&self) -> String {
        let Self { rule, minutes, .. } = self;
        let (bad, total) = (grouped(self.bad), grouped(self.total));
        let hours =
            if *minutes < HOUR_MINUTES { format!("{minutes} min") } else { format!("{} h", minutes / 60) };
        match (self.burn_rate, self.limit_ms) {
            (Some(burn_rate), _) => format!(
                "the {rule} budget burns {burn_rate:.1} times too fast ({bad} of {total} streams in {hours})"
            ),
            (None, limit_ms) => {
                let limit = limit_ms.unwrap_or_default() / 1e3;
                format!("{bad} of {total} streams in {hours} waited more than {limit:.1} s ({rule})")
            }
        }
    }

    /// What the alert is about, whatever its severity: the objective, or `wait`. A use case has at most one alert on
    /// each subject.
    pub(crate) const fn subject(&self) -> &'static str {
        if self.limit_ms.is_some() { "wait" } else { self.rule }
    }
}

/// The states of the moment. Every open dashboard asks for them, so they are computed again only after a new report
/// was counted, or after a while.
#[derive(Default)]
pub(crate) struct AlertCache(Mutex<Option<Cached>>);

struct Cached {
    counted_up_to: Option<i64>,
    at_ms: i64,
    states: Arc<GroupStates>,
}

impl AlertCache {
    /// `minutes_from` is the first minute with one-minute windows.
    pub(crate) fn get(
        &self,
        store: &Backend<'_>,
        config: &Config,
        minutes_from: i64,
        now_ms: i64,
    ) -> Result<Arc<GroupStates>, StoreError> {
        // Held during the computation: others wait for its result instead of computing it as well.
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counted_up_to = store.counted_up_to()?;
        if let Some(cached) = &*cached
            && cached.counted_up_to == counted_up_to
            && (0..FRESH_MS).contains(&(now_ms - cached.at_ms))
        {
            return Ok(cached.states.clone());
        }
        let states = Arc::new(evaluate(store, config, minutes_from, now_ms)?);
        *cached = Some(Cached { counted_up_to, at_ms: now_ms, states: states.clone() });
        Ok(states)
    }
}

/// Evaluates every alert and budget.
pub(crate) fn evaluate(
    store: &Backend<'_>,
    config: &Config,
    minutes_from: i64,
    now_ms: i64,
) -> Result<GroupStates, StoreError> {
    // All readers share the states: each is shown those of its own sites.
    let filter = Filter::of_sites(AllowedSites::All);
    let end = minute_of(now_ms) + 1;
    let days = config.budget_days();
    let period = i64::from(days) * DAY_MINUTES;
    let lengths = ALERT_WINDOWS.into_iter().chain([period]);
    let read = |store: &Backend<'_>, length: i64| {
        let from = end - length;
        // Before the one-minute windows there are whole hours only.
        let from = if from < minutes_from { from.div_euclid(HOUR_MINUTES) * HOUR_MINUTES } else { from };
        let query =
            WindowsQuery { filter: &filter, minutes: (from, end), longest: DAY_MINUTES, metrics: &WAITS };
        store.grouped_stats(&query, [Dimension::Site, Dimension::UseCase])
    };
    let mut windows = store.each(lengths, read)?;
    let period = windows.pop().unwrap_or_default();
    let none = WindowStats::default();
    let mut states = GroupStates::new();
    for (group, in_period) in period {
        let [site, use_case] = &group;
        let targets = config.targets(Some(site), use_case);
        let lately: Vec<_> = windows.iter().map(|by_group| by_group.get(&group).unwrap_or(&none)).collect();
        let mut alerts = burn_rate_alerts(&targets, days, &lately);
        for (alert, firing) in wait_alerts(&targets, &lately) {
            if alert.for_minutes == 0 || has_lasted(store, &group, &targets, &alert, end)? {
                alerts.push(firing);
                break;
            }
        }
        alerts.sort_by_key(|alert| alert.severity);
        let (least_budget, streams) = (least_budget(&targets, &in_period), in_period.streams());
        states.insert(group, GroupState { alerts, least_budget, streams });
    }
    Ok(states)
}

/// The most severe burn-rate alert of each objective. `lately` has the statistics of each of [`ALERT_WINDOWS`].
fn burn_rate_alerts(targets: &Targets, days: u32, lately: &[&WindowStats]) -> Vec<Alert> {
    let mut alerts = Vec::new();
    for objective in Objective::ALL {
        let Some(target) = objective.share(targets) else { continue };
        let over = |minutes| objective.sli(window(lately, minutes), targets);
        let fires = |alert: &BurnRateAlert| {
            alert.fires(days, target, over(alert.long_minutes), over(alert.short_minutes))
        };
        if let Some(alert) = BurnRateAlert::ALL.into_iter().find(fires) {
            let long = over(alert.long_minutes);
            alerts.push(Alert {
                severity: alert.severity,
                rule: objective.as_str(),
                minutes: alert.long_minutes,
                bad: long.bad(),
                total: long.total,
                burn_rate: long.burn_rate(target),
                limit_ms: None,
            });
        }
    }
    alerts
}

/// The wait alerts whose limit is exceeded over the last hour and still over the last five minutes, most urgent first.
fn wait_alerts(targets: &Targets, lately: &[&WindowStats]) -> Vec<(WaitAlert, Alert)> {
    let mut firing = Vec::new();
    for alert in WaitAlert::ALL {
        for (metric, limit_ms, rule) in alert.limits(targets) {
            let over = |minutes| SliCount::within(window(lately, minutes).histogram(metric), limit_ms);
            let hour = over(HOUR_MINUTES);
            if alert.is_exceeded(hour) && (alert.for_minutes > 0 || over(5).exceeds(alert.allowed())) {
                let (bad, total) = (hour.bad(), hour.total);
                let (severity, limit_ms) = (alert.severity, Some(limit_ms));
                let minutes = HOUR_MINUTES.max(alert.for_minutes);
                firing
                    .push((alert, Alert { severity, rule, minutes, bad, total, burn_rate: None, limit_ms }));
            }
        }
    }
    firing
}

/// Whether the hours that end in each five minutes of the past day all exceed the limit. An hour without streams
/// does not.
fn has_lasted(
    store: &Backend<'_>,
    [site, use_case]: &[String; 2],
    targets: &Targets,
    alert: &WaitAlert,
    end: i64,
) -> Result<bool, StoreError> {
    let filter =
        Filter::of_sites(AllowedSites::All).with(Dimension::Site, site).with(Dimension::UseCase, use_case);
    let slots = (alert.for_minutes + HOUR_MINUTES) / SLOT_MINUTES;
    let from = end.div_euclid(SLOT_MINUTES) * SLOT_MINUTES - slots * SLOT_MINUTES;
    let query =
        WindowsQuery { filter: &filter, minutes: (from, end), longest: SLOT_MINUTES, metrics: &WAITS };
    let limits: Vec<_> = alert.limits(targets).collect();
    let mut waits = vec![vec![SliCount::default(); slots as usize + 1]; limits.len()];
    store.windows(&query, |minute, stats| {
        let slot = ((minute - from) / SLOT_MINUTES) as usize;
        for ((metric, limit_ms, _), slots) in limits.iter().zip(&mut waits) {
            let SliCount { good, total } = SliCount::within(stats.histogram(*metric), *limit_ms);
            slots[slot].good += good;
            slots[slot].total += total;
        }
    })?;
    let hour = (HOUR_MINUTES / SLOT_MINUTES) as usize;
    let sum = |slots: &[SliCount]| SliCount {
        good: slots.iter().map(|slot| slot.good).sum(),
        total: slots.iter().map(|slot| slot.total).sum(),
    };
    Ok(waits.iter().any(|slots| slots.windows(hour).all(|slots| alert.is_exceeded(sum(slots)))))
}

fn window<'a>(lately: &[&'a WindowStats], minutes: i64) -> &'a WindowStats {
    let at = ALERT_WINDOWS.iter().position(|length| *length == minutes);
    lately[at.expect("every alert uses one of the windows")]
}

fn least_budget(targets: &Targets, in_period: &WindowStats) -> Option<(Objective, f64)> {
    let left = Objective::ALL.into_iter().filter_map(|objective| {
        let target = objective.share(targets)?;
        Some((objective, objective.sli(in_period, targets).remaining(target)?))
    });
    left.min_by(|one, other| one.1.total_cmp(&other.1))
}

/// The waits that have targets.
const WAITS: [Metric; 2] = [Metric::Ttfv, Metric::E2e];

const SLOT_MINUTES: i64 = 5;

/// Windows also change without a report: a minute passes, or a silent stream is finalized.
const FRESH_MS: i64 = 5_000;
