//! Missed targets beside waits and failures: pace, the speed objective, goodput, budgets and alerts.

use super::case::{Case, FEW, Level, Missed};
use crate::aggregate::metric::Metric;
use crate::aggregate::window_stats::{Sum, WindowStats};
use crate::config::targets::Targets;
use crate::slo::alert::GroupState;
use crate::slo::error_budget::{Objective, SliCount};
use crate::slo::words::{grouped, percent, percent_beside, seconds};
use crate::stats::binomial;

/// One missed target, or an alert.
pub(super) struct Finding {
    pub(super) level: Level,
    /// A sentence without its full stop.
    pub(super) text: String,
    /// `None` for budgets and alerts, which are about another period than the range.
    pub(super) missed: Option<Missed>,
}

/// The findings on a use case, most important first. `base` is its level by waits and failures.
pub(super) fn of(case: &Case<'_>, base: Level, is_slow: bool) -> Vec<Finding> {
    let Case { stats, targets, use_case, state, .. } = case;
    let mut findings: Vec<_> = pace(stats, targets, use_case).into_iter().collect();
    if !is_slow {
        findings.extend(speed(stats, targets, use_case));
    }
    // Whatever makes a stream miss its targets is a finding of its own. Goodput shows the sum of small ones.
    if findings.is_empty() && base <= Level::Good {
        findings.extend(goodput(stats, targets));
    }
    findings.extend(state.and_then(budget));
    findings
}

fn pace(stats: &WindowStats, targets: &Targets, use_case: &str) -> Option<Finding> {
    let tpot = stats.histogram(Metric::Tpot);
    let is_slow_throughout =
        tpot.quantile(0.5).zip(targets.tpot_ms).filter(|(tpot_ms, target_ms)| tpot_ms > target_ms);
    let sli = Objective::Pace.sli(stats, targets);
    let share = Share::of(sli, targets.pace);
    let text = match (is_slow_throughout, &share) {
        (Some((tpot_ms, target_ms)), _) => format!(
            "time per output token is {} (p50), above the {} target for {use_case}; {} of {} streams missed their \
             pace",
            milliseconds(tpot_ms),
            milliseconds(target_ms),
            grouped(sli.bad()),
            grouped(sli.total)
        ),
        (None, Some(share)) => {
            format!("{}{}", share.describe(&missed_pace(targets), use_case), share.doubt(stats))
        }
        (None, None) => return None,
    };
    let level = match is_slow_throughout {
        Some(_) if tpot.count() >= FEW => Level::Bad,
        Some(_) => Level::Warn,
        None => share.map_or(Level::Warn, |share| share.level()),
    };
    Some(Finding { level, text, missed: Some(Missed::Pace) })
}

fn missed_pace(targets: &Targets) -> String {
    let tpot = targets.tpot_ms.map(|ms| format!("took more than {} per token", milliseconds(ms)));
    let gap = targets.longest_gap_ms.map(|ms| format!("paused for more than {}", seconds(ms)));
    [tpot, gap].into_iter().flatten().collect::<Vec<_>>().join(" or ")
}

fn speed(stats: &WindowStats, targets: &Targets, use_case: &str) -> Option<Finding> {
    let share = Share::of(Objective::Speed.sli(stats, targets), Objective::Speed.share(targets))?;
    let (metric, within_ms) = targets.wait()?;
    let what = if metric == Metric::E2e { "ended after" } else { "showed their first token after" };
    let text = share.describe(&format!("{what} more than {}", seconds(within_ms)), use_case);
    // More than 1 % over the p95 target overspends the budget in the long run; it is no outage by itself.
    Some(Finding { level: Level::Warn, text: text + share.doubt(stats), missed: Some(Missed::Wait) })
}

fn goodput(stats: &WindowStats, targets: &Targets) -> Option<Finding> {
    let (good, total) = (stats.sum(Sum::WithinSlo), stats.eligible());
    let share = Share::of(SliCount { good, total }, targets.goodput)?;
    let text = format!(
        "goodput is {} ({} of {} streams met all targets), below the {} objective{}",
        percent_beside(good as f64 / total as f64, 1.0 - share.allowed),
        grouped(good),
        grouped(total),
        percent(1.0 - share.allowed),
        share.doubt(stats)
    );
    Some(Finding { level: share.level(), text, missed: Some(Missed::Goodput) })
}

fn budget(state: &GroupState) -> Option<Finding> {
    if let Some(alert) = state.alerts.first() {
        let level = if alert.severity.is_urgent() { Level::Bad } else { Level::Warn };
        return Some(Finding { level, text: alert.describe(), missed: None });
    }
    let (objective, left) = state.least_budget.filter(|(_, left)| *left < 0.0)?;
    let text = format!("the {} budget is overspent by {}", objective.as_str(), percent(-left));
    Some(Finding { level: Level::Warn, text, missed: None })
}

/// A share of bad streams above the allowed one.
struct Share {
    sli: SliCount,
    allowed: f64,
    /// Whether it is above the allowed one with 95 % confidence.
    proven: bool,
}

impl Share {
    /// `None` if the share is within the objective.
    fn of(sli: SliCount, objective: Option<f64>) -> Option<Self> {
        let allowed = 1.0 - objective?;
        // The objective is compared as it is written, without the rounding of a difference.
        let is_missed = sli.total > 0 && (sli.good as f64 / sli.total as f64) < objective?;
        let proven = is_missed && binomial::lower_bound(sli.bad(), sli.total) > allowed;
        is_missed.then_some(Self { sli, allowed, proven })
    }

    const fn level(&self) -> Level {
        if self.proven && self.sli.total >= FEW { Level::Bad } else { Level::Warn }
    }

    fn describe(&self, what: &str, use_case: &str) -> String {
        let Self { sli, allowed, .. } = self;
        let (bad, total) = (grouped(sli.bad()), grouped(sli.total));
        let share = percent_beside(sli.bad() as f64 / sli.total as f64, *allowed);
        format!(
            "{bad} of {total} streams {what} ({share}), above the {} that {use_case} allows",
            percent(*allowed)
        )
    }

    /// With few streams, the text begins with that already.
    fn doubt(&self, stats: &WindowStats) -> &'static str {
        if self.proven || stats.eligible() < FEW { "" } else { ", not statistically significant" }
    }
}

fn milliseconds(ms: f64) -> String {
    format!("{ms:.0} ms")
}
