//! Whether errors and latency are up against an earlier period: one statement of four.

use schemars::JsonSchema;
use serde::Serialize;

use super::case::FEW;
use crate::aggregate::metric::Metric;
use crate::aggregate::window_stats::WindowStats;
use crate::slo::error_budget::SliCount;
use crate::slo::words::{percent, seconds};
use crate::stats::binomial::wilson_bound;

/// What is up against the comparison period.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ErrorsAndLatency {
    up: Up,
    /// The statement with both figures of both periods.
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Up {
    Both,
    Latency,
    Errors,
    Neither,
}

impl ErrorsAndLatency {
    /// `None` if one of the periods has too few streams. Both must have the wait for the first visible token and for the
    /// end.
    pub(crate) fn of(now: &WindowStats, before: &WindowStats) -> Option<Self> {
        let failed = |stats: &WindowStats| {
            let total = stats.eligible();
            SliCount { good: total - stats.errors(), total }
        };
        let waits_in = |metric: Metric| [now, before].map(|stats| stats.histogram(metric));
        let of_both = |metric: &Metric| waits_in(*metric).iter().all(|waits| waits.count() >= FEW);
        let metric = [Metric::Ttfv, Metric::E2e].into_iter().find(of_both)?;
        let [waits, waits_before] = waits_in(metric);
        let (p95_ms, before_ms) = (waits.quantile(0.95)?, waits_before.quantile(0.95)?);
        let slow_ms = before_ms * MATTERS;
        let slow = [waits, waits_before].map(|waits| SliCount::within(waits, slow_ms));
        let (errors, errors_before) = (failed(now), failed(before));
        let up = match (is_up(errors, errors_before)?, is_up(slow[0], slow[1])?) {
            (true, true) => Up::Both,
            (false, true) => Up::Latency,
            (true, false) => Up::Errors,
            (false, false) => Up::Neither,
        };
        let share = |sli: SliCount| percent(sli.bad() as f64 / sli.total as f64);
        let what = if metric == Metric::E2e { "end-to-end time" } else { "time to first visible token" };
        let mut text = format!(
            "{}: {} of the streams failed ({} before), and {what} is {} (p95, {} before).",
            up.describe(),
            share(errors),
            share(errors_before),
            seconds(p95_ms),
            seconds(before_ms)
        );
        // The figures alone would contradict the statement.
        if p95_ms > slow_ms && matches!(up, Up::Errors | Up::Neither) {
            text += &format!(" This difference may be chance: n = {} before.", waits_before.count());
        }
        Some(Self { up, text })
    }
}

impl Up {
    const fn describe(self) -> &'static str {
        match self {
            Self::Both => "Errors and latency are up",
            Self::Latency => "Latency is up; no rise of errors is shown",
            Self::Errors => "Errors are up; no rise of latency is shown",
            Self::Neither => "No rise of errors or latency is shown",
        }
    }
}

/// Whether the share of bad streams is larger than before with 95 % confidence on both sides. `None` with too few.
fn is_up(now: SliCount, before: SliCount) -> Option<bool> {
    let is_enough = now.total >= FEW && before.total >= FEW;
    let at_most_before = || 1.0 - wilson_bound(before.good, before.total);
    is_enough.then(|| wilson_bound(now.bad(), now.total) > at_most_before())
}

/// A wait is slow if it is longer than the earlier p95 by a tenth: less is no change that a user notices.
const MATTERS: f64 = 1.1;

#[cfg(test)]
mod tests {
    use beacon::{Outcome, StreamReport};
    use proptest::prelude::*;

    use super::*;
    use crate::aggregate::judgement::Judgement;

    fn stats(count: u64, failed: u64, slow: u64) -> WindowStats {
        let mut stats = WindowStats::default();
        for number in 0..count {
            let has_failed = number < failed;
            let wait_ms = if number >= count - slow { 5_150.0 } else { 800.0 };
            let report = StreamReport {
                outcome: if has_failed { Outcome::HttpError } else { Outcome::Complete },
                ttfv_ms: (!has_failed).then_some(wait_ms),
                ..StreamReport::new("0")
            };
            stats.add(&report, Judgement::default());
        }
        stats
    }

    fn trend(now: &WindowStats) -> ErrorsAndLatency {
        ErrorsAndLatency::of(now, &stats(500, 2, 5)).expect("enough streams")
    }

    #[test]
    fn each_of_the_four_statements_has_its_case() {
        for (failed, slow, up) in
            [(60, 80, Up::Both), (2, 80, Up::Latency), (60, 5, Up::Errors), (3, 6, Up::Neither)]
        {
            assert_eq!(trend(&stats(500, failed, slow)).up, up);
        }
        assert_eq!(
            trend(&stats(500, 2, 80)).text,
            "Latency is up; no rise of errors is shown: 0.4 % of the streams failed (0.4 % before), and time to first visible \
             token is 5.1 s (p95, 798 ms before)."
        );
    }

    #[test]
    fn a_difference_that_may_be_chance_is_called_so() {
        let few_before = stats(31, 1, 1);
        let found = ErrorsAndLatency::of(&stats(2_000, 10, 190), &few_before).unwrap();
        assert_eq!(found.up, Up::Neither);
        assert!(found.text.ends_with("This difference may be chance: n = 30 before."), "{}", found.text);
        let same = ErrorsAndLatency::of(&stats(500, 3, 6), &stats(500, 2, 5)).unwrap();
        assert!(!same.text.contains("chance"), "{}", same.text);
    }

    #[test]
    fn few_streams_have_no_statement() {
        assert_eq!(ErrorsAndLatency::of(&stats(29, 20, 9), &stats(500, 0, 0)), None);
        assert_eq!(ErrorsAndLatency::of(&stats(500, 20, 9), &stats(29, 0, 0)), None);
    }

    proptest! {
        #[test]
        fn a_period_is_never_up_against_itself(failed in 0..100_u64, slow in 0..100_u64) {
            let stats = stats(200, failed, slow);
            let trend = ErrorsAndLatency::of(&stats, &stats).expect("enough streams");
            prop_assert_eq!(trend.up, Up::Neither);
        }
    }
}
