//! Failed and broken streams, compared with the share that a use case allows.

use super::case::{FEW, Missed};
use crate::aggregate::window_stats::{Sum, WindowStats};
use crate::config::targets::Targets;
use crate::slo::words::{grouped, percent, percent_beside, streams};
use crate::stats::binomial;

/// Streams that failed or were not intact, compared with the allowed share.
pub(super) struct Failures {
    /// The objective that they miss.
    pub(super) which: Missed,
    what: &'static str,
    count: u64,
    eligible: u64,
    allowed: Option<f64>,
    pub(super) missed: bool,
    /// Whether the share is above the allowed one with 95 % confidence.
    pub(super) proven: bool,
}

impl Failures {
    /// A failed stream is not intact either. The worse of the two results wins, and failures win a tie.
    pub(super) fn of(stats: &WindowStats, targets: &Targets) -> Self {
        let eligible = stats.eligible();
        let failed =
            Self::against((Missed::Availability, "failed"), stats.errors(), eligible, targets.availability);
        let broken = eligible.saturating_sub(stats.sum(Sum::Intact));
        let broken =
            Self::against((Missed::Integrity, "did not arrive intact"), broken, eligible, targets.integrity);
        if (broken.proven, broken.missed) > (failed.proven, failed.missed) { broken } else { failed }
    }

    fn against(
        (which, what): (Missed, &'static str),
        count: u64,
        eligible: u64,
        target: Option<f64>,
    ) -> Self {
        let allowed = target.map(|target| 1.0 - target);
        let missed = target.is_some_and(|target| (eligible - count) as f64 / (eligible as f64) < target);
        let proven =
            missed && allowed.is_some_and(|allowed| binomial::lower_bound(count, eligible) > allowed);
        Self { which, what, count, eligible, allowed, missed, proven }
    }

    pub(super) fn describe(&self, use_case: &str) -> String {
        let of_all = match self.count {
            0 if self.eligible == 1 => return "the stream did not fail".to_owned(),
            0 => return format!("none of {} failed", streams(self.eligible)),
            count => format!("{} of {} {}", grouped(count), streams(self.eligible), self.what),
        };
        let share = self.count as f64 / self.eligible as f64;
        let Some(allowed) = self.allowed.filter(|_| self.missed) else {
            return format!("{of_all} ({})", percent(share));
        };
        let share = percent_beside(share, allowed);
        // If there are few streams, the sentence already begins with that.
        let unsure = if self.proven || self.eligible < FEW { "" } else { ", not statistically significant" };
        format!("{of_all} ({share}), above the {} that {use_case} allows{unsure}", percent(allowed))
    }
}
