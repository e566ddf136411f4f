//! Objectives of a use case, their error budgets and burn-rate alerts. Definitions: `docs/slo.md#error-budgets`.

use beacon::{Histogram, RELATIVE_ERROR};
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::window_stats::{Sum, WindowStats};
use crate::config::severity::Severity;
use crate::config::targets::Targets;
use crate::stats::binomial::wilson_bound;
use crate::time::{DAY_MINUTES, HOUR_MINUTES};

/// A property that a share of streams must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Objective {
    /// Streams end without an error.
    Availability,
    /// Streams are intact.
    Integrity,
    /// Waits are within the p95 target. The wait ends at the first visible token, or at the end of the stream
    /// if the use case has a target for that alone.
    Speed,
    /// Streams are within their targets of time per output token and longest gap.
    Pace,
}

impl Objective {
    pub(crate) const ALL: [Self; 4] = [Self::Availability, Self::Integrity, Self::Speed, Self::Pace];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Availability => "availability",
            Self::Integrity => "integrity",
            Self::Speed => "speed",
            Self::Pace => "pace",
        }
    }

    /// The target share. `None` if the use case has no such objective.
    pub(crate) fn share(self, targets: &Targets) -> Option<f64> {
        match self {
            Self::Availability => targets.availability,
            Self::Integrity => targets.integrity,
            Self::Speed => targets.speed.filter(|_| targets.wait().is_some()),
            Self::Pace => targets.pace.filter(|_| targets.tpot_ms.or(targets.longest_gap_ms).is_some()),
        }
    }

    /// The service level indicator of the objective.
    pub(crate) fn sli(self, stats: &WindowStats, targets: &Targets) -> SliCount {
        match self {
            Self::Availability => {
                SliCount { good: stats.eligible() - stats.errors(), total: stats.eligible() }
            }
            Self::Integrity => SliCount { good: stats.sum(Sum::Intact), total: stats.eligible() },
            Self::Speed => targets.wait().map_or(SliCount::default(), |(metric, within_ms)| {
                SliCount::within(stats.histogram(metric), within_ms)
            }),
            Self::Pace => SliCount { good: stats.sum(Sum::WithinPace), total: stats.sum(Sum::PaceKnown) },
        }
    }
}

/// Good and total streams of a service level indicator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SliCount {
    pub(crate) good: u64,
    pub(crate) total: u64,
}

impl SliCount {
    /// Values within a limit. Values of a bucket count as its middle, as they do in percentiles.
    pub(crate) fn within(values: &Histogram, within_ms: f64) -> Self {
        let within = values.buckets().filter(|bucket| bucket.lower * (1.0 + RELATIVE_ERROR) <= within_ms);
        Self { good: values.zero() + within.map(|bucket| bucket.count).sum::<u64>(), total: values.count() }
    }

    pub(crate) const fn bad(self) -> u64 {
        self.total - self.good
    }

    /// Whether the share of failures is above `allowed`.
    pub(crate) fn exceeds(self, allowed: f64) -> bool {
        self.bad() as f64 > allowed * self.total as f64
    }

    /// Whether there are [`ENOUGH_FAILURES`], or at least [`FEWEST_FAILURES`] whose share is above `allowed` with 95 %
    /// confidence.
    pub(crate) fn proves(self, allowed: f64) -> bool {
        // Wilson's bound, as in the Prometheus rules: both must fire for the same streams.
        let is_proven = || wilson_bound(self.bad(), self.total) > allowed;
        self.bad() >= ENOUGH_FAILURES || self.bad() >= FEWEST_FAILURES && is_proven()
    }

    /// Failure rate divided by the allowed one. At 1 the budget lasts exactly its period. `None` without
    /// streams.
    pub(crate) fn burn_rate(self, target: f64) -> Option<f64> {
        (self.total > 0).then(|| self.bad() as f64 / self.total as f64 / (1.0 - target))
    }

    /// Share of the budget that is left, below 0 when overspent. `None` without streams.
    pub(crate) fn remaining(self, target: f64) -> Option<f64> {
        self.burn_rate(target).map(|burn_rate| 1.0 - burn_rate)
    }
}

/// An alert that fires if the burn rate is too high over a long window and still too high over a short one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BurnRateAlert {
    pub(crate) severity: Severity,
    pub(crate) long_minutes: i64,
    pub(crate) short_minutes: i64,
    /// Share of the period's budget that is used up after the long window at the limit.
    share: f64,
}

impl BurnRateAlert {
    /// Most severe first.
    pub(crate) const ALL: [Self; 4] = [
        Self { severity: Severity::Page, long_minutes: HOUR_MINUTES, short_minutes: 5, share: 0.02 },
        Self { severity: Severity::Page, long_minutes: 6 * HOUR_MINUTES, short_minutes: 30, share: 0.05 },
        Self {
            severity: Severity::Incident,
            long_minutes: DAY_MINUTES,
            short_minutes: 2 * HOUR_MINUTES,
            share: 0.1,
        },
        Self {
            severity: Severity::Ticket,
            long_minutes: 3 * DAY_MINUTES,
            short_minutes: 6 * HOUR_MINUTES,
            share: 0.1,
        },
    ];

    /// The burn rate above which the alert fires, for a budget of `days` days. For a short period the
    /// computed limit may be below 1, where the objective is still met, so it is at least 1.
    pub(crate) fn rate(&self, days: u32) -> f64 {
        let rate = self.share * f64::from(days) * DAY_MINUTES as f64 / self.long_minutes as f64;
        rate.max(1.0)
    }

    /// Whether the alert can fire at all. With a low target, even a failure of all streams may stay below the
    /// limit.
    pub(crate) fn can_fire(&self, days: u32, target: f64) -> bool {
        self.rate(days) * (1.0 - target) < 1.0
    }

    /// Whether the alert fires: the failure share is too high over both windows, and not by chance alone.
    pub(crate) fn fires(&self, days: u32, target: f64, long: SliCount, short: SliCount) -> bool {
        let allowed = self.rate(days) * (1.0 - target);
        long.exceeds(allowed) && short.exceeds(allowed) && long.proves(allowed)
    }
}

/// All windows of the alerts in minutes, shortest first.
pub(crate) const ALERT_WINDOWS: [i64; 7] =
    [5, 30, HOUR_MINUTES, 2 * HOUR_MINUTES, 6 * HOUR_MINUTES, DAY_MINUTES, 3 * DAY_MINUTES];

/// This many failures are enough for an alert, however many streams there are. With fewer, the lower bound of their
/// share must exceed the limit.
pub(crate) const ENOUGH_FAILURES: u64 = 5;

/// One failure may always be chance, also if it is the only stream.
pub(crate) const FEWEST_FAILURES: u64 = 2;

#[cfg(test)]
mod tests {
    use beacon::{Outcome, StreamReport};

    use super::*;
    use crate::aggregate::judgement::Judgement;

    /// Statistics of `streams` streams, of which `slow` are slow and `cut` are truncated.
    fn stats(streams: u64, slow: u64, cut: u64) -> WindowStats {
        let mut stats = WindowStats::default();
        for n in 0..streams {
            let outcome = if n < cut { Outcome::Truncated } else { Outcome::Complete };
            let ttfv_ms = if n < slow { 2_100.0 } else { 1_900.0 };
            stats.add(
                &StreamReport { outcome, ttfv_ms: Some(ttfv_ms), ..StreamReport::new("0") },
                Judgement::default(),
            );
        }
        stats
    }

    fn remaining(objective: Objective, stats: &WindowStats) -> f64 {
        let chat = Targets::of("chat");
        objective.sli(stats, &chat).remaining(objective.share(&chat).unwrap()).unwrap()
    }

    #[test]
    fn ten_slow_streams_in_a_thousand_use_up_the_budget() {
        for (slow, left) in [(0, 1.0), (5, 0.5), (10, 0.0), (20, -1.0)] {
            let spent = remaining(Objective::Speed, &stats(1_000, slow, 0));
            assert!((spent - left).abs() < 1e-9, "{slow} slow leave {spent}");
        }
    }

    #[test]
    fn half_a_percent_of_chats_may_fail() {
        assert!((remaining(Objective::Availability, &stats(1_000, 0, 5))).abs() < 1e-9);
        assert_eq!(Objective::Integrity.share(&Targets::of("chat")), None, "nothing is promised unasked");
    }

    #[test]
    fn an_objective_without_streams_has_no_remaining_budget() {
        let chat = Targets::of("chat");
        for objective in Objective::ALL {
            assert_eq!(objective.sli(&WindowStats::default(), &chat).remaining(0.99), None);
        }
        assert_eq!(Objective::Speed.share(&Targets::of("anything")), None);
    }

    #[test]
    fn alerts_have_the_burn_rates_of_a_thirty_day_budget() {
        let rates = BurnRateAlert::ALL.map(|alert| (alert.rate(30) * 10.0).round() / 10.0);
        assert_eq!(rates, [14.4, 6.0, 3.0, 1.0]);
        for alert in BurnRateAlert::ALL {
            assert!(
                ALERT_WINDOWS.contains(&alert.long_minutes) && ALERT_WINDOWS.contains(&alert.short_minutes)
            );
        }
    }

    #[test]
    fn no_alert_fires_while_a_budget_lasts_in_any_period() {
        let rates = BurnRateAlert::ALL.map(|alert| (alert.rate(7) * 100.0).round() / 100.0);
        assert_eq!(rates, [3.36, 1.4, 1.0, 1.0]);
        let (lasts, does_not) =
            (SliCount { good: 9_900, total: 10_000 }, SliCount { good: 9_899, total: 10_000 });
        for days in [1, 7, 29, 30, 90] {
            assert!(BurnRateAlert::ALL.iter().all(|alert| !alert.fires(days, 0.99, lasts, lasts)), "{days}");
        }
        let [.., ticket] = BurnRateAlert::ALL;
        assert!(ticket.fires(7, 0.99, does_not, does_not));
    }

    #[test]
    fn a_low_objective_cannot_reach_the_fastest_burn_rate() {
        let can_fire = |days, target| BurnRateAlert::ALL.map(|alert| alert.can_fire(days, target));
        assert_eq!(can_fire(30, 0.995), [true; 4]);
        assert_eq!(can_fire(30, 0.9), [false, true, true, true]);
        assert_eq!(can_fire(365, 0.99), [false, true, true, true]);
        let none = SliCount { good: 0, total: 1_000 };
        for (alert, can_fire) in BurnRateAlert::ALL.iter().zip(can_fire(30, 0.9)) {
            assert_eq!(alert.fires(30, 0.9, none, none), can_fire, "{alert:?}");
        }
    }

    #[test]
    fn an_alert_stops_after_recovery_and_needs_evidence() {
        let [page, ..] = BurnRateAlert::ALL;
        let (bad, good) = (SliCount { good: 80, total: 100 }, SliCount { good: 100, total: 100 });
        assert!(page.fires(30, 0.99, bad, bad));
        assert!(!page.fires(30, 0.99, bad, good));
        let one_of_ten = SliCount { good: 9, total: 10 };
        assert!(!page.fires(30, 0.99, one_of_ten, one_of_ten), "one failure may be chance");
        let coding = SliCount { good: 109, total: 110 };
        assert!(BurnRateAlert::ALL.iter().all(|alert| !alert.fires(30, 0.999, coding, coding)));
        assert!(!page.fires(30, 0.99, bad, SliCount::default()));
    }
}
