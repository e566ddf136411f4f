//! One sentence on how users fare: tallies and targets of use cases come in, goes out what a person on duty
//! would say after a look at the figures, and how bad it is.

use schemars::JsonSchema;
use serde::Serialize;

use crate::slo::Targets;
use crate::tally::{Metric, Tally};

/// What the first screen says.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Verdict {
    pub(crate) level: Level,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    /// Nothing to judge, or nothing to judge it by.
    None,
    /// Every target is met.
    Good,
    /// A target is missed by few, among few, or perhaps by chance.
    Warn,
    /// A target is missed.
    Bad,
}

/// A use case's streams, and what they are judged by.
pub(crate) struct Case<'a> {
    pub(crate) use_case: &'a str,
    pub(crate) tally: &'a Tally,
    pub(crate) targets: Targets,
}

/// Judges a range: each use case by its own targets. What is said is of the one that fares worst, and of the
/// largest of those that fare alike.
pub(crate) fn of<'a>(open: u64, cases: impl Iterator<Item = Case<'a>>) -> Verdict {
    let cases = cases.filter(|case| case.tally.streams() > 0);
    let mut judged: Vec<_> =
        cases.map(|case| (judge(case.tally, case.use_case, &case.targets), case)).collect();
    let alone = judged.len() == 1;
    judged.sort_by_key(|(verdict, case)| (verdict.level, case.tally.judged()));
    let Some((Verdict { level, text }, case)) = judged.pop() else {
        return Verdict { level: Level::None, text: nothing(open) };
    };
    if alone {
        return Verdict { level, text };
    }
    let missed = judged.iter().rev().filter(|(verdict, _)| verdict.level == level && level >= Level::Warn);
    let missed: Vec<_> = missed.map(|(_, case)| case.use_case).collect();
    let others =
        if missed.is_empty() { String::new() } else { format!(" As badly off: {}.", missed.join(", ")) };
    Verdict { level, text: format!("{}: {}{others}", case.use_case, uncapitalised(&text)) }
}

fn judge(tally: &Tally, use_case: &str, targets: &Targets) -> Verdict {
    if tally.judged() == 0 {
        let text =
            "None of the streams can be judged: their users ended them, or their content could not be seen.";
        return Verdict { level: Level::None, text: text.to_owned() };
    }
    let failures = Failures::of(tally, targets);
    let speed = Speed::of(tally, targets);
    let missed = failures.missed || speed.missed.is_some();
    let level = match speed.missed {
        _ if *targets == Targets::default() => Level::None,
        _ if missed && tally.judged() < FEW => Level::Warn,
        _ if failures.proven => Level::Bad,
        Some(Missed { percentile: Percentile::P50 | Percentile::P95, .. }) => Level::Bad,
        Some(_) => Level::Warn,
        None if failures.missed => Level::Warn,
        None => Level::Good,
    };
    let told = match (failures.missed, speed.missed.is_some()) {
        (true, true) => format!("{}, and {}", failures.told(use_case), speed.told(None)),
        (true, false) => format!("{}; {}", failures.told(use_case), speed.told(None)),
        (false, _) => format!("{}, and {}", speed.told(Some(use_case)), failures.told(use_case)),
    };
    let text = match tally.judged() < FEW {
        true => format!("Only {}, too few to be sure: {told}.", streams(tally.judged())),
        false => format!("{}.", capitalised(&told)),
    };
    Verdict { level, text }
}

fn nothing(open: u64) -> String {
    match open {
        0 => "No streams in this period.".to_owned(),
        1 => "No stream has ended in this period; one is running.".to_owned(),
        more => format!("No stream has ended in this period; {} are running.", grouped(more)),
    }
}

/// How many streams failed, against how many may.
struct Failures {
    count: u64,
    judged: u64,
    allowed: Option<f64>,
    missed: bool,
    /// Chance alone would not make so many of a service that allows as many as may be.
    proven: bool,
}

impl Failures {
    fn of(tally: &Tally, targets: &Targets) -> Self {
        let (count, judged) = (tally.errors(), tally.judged());
        let allowed = targets.availability.map(|target| 1.0 - target);
        let missed =
            targets.availability.is_some_and(|target| (judged - count) as f64 / (judged as f64) < target);
        let proven = missed && allowed.is_some_and(|allowed| at_least(count, judged) > allowed);
        Self { count, judged, allowed, missed, proven }
    }

    fn told(&self, use_case: &str) -> String {
        let of_all = match self.count {
            0 if self.judged == 1 => return "it did not fail".to_owned(),
            0 => return format!("none of {} failed", streams(self.judged)),
            count => format!("{} of {} failed", grouped(count), streams(self.judged)),
        };
        let share = percent(self.count as f64 / self.judged as f64);
        let Some(allowed) = self.allowed.filter(|_| self.missed) else {
            return format!("{of_all} ({share})");
        };
        // Where all is few, the sentence begins with it.
        let unsure = if self.proven || self.judged < FEW { "" } else { ", but too few to tell" };
        format!("{of_all} ({share}), more than the {} that {use_case} allows{unsure}", percent(allowed))
    }
}

/// How long users wait, against how long they should.
struct Speed {
    doing: &'static str,
    p50_p95_ms: Option<(f64, f64)>,
    target_p95_ms: Option<f64>,
    missed: Option<Missed>,
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
    /// By the wait for the first visible token, or, where a use case has targets for the end alone,
    /// by the wait for the end.
    fn of(tally: &Tally, targets: &Targets) -> Self {
        let by_end = targets.ttft_p95_ms.is_none() && targets.e2e_p95_ms.is_some();
        let (doing, metric, limits) = match by_end {
            true => (
                "for the end of an answer",
                Metric::E2e,
                [targets.e2e_p50_ms, targets.e2e_p95_ms, targets.e2e_p99_ms],
            ),
            false => (
                "for the first visible token",
                Metric::Ttfv,
                [targets.ttft_p50_ms, targets.ttft_p95_ms, targets.ttft_p99_ms],
            ),
        };
        let waits = tally.histogram(metric);
        let missed = |percentile, q, target: Option<f64>| {
            let (value_ms, target_ms) = (waits.quantile(q)?, target?);
            (value_ms > target_ms).then_some(Missed { percentile, value_ms, target_ms })
        };
        Self {
            doing,
            p50_p95_ms: waits.quantile(0.5).zip(waits.quantile(0.95)),
            target_p95_ms: limits[1],
            missed: missed(Percentile::P95, 0.95, limits[1])
                .or_else(|| missed(Percentile::P50, 0.5, limits[0]))
                .or_else(|| missed(Percentile::P99, 0.99, limits[2])),
        }
    }

    /// The use case is named where the sentence has not named it yet.
    fn told(&self, use_case: Option<&str>) -> String {
        let named = use_case.map(|use_case| format!(" for {use_case}")).unwrap_or_default();
        let Some((p50_ms, p95_ms)) = self.p50_p95_ms else {
            return "no stream showed a visible token".to_owned();
        };
        let near = self.target_p95_ms.unwrap_or(p95_ms);
        let waits = format!(
            "users wait {} (p50) and {} (p95) {}",
            seconds(p50_ms),
            seconds_beside(p95_ms, near),
            self.doing
        );
        match (self.missed, self.target_p95_ms) {
            (Some(Missed { percentile: Percentile::P95, target_ms, .. }), _) => {
                format!("{waits}, over the {} target{named}", seconds(target_ms))
            }
            (Some(Missed { percentile: Percentile::P50, target_ms, .. }), _) => {
                format!("{waits}, over the {} target for half of them{named}", seconds(target_ms))
            }
            (Some(Missed { percentile: Percentile::P99, value_ms, target_ms }), _) => format!(
                "{waits}, but the slowest 1 % wait {} and more, over the {} target{named}",
                seconds_beside(value_ms, target_ms),
                seconds(target_ms)
            ),
            (None, Some(target_ms)) => format!("{waits}, within the {} target{named}", seconds(target_ms)),
            (None, None) => match use_case {
                Some(use_case) => format!("{waits} ({use_case} has no target for it)"),
                None => waits,
            },
        }
    }
}

/// The share that so many of `all` stand for at least, with 95 % confidence: Wilson's lower bound.
pub(crate) fn at_least(count: u64, all: u64) -> f64 {
    let (all, share) = (all as f64, count as f64 / all as f64);
    let spread = (share * (1.0 - share) / all + Z * Z / (4.0 * all * all)).sqrt();
    (share + Z * Z / (2.0 * all) - Z * spread) / (1.0 + Z * Z / all)
}

/// `1.4 s`, `85 ms`, `12 s`.
fn seconds(ms: f64) -> String {
    match ms {
        _ if ms < 99.5 => format!("{ms:.0} ms"),
        _ if ms < 9_950.0 => format!("{:.1} s", ms / 1e3),
        _ => format!("{:.0} s", ms / 1e3),
    }
}

/// The same, with one more digit where it would read like the target that it is not.
fn seconds_beside(ms: f64, target_ms: f64) -> String {
    if seconds(ms) != seconds(target_ms) || ms == target_ms {
        return seconds(ms);
    }
    format!("{:.2} s", ms / 1e3)
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

/// `1,900`.
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

/// 5 % of a normal distribution lie above so many standard deviations.
const Z: f64 = 1.645;
/// Below this many streams a percentile or a share says little.
const FEW: u64 = 30;

#[cfg(test)]
mod tests;
