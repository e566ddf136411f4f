//! The verdict: one level and a few sentences that compare a range with the targets of each site's use cases.

mod cause;
mod failures;
mod findings;
mod waits;
mod words;

use schemars::JsonSchema;
use serde::Serialize;

use self::cause::MainCause;
use self::failures::Failures;
use self::waits::Speed;
use self::words::{capitalised, grouped, streams, uncapitalised};
use crate::aggregate::window_stats::WindowStats;
use crate::config::targets::Targets;
use crate::slo::alert::GroupState;
use crate::stats::onset::Onset;

/// The summary at the top of the dashboard.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Verdict {
    pub(crate) level: Level,
    pub(crate) text: String,
    /// Site that the text is about. Absent without streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) site: Option<String>,
    /// Use case that the text is about. Absent without streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) use_case: Option<String>,
    /// What most of the bad streams have in common. Absent if no target is missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<MainCause>,
    /// First minute in which bad streams became more frequent. Absent if they were so in the whole range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since_ms: Option<i64>,
    /// End of the last minute in which they were. Absent if they still are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until_ms: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "VerdictLevel")]
pub(crate) enum Level {
    /// No eligible streams or no targets.
    None,
    /// All targets are met, and no alert fires.
    Good,
    /// A target is missed, but only by few streams, among few streams, or perhaps by chance; or a budget is
    /// overspent.
    Warn,
    /// A target is missed, or an urgent alert fires.
    Bad,
}

/// The streams of one use case of a site, and what they are compared with.
pub(crate) struct Case<'a> {
    pub(crate) site: &'a str,
    pub(crate) use_case: &'a str,
    pub(crate) stats: &'a WindowStats,
    pub(crate) targets: Targets,
    /// Its alerts and budgets. `None` if no stream of it ended in the period of the budgets.
    pub(crate) state: Option<&'a GroupState>,
}

/// The judgement of one [`Case`].
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) level: Level,
    text: String,
    /// The first missed target.
    pub(crate) missed: Option<Missed>,
    cause: Option<MainCause>,
}

/// Which streams a missed target counts as bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missed {
    /// Those whose wait was above its p95 target.
    Wait,
    /// Those that missed their pace.
    Pace,
    /// Those that failed.
    Availability,
    /// Those that were not intact.
    Integrity,
    /// Those that were not within SLO.
    Goodput,
}

impl Verdict {
    const fn new(level: Level, text: String) -> Self {
        Self { level, text, site: None, use_case: None, cause: None, since_ms: None, until_ms: None }
    }

    /// Adds when bad streams became more frequent.
    pub(crate) fn with_onset(self, onset: Option<Onset>) -> Self {
        let (since_ms, until_ms) = onset.map_or((None, None), |onset| (Some(onset.from), onset.to));
        Self { since_ms, until_ms, ..self }
    }
}

/// Judges each use case by its own targets, in the order of `cases`.
pub(crate) fn judge_all(cases: &[Case<'_>]) -> Vec<Judged> {
    cases.iter().map(judge).collect()
}

/// The verdict on `cases`, and the position of the one that it is about: the worst, and the largest of those. `open`
/// streams are in flight.
pub(crate) fn of(open: u64, cases: &[Case<'_>], judged: &[Judged]) -> (Verdict, Option<usize>) {
    let rank = |at: &usize| (judged[*at].level, cases[*at].stats.eligible());
    let with_streams = (0..cases.len()).filter(|at| cases[*at].stats.streams() > 0);
    let Some(worst) = with_streams.max_by_key(rank) else {
        return (Verdict::new(Level::None, nothing(open)), None);
    };
    let several_sites = cases.iter().any(|case| case.site != cases[worst].site);
    let name = |at: usize| match cases[at] {
        Case { site, use_case, .. } if several_sites => format!("{site} {use_case}"),
        Case { use_case, .. } => use_case.to_owned(),
    };
    let Judged { level, text, cause, .. } = &judged[worst];
    let mut same: Vec<_> =
        (0..cases.len()).filter(|at| *at != worst && judged[*at].level == *level).collect();
    same.sort_by_key(|at| std::cmp::Reverse(cases[*at].stats.eligible()));
    let same: Vec<_> = same.into_iter().filter(|_| *level >= Level::Warn).map(name).collect();
    let text = match cases.len() {
        1 => text.clone(),
        _ if same.is_empty() => format!("{}: {}", name(worst), uncapitalised(text)),
        _ => format!("{}: {} Same status: {}.", name(worst), uncapitalised(text), same.join(", ")),
    };
    let verdict = Verdict {
        site: Some(cases[worst].site.to_owned()),
        use_case: Some(cases[worst].use_case.to_owned()),
        cause: cause.clone(),
        ..Verdict::new(*level, text)
    };
    (verdict, Some(worst))
}

fn judge(case: &Case<'_>) -> Judged {
    let Case { stats, use_case, targets, .. } = case;
    if stats.eligible() == 0 {
        let text = "No stream is eligible for a verdict: users ended the streams, or the probe could not see \
                    their content.";
        return Judged { level: Level::None, text: text.to_owned(), missed: None, cause: None };
    }
    let failures = Failures::of(stats, targets);
    let speed = Speed::of(stats, targets);
    let base = base_level(stats, targets, &failures, &speed);
    let findings = findings::of(case, base, speed.missed.is_some());
    let mut level = base.max(findings.iter().map(|finding| finding.level).max().unwrap_or(base));
    if stats.eligible() < FEW && findings.iter().all(|finding| finding.missed.is_some()) {
        level = level.min(Level::Warn);
    }
    let missed = match (failures.missed, speed.missed.is_some()) {
        (true, _) if failures.proven => Some(failures.which),
        (_, true) => Some(Missed::Wait),
        (true, false) => Some(failures.which),
        (false, false) => findings.iter().find_map(|finding| finding.missed),
    };
    let cause = missed.filter(|_| level >= Level::Warn).and_then(|missed| MainCause::of(missed, stats));
    let description = match (failures.missed, speed.missed.is_some()) {
        (true, true) => format!("{}, and {}", failures.describe(use_case), speed.describe(None)),
        (true, false) => format!("{}; {}", failures.describe(use_case), speed.describe(None)),
        (false, _) => format!("{}, and {}", speed.describe(Some(use_case)), failures.describe(use_case)),
    };
    let mut sentences: Vec<_> = findings.into_iter().map(|finding| finding.text).collect();
    let describes_a_miss = base > Level::Good;
    sentences.insert(if describes_a_miss { 0 } else { sentences.len() }, description);
    if stats.eligible() < FEW {
        sentences.insert(0, format!("Low traffic ({})", streams(stats.eligible())));
    }
    sentences.extend(cause.as_ref().map(MainCause::describe));
    let text: Vec<_> = sentences.iter().map(|sentence| format!("{}.", capitalised(sentence))).collect();
    Judged { level, text: text.join(" "), missed, cause }
}

/// The level by waits and failures alone.
fn base_level(stats: &WindowStats, targets: &Targets, failures: &Failures, speed: &Speed) -> Level {
    match speed.level() {
        _ if *targets == Targets::default() => Level::None,
        _ if (failures.missed || speed.missed.is_some()) && stats.eligible() < FEW => Level::Warn,
        _ if failures.proven => Level::Bad,
        Level::Good if failures.missed => Level::Warn,
        level => level,
    }
}

fn nothing(open: u64) -> String {
    match open {
        0 => "No streams in this period.".to_owned(),
        1 => "No stream ended in this period; 1 is in flight.".to_owned(),
        more => format!("No stream ended in this period; {} are in flight.", grouped(more)),
    }
}

/// With fewer streams, a percentile or a share says little.
const FEW: u64 = 30;

#[cfg(test)]
mod tests;
