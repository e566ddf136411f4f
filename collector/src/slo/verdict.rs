//! The verdict: one sentence and a severity that compare a range with the targets of its use cases.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::metric::{CensoredMetrics, Metric};
use crate::aggregate::window_stats::{Sum, WindowStats};
use crate::config::targets::Targets;
use crate::stats::binomial;
use crate::stats::kaplan_meier::CensoredWaits;

/// The one-sentence summary on the dashboard.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Verdict {
    pub(crate) level: Level,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    /// No eligible streams or no targets.
    None,
    /// All targets are met.
    Good,
    /// A target is missed, but only by few streams, among few streams, or perhaps by chance.
    Warn,
    /// A target is missed.
    Bad,
}

/// The streams and targets of a use case.
pub(crate) struct Case<'a> {
    pub(crate) use_case: &'a str,
    pub(crate) stats: &'a WindowStats,
    pub(crate) targets: Targets,
}

/// Judges each use case by its own targets. The text describes the use case with the worst level, and the
/// largest of them if several have that level.
pub(crate) fn of<'a>(open: u64, cases: impl Iterator<Item = Case<'a>>) -> Verdict {
    let cases = cases.filter(|case| case.stats.streams() > 0);
    let mut eligible: Vec<_> =
        cases.map(|case| (judge(case.stats, case.use_case, &case.targets), case)).collect();
    let alone = eligible.len() == 1;
    eligible.sort_by_key(|(verdict, case)| (verdict.level, case.stats.eligible()));
    let Some((Verdict { level, text }, case)) = eligible.pop() else {
        return Verdict { level: Level::None, text: nothing(open) };
    };
    if alone {
        return Verdict { level, text };
    }
    let missed = eligible.iter().rev().filter(|(verdict, _)| verdict.level == level && level >= Level::Warn);
    let missed: Vec<_> = missed.map(|(_, case)| case.use_case).collect();
    let others =
        if missed.is_empty() { String::new() } else { format!(" Same status: {}.", missed.join(", ")) };
    Verdict { level, text: format!("{}: {}{others}", case.use_case, uncapitalised(&text)) }
}

fn judge(stats: &WindowStats, use_case: &str, targets: &Targets) -> Verdict {
    if stats.eligible() == 0 {
        let text = "No stream is eligible for a verdict: users ended the streams, or the probe could not see \
                    their content.";
        return Verdict { level: Level::None, text: text.to_owned() };
    }
    let failures = Failures::of(stats, targets);
    let speed = Speed::of(stats, targets);
    let missed = failures.missed || speed.missed.is_some();
    let level = match speed.level() {
        _ if *targets == Targets::default() => Level::None,
        _ if missed && stats.eligible() < FEW => Level::Warn,
        _ if failures.proven => Level::Bad,
        Level::Good if failures.missed => Level::Warn,
        level => level,
    };
    let description = match (failures.missed, speed.missed.is_some()) {
        (true, true) => format!("{}, and {}", failures.describe(use_case), speed.describe(None)),
        (true, false) => format!("{}; {}", failures.describe(use_case), speed.describe(None)),
        (false, _) => format!("{}, and {}", speed.describe(Some(use_case)), failures.describe(use_case)),
    };
    let text = match stats.eligible() < FEW {
        true => format!("Low traffic ({}). {}.", streams(stats.eligible()), capitalised(&description)),
        false => format!("{}.", capitalised(&description)),
    };
    Verdict { level, text }
}

fn nothing(open: u64) -> String {
    match open {
        0 => "No streams in this period.".to_owned(),
        1 => "No stream ended in this period; 1 is in flight.".to_owned(),
        more => format!("No stream ended in this period; {} are in flight.", grouped(more)),
    }
}

/// Streams that failed or were not intact, compared with the allowed share.
struct Failures {
    what: &'static str,
    count: u64,
    eligible: u64,
    allowed: Option<f64>,
    missed: bool,
    /// Whether the share is above the allowed one with 95 % confidence.
    proven: bool,
}

impl Failures {
    /// A failed stream is not intact either. The worse of the two results wins, and failures win a tie.
    fn of(stats: &WindowStats, targets: &Targets) -> Self {
        let eligible = stats.eligible();
        let failed = Self::against("failed", stats.errors(), eligible, targets.availability);
        let broken = eligible.saturating_sub(stats.sum(Sum::Intact));
        let broken = Self::against("did not arrive intact", broken, eligible, targets.integrity);
        if (broken.proven, broken.missed) > (failed.proven, failed.missed) { broken } else { failed }
    }

    fn against(what: &'static str, count: u64, eligible: u64, target: Option<f64>) -> Self {
        let allowed = target.map(|target| 1.0 - target);
        let missed = target.is_some_and(|target| (eligible - count) as f64 / (eligible as f64) < target);
        let proven =
            missed && allowed.is_some_and(|allowed| binomial::lower_bound(count, eligible) > allowed);
        Self { what, count, eligible, allowed, missed, proven }
    }

    fn describe(&self, use_case: &str) -> String {
        let of_all = match self.count {
            0 if self.eligible == 1 => return "the stream did not fail".to_owned(),
            0 => return format!("none of {} failed", streams(self.eligible)),
            count => format!("{} of {} {}", grouped(count), streams(self.eligible), self.what),
        };
        let share = percent(self.count as f64 / self.eligible as f64);
        let Some(allowed) = self.allowed.filter(|_| self.missed) else {
            return format!("{of_all} ({share})");
        };
        // If there are few streams, the sentence already begins with that.
        let unsure = if self.proven || self.eligible < FEW { "" } else { ", not statistically significant" };
        format!("{of_all} ({share}), above the {} that {use_case} allows{unsure}", percent(allowed))
    }
}

/// Waits compared with their targets.
struct Speed {
    what: &'static str,
    p50_p95_ms: Option<(f64, f64)>,
    target_p50_ms: Option<f64>,
    target_p95_ms: Option<f64>,
    has_targets: bool,
    missed: Option<Missed>,
    hidden: Option<Hidden>,
}

/// A p95 that meets its target only because censored waits are left out.
#[derive(Clone, Copy)]
struct Hidden {
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
struct Missed {
    percentile: Percentile,
    value_ms: f64,
    target_ms: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Percentile {
    P50,
    P95,
    P99,
}

impl Speed {
    /// The worse of two waits: for the first visible token and for the end. In a tie, the first that has
    /// targets.
    fn of(stats: &WindowStats, targets: &Targets) -> Self {
        let token = Self::by(
            ("time to first visible token", Metric::Ttfv),
            stats,
            [targets.ttft_p50_ms, targets.ttft_p95_ms, targets.ttft_p99_ms],
        );
        let end = Self::by(
            ("end-to-end time", Metric::E2e),
            stats,
            [targets.e2e_p50_ms, targets.e2e_p95_ms, targets.e2e_p99_ms],
        );
        let by_end = match end.level().cmp(&token.level()) {
            Ordering::Greater => true,
            Ordering::Equal => end.has_targets && !token.has_targets,
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
    const fn level(&self) -> Level {
        match self.missed {
            Some(Missed { percentile: Percentile::P50 | Percentile::P95, .. }) => Level::Bad,
            Some(_) => Level::Warn,
            None if self.hidden.is_some() => Level::Warn,
            None => Level::Good,
        }
    }

    /// Names `use_case`, which is given if the sentence does not contain it yet.
    fn describe(&self, use_case: Option<&str>) -> String {
        let named = use_case.map(|use_case| format!(" for {use_case}")).unwrap_or_default();
        let Some((p50_ms, p95_ms)) = self.p50_p95_ms else {
            return "no stream showed a visible token".to_owned();
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

/// Formats like `1.4 s`, `149 ms` or `12 s`.
fn seconds(ms: f64) -> String {
    match ms {
        _ if ms < 999.5 => format!("{ms:.0} ms"),
        _ if ms < 9_950.0 => format!("{:.1} s", ms / 1e3),
        _ => format!("{:.0} s", ms / 1e3),
    }
}

/// Like [`seconds`], with more digits if the value would otherwise look equal to a different target.
fn seconds_beside(ms: f64, target_ms: f64) -> String {
    let exactly = |ms: f64, digits: usize| format!("{:.digits$} s", ms / 1e3);
    match seconds(ms) {
        other if other != seconds(target_ms) || ms == target_ms => other,
        _ if ms < 999.5 => format!("{ms:.1} ms"),
        _ => {
            let digits = (1..3).find(|digits| exactly(ms, *digits) != exactly(target_ms, *digits));
            exactly(ms, digits.unwrap_or(3))
        }
    }
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.095 => format!("{percent:.2} %"),
        percent => format!("{percent:.1} %"),
    }
}

fn streams(count: u64) -> String {
    match count {
        1 => "1 stream".to_owned(),
        more => format!("{} streams", grouped(more)),
    }
}

/// Formats with thousands separators: `1,900`.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn uncapitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// With fewer streams, a percentile or a share says little.
const FEW: u64 = 30;

#[cfg(test)]
mod tests;
