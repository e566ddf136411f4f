//! The verdict: one level and a few sentences that compare a range with the targets of each site's use cases.

pub(crate) mod case;
mod cause;
mod failures;
mod findings;
pub(crate) mod trend;
mod waits;

use schemars::JsonSchema;
use serde::Serialize;

use self::case::{Case, FEW, Level, Missed};
use self::cause::MainCause;
use self::failures::Failures;
use self::waits::Speed;
use crate::aggregate::window_stats::WindowStats;
use crate::config::targets::Targets;
use crate::slo::words::{capitalised, grouped, streams, uncapitalised};
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

/// The judgement of one [`Case`].
#[derive(Debug)]
pub(crate) struct CaseVerdict {
    pub(crate) level: Level,
    text: String,
    /// The first missed target.
    pub(crate) missed: Option<Missed>,
    cause: Option<MainCause>,
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

/// What most of the streams that an alert counts as bad have in common, as a sentence without its full stop. `subject`
/// is the alert's, `stats` are of its window.
pub(crate) fn likely_cause(subject: &str, stats: &WindowStats) -> Option<String> {
    let missed = match subject {
        "availability" => Missed::Availability,
        "integrity" => Missed::Integrity,
        "pace" => Missed::Pace,
        _ => Missed::Wait,
    };
    MainCause::of(missed, stats).map(|cause| cause.describe())
}

/// Judges each use case by its own targets, in the order of `cases`.
pub(crate) fn judge_all(cases: &[Case<'_>]) -> Vec<CaseVerdict> {
    cases.iter().map(judge).collect()
}

/// The positions of the use cases, worst first.
pub(crate) fn worst_first(cases: &[Case<'_>], verdicts: &[CaseVerdict]) -> Vec<usize> {
    let ranked = |at: usize| (&cases[at], verdicts[at].level);
    let mut order: Vec<_> = (0..cases.len()).collect();
    order.sort_by(|a, b| Case::worst_first(ranked(*a), ranked(*b)));
    order
}

/// The verdict on `cases`, and the position of the one that it is about: the worst. `open` streams are in flight.
pub(crate) fn of(open: u64, cases: &[Case<'_>], verdicts: &[CaseVerdict]) -> (Verdict, Option<usize>) {
    let order = worst_first(cases, verdicts);
    let Some(worst) = order.iter().copied().find(|at| cases[*at].stats.streams() > 0) else {
        return (Verdict::new(Level::None, nothing(open)), None);
    };
    let several_sites = cases.iter().any(|case| case.site != cases[worst].site);
    let name = |at: usize| match cases[at] {
        Case { site, use_case, .. } if several_sites => format!("{site} {use_case}"),
        Case { use_case, .. } => use_case.to_owned(),
    };
    let CaseVerdict { level, text, cause, .. } = &verdicts[worst];
    let is_same = |at: &usize| *at != worst && verdicts[*at].level == *level && *level >= Level::Warn;
    let same: Vec<_> = order.into_iter().filter(is_same).map(name).collect();
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

fn judge(case: &Case<'_>) -> CaseVerdict {
    let Case { stats, use_case, targets, .. } = case;
    if stats.eligible() == 0 {
        let text = "No stream is eligible for a verdict: users ended the streams, or the probe could not see \
                    their content.";
        return CaseVerdict { level: Level::None, text: text.to_owned(), missed: None, cause: None };
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
    CaseVerdict { level, text: text.join(" "), missed, cause }
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

#[cfg(test)]
mod tests;
