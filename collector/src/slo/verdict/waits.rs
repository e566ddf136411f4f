//! Percentiles of the waits, compared with their targets.

use std::cmp::Ordering;

use super::case::Level;
use crate::aggregate::metric::{CensoredMetrics, Metric};
use crate::aggregate::window_stats::WindowStats;
use crate::config::targets::Targets;
use crate::slo::words::{seconds, seconds_beside, streams};
use crate::stats::kaplan_meier::CensoredWaits;

/// Waits compared with their targets.
pub(super) struct Speed {
    what: &'static str,
    p50_p95_ms: Option<(f64, f64)>,
    target_p50_ms: Option<f64>,
    target_p95_ms: Option<f64>,
    has_targets: bool,
    pub(super) missed: Option<Missed>,
    pub(super) hidden: Option<Hidden>,
}

/// A p95 that meets its target only because censored waits are left out.
#[derive(Clone, Copy)]
pub(super) struct Hidden {
    /// The p95 with censored waits. `None` if too few streams had waited long enough to estimate it.
    p95_ms: Option<f64>,
    censored: u64,
}

impl Hidden {
    fn of(stats: &WindowStats, metric: Metric, target_p95_ms: f64) -> Option<Self> {
        let CensoredMetrics { abandoned, failed } = metric.censored()?;
        let (abandoned, failed) = (stats.histogram(abandoned), stats.histogram(failed));
        let p95_ms = CensoredWaits::new(stats.histogram(metric), [abandoned, failed]).quantile(0.95);
        let is_over = p95_ms.is_none_or(|p95_ms| p95_ms > target_p95_ms);
        is_over.then_some(Self { p95_ms, censored: abandoned.count() + failed.count() })
    }

    fn describe(self, target_ms: f64) -> String {
        let ended = streams(self.censored);
        match self.p95_ms {
            Some(p95_ms) => {
                format!(
                    "but {} (p95) if the {ended} that ended before it are included",
                    seconds_beside(p95_ms, target_ms)
                )
            }
            None => format!("but {ended} ended before it, too many to be sure"),
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Missed {
    percentile: Percentile,
    value_ms: f64,
    target_ms: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Percentile {
    P50,
    P95,
    P99,
}

impl Speed {
    /// The worse of two waits: for the first visible token and for the end. In a tie, the first that has
    /// targets, and without targets the first that has values: a whole JSON response has only an end.
    pub(super) fn of(stats: &WindowStats, targets: &Targets) -> Self {
        let token = Self::by(
            (FIRST_TOKEN, Metric::Ttfv),
            stats,
            [targets.ttft_p50_ms, targets.ttft_p95_ms, targets.ttft_p99_ms],
        );
        let end =
            Self::by((END, Metric::E2e), stats, [targets.e2e_p50_ms, targets.e2e_p95_ms, targets.e2e_p99_ms]);
        let by_end = match end.level().cmp(&token.level()) {
            Ordering::Greater => true,
            Ordering::Equal => !token.has_targets && (end.has_targets || token.p50_p95_ms.is_none()),
            Ordering::Less => false,
        };
        if by_end { end } else { token }
    }

    fn by((what, metric): (&'static str, Metric), stats: &WindowStats, limits: [Option<f64>; 3]) -> Self {
        let waits = stats.histogram(metric);
        let missed = |percentile, q, target: Option<f64>| {
            let (value_ms, target_ms) = (waits.quantile(q)?, target?);
            (value_ms > target_ms).then_some(Missed { percentile, value_ms, target_ms })
        };
        let p50_p95_ms = waits.quantile(0.5).zip(waits.quantile(0.95));
        let kept = limits[1].filter(|limit| p50_p95_ms.is_some_and(|(_, p95_ms)| p95_ms <= *limit));
        Self {
            what,
            p50_p95_ms,
            target_p50_ms: limits[0],
            target_p95_ms: limits[1],
            has_targets: limits.iter().any(Option::is_some),
            missed: missed(Percentile::P95, 0.95, limits[1])
                .or_else(|| missed(Percentile::P50, 0.5, limits[0]))
                .or_else(|| missed(Percentile::P99, 0.99, limits[2])),
            hidden: kept.and_then(|limit_ms| Hidden::of(stats, metric, limit_ms)),
        }
    }

    /// Level by the waits alone.
    pub(super) const fn level(&self) -> Level {
        match self.missed {
            Some(Missed { percentile: Percentile::P50 | Percentile::P95, .. }) => Level::Bad,
            Some(_) => Level::Warn,
            None if self.hidden.is_some() => Level::Warn,
            None => Level::Good,
        }
    }

    /// Names `use_case`, which is given if the sentence does not contain it yet.
    pub(super) fn describe(&self, use_case: Option<&str>) -> String {
        let named = use_case.map(|use_case| format!(" for {use_case}")).unwrap_or_default();
        let Some((p50_ms, p95_ms)) = self.p50_p95_ms else {
            let nothing = match self.what {
                END if self.has_targets => "no stream has an end-to-end time",
                _ => "no stream showed a visible token",
            };
            return nothing.to_owned();
        };
        let p50 = seconds_beside(p50_ms, self.target_p50_ms.unwrap_or(p50_ms));
        let p95 = match (self.target_p50_ms, seconds(p95_ms)) {
            // Rounded, p95 would look smaller than the more precisely printed p50.
            (Some(target_ms), same) if same == seconds(p50_ms) && p50 != same => {
                seconds_beside(p95_ms, target_ms)
            }
            _ => seconds_beside(p95_ms, self.target_p95_ms.unwrap_or(p95_ms)),
        };
        let waits = format!("{} is {p50} (p50) and {p95} (p95)", self.what);
        match (self.missed, self.target_p95_ms) {
            (Some(Missed { percentile: Percentile::P95, target_ms, .. }), _) => {
                format!("{waits}, above the {} p95 target{named}", seconds(target_ms))
            }
            (Some(Missed { percentile: Percentile::P50, target_ms, .. }), _) => {
                format!("{waits}, above the {} p50 target{named}", seconds(target_ms))
            }
            (Some(Missed { percentile: Percentile::P99, value_ms, target_ms }), _) => format!(
                "{waits}, but {} (p99), above the {} p99 target{named}",
                seconds_beside(value_ms, target_ms),
                seconds(target_ms)
            ),
            (None, Some(target_ms)) => {
                let hidden = self.hidden.map(|hidden| format!(", {}", hidden.describe(target_ms)));
                let within = format!("{waits}, within the {} p95 target{named}", seconds(target_ms));
                within + &hidden.unwrap_or_default()
            }
            (None, None) => match use_case {
                Some(use_case) => format!("{waits} ({use_case} has no target for it)"),
                None => waits,
            },
        }
    }
}

const FIRST_TOKEN: &str = "time to first visible token";
const END: &str = "end-to-end time";
