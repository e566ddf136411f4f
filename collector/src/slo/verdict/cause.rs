//! What most of the bad streams have in common.

use schemars::JsonSchema;
use serde::Serialize;

use super::case::Missed;
use crate::aggregate::judgement::Cause;
use crate::aggregate::window_stats::WindowStats;
use crate::slo::words::{grouped, percent};

/// The most frequent cause among the bad streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct MainCause {
    /// `server_queue`, `server_compute`, `server`, `reasoning`, `network`, `main_thread`, `decode`, `not_visible`;
    /// for failures the outcome, for lost content the defect.
    cause: &'static str,
    /// Bad streams with this cause.
    streams: u64,
    /// Bad streams with any cause.
    of: u64,
    #[serde(skip)]
    what: What,
    /// The second most frequent cause of slow streams, with its number.
    #[serde(skip)]
    second: Option<(&'static str, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    SlowStreams,
    Failures,
    LostContent,
}

impl MainCause {
    /// `None` if there is no bad stream, and for a single failure.
    pub(super) fn of(missed: Missed, stats: &WindowStats) -> Option<Self> {
        let causes = |causes: Vec<(Cause, u64)>| {
            causes.into_iter().map(|(cause, count)| (cause.as_str(), count)).collect::<Vec<_>>()
        };
        let failed = stats.outcomes().filter(|(outcome, _)| outcome.is_error());
        let failed = failed.map(|(outcome, count)| (outcome.as_str(), count));
        let (what, mut counts) = match missed {
            Missed::Wait => (What::SlowStreams, causes(stats.wait_causes().collect())),
            Missed::Pace => (What::SlowStreams, causes(stats.pace_causes().collect())),
            Missed::Availability => (What::Failures, failed.collect()),
            Missed::Integrity => {
                let lost = stats.defects().filter(|(defect, _)| defect.is_loss());
                let lost = lost.map(|(defect, count)| (defect.as_str(), count));
                (What::LostContent, failed.chain(lost).collect())
            }
            Missed::Goodput => {
                let slow = causes(stats.wait_causes().chain(stats.pace_causes()).collect());
                (What::SlowStreams, merged(slow.into_iter().chain(failed)))
            }
        };
        // A stable sort: of equal counts, the first in pipeline order stays first.
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let &(cause, streams) = counts.first()?;
        let of: u64 = counts.iter().map(|(_, count)| count).sum();
        if of == 1 && what != What::SlowStreams {
            return None;
        }
        Some(Self { cause, streams, of, what, second: counts.get(1).copied() })
    }

    /// A sentence without its full stop.
    pub(super) fn describe(&self) -> String {
        let Self { cause, streams, of, what, second } = self;
        let counted = |noun: &str| format!("{} of {} {noun}", grouped(*streams), grouped(*of));
        match (what, second) {
            (What::Failures, _) => {
                format!("Most frequent failure: {} ({})", words(cause), counted("failures"))
            }
            (What::LostContent, _) => {
                format!("Most frequent reason: {} ({})", words(cause), counted("broken streams"))
            }
            (What::SlowStreams, _) if *cause == Cause::NotVisible.as_str() => {
                "Cause not visible: no server timing".to_owned()
            }
            (What::SlowStreams, Some((second, count))) if streams * 2 < *of => {
                let share = |count: u64| percent(count as f64 / *of as f64);
                let (first, second) = ((words(cause), share(*streams)), (words(second), share(*count)));
                format!("Causes: {} ({}), {} ({})", first.0, first.1, second.0, second.1)
            }
            (What::SlowStreams, _) => format!("Cause: {} ({})", words(cause), counted("slow streams")),
        }
    }
}

fn merged(counts: impl Iterator<Item = (&'static str, u64)>) -> Vec<(&'static str, u64)> {
    let mut merged: Vec<(&'static str, u64)> = Vec::new();
    for (word, count) in counts {
        match merged.iter_mut().find(|(known, _)| *known == word) {
            Some((_, known)) => *known += count,
            None => merged.push((word, count)),
        }
    }
    merged
}

/// A cause in a sentence.
fn words(cause: &str) -> String {
    let known = match cause {
        "server_queue" => "server queue",
        "server_compute" => "server compute (prefill)",
        "server" => "server (queue and prefill not told apart)",
        "reasoning" => "reasoning before the answer",
        "network" => "network or proxy",
        "main_thread" => "busy main thread of the page",
        "decode" => "decode speed",
        "not_visible" => "not visible",
        "http_error" => "HTTP error",
        other => return other.replace('_', " "),
    };
    known.to_owned()
}
