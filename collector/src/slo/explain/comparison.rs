//! The streams of a range under comparison: the times in which they are compared, and the figures of a finding.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::bit_set::BitSet;
use super::finding::{DimensionValue, Finding, FindingCause};
use super::search::{Best, CHANCE, Candidate, FEWEST};
use super::streams::{Stream, Streams};
use crate::stats::binomial::difference;
use crate::stats::onset::{Onset, StepCount, appeared_late, onset};

pub(super) struct Comparison<'a> {
    streams: &'a Streams,
    step_ms: i64,
    pub(super) candidates: Vec<Candidate>,
    pub(super) affected: BitSet,
}

/// Streams that are compared with one another.
pub(super) struct Period {
    pub(super) streams: BitSet,
    /// The incident of which these are all streams.
    incident: Option<Onset>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(streams: &'a Streams, step_ms: i64) -> Self {
        let mut comparison =
            Self { streams, step_ms, candidates: candidates(streams), affected: BitSet::of(0, &[]) };
        comparison.affected = comparison.numbers(|stream| stream.is_affected);
        comparison
    }

    pub(super) fn numbers(&self, is_in: impl Fn(&Stream) -> bool) -> BitSet {
        let numbered = (0..).zip(&self.streams.all);
        let numbers = numbered.filter(|(_, stream)| is_in(stream)).map(|(number, _)| number);
        BitSet::of(self.streams.all.len(), &numbers.collect::<Vec<_>>())
    }

    /// The incident, and the other times. Without an incident, the whole range.
    ///
    /// In an incident, streams are compared with others of the same time: otherwise each value that appeared before it,
    /// such as the newest release, would look like its reason.
    pub(super) fn periods(&self) -> Vec<Period> {
        let all = self.numbers(|_| true);
        let Some(incident) = self.onset(&all) else {
            return vec![Period { streams: all, incident: None }];
        };
        let distance = |stream: &Stream| match stream.ended_ms {
            at if at < incident.from => incident.from - at,
            at => incident.to.map_or(0, |to| (at + 1 - to).max(0)),
        };
        let within = self.numbers(|stream| distance(stream) == 0);
        // The ends of the incident are known to about two steps.
        let apart = self.numbers(|stream| distance(stream) > 2 * self.step_ms);
        vec![Period { streams: within, incident: Some(incident) }, Period { streams: apart, incident: None }]
    }

    /// The figures in `period` of the values that a search without the `explained` streams found best.
    pub(super) fn finding(&self, best: &Best<'_>, period: &Period, explained: &BitSet) -> Finding {
        let rest = period.streams.without(explained);
        let is_same = |candidate: &&Candidate| {
            !names(best, candidate) && candidate.streams.and(&rest).is_nearly(&best.streams)
        };
        let having = period.streams.and(&best.having());
        let onset = period.incident.or_else(|| self.onset(&having));
        let began_with = onset.map_or_else(Vec::new, |onset| self.appeared_at(onset, best, &having));
        let (streams, affected) = self.counts(&having);
        let (all, all_affected) = self.counts(&period.streams);
        let (of_affected, of_rest) = ((affected, all_affected), (streams - affected, all - all_affected));
        let (excess_lower, excess_upper) = difference(of_affected, of_rest);
        Finding {
            values: best.values().cloned().collect(),
            same: self.candidates.iter().filter(is_same).map(|same| same.value.clone()).collect(),
            began_with,
            affected,
            streams,
            share_of_affected: affected as f64 / all_affected as f64,
            share_of_rest: of_rest.0 as f64 / of_rest.1 as f64,
            excess_lower,
            excess_upper,
            since_ms: onset.map(|onset| onset.from),
            until_ms: onset.and_then(|onset| onset.to),
            cause: self.main_cause(&having),
        }
    }

    /// All of some streams, and the affected ones.
    fn counts(&self, streams: &BitSet) -> (u64, u64) {
        (streams.len(), streams.and(&self.affected).len())
    }

    fn members(&self, set: &BitSet) -> impl Iterator<Item = &Stream> {
        (0..).zip(&self.streams.all).filter(|(number, _)| set.contains(*number)).map(|(_, stream)| stream)
    }

    /// Start of the step in which a stream ended.
    fn step_of(&self, stream: &Stream) -> i64 {
        stream.ended_ms.div_euclid(self.step_ms) * self.step_ms
    }

    /// Values, other than the best ones, that first appeared when the affected streams became frequent, and that most
    /// of them have.
    fn appeared_at(&self, onset: Onset, best: &Best<'_>, having: &BitSet) -> Vec<DimensionValue> {
        let near = onset.from - self.step_ms..=onset.from + self.step_ms;
        let affected = having.and(&self.affected);
        let appeared = |candidate: &&Candidate| {
            let first = self.members(&candidate.streams).map(|stream| self.step_of(stream)).min();
            !names(best, candidate)
                && first.is_some_and(|first| {
                    near.contains(&first) && self.came_late(first, candidate.streams.len())
                })
                && 2 * candidate.streams.and(&affected).len() > affected.len()
        };
        self.candidates.iter().filter(appeared).map(|candidate| candidate.value.clone()).collect()
    }

    /// Whether chance hardly explains that so many streams all came from the step `first` on.
    fn came_late(&self, first: i64, streams: u64) -> bool {
        let earlier = self.streams.all.iter().filter(|stream| self.step_of(stream) < first).count();
        appeared_late(streams, earlier as u64, self.streams.len(), CHANCE)
    }

    /// When the streams of a set were affected more often than at other times. If they were so throughout, the time
    /// since which such streams came at all.
    fn onset(&self, set: &BitSet) -> Option<Onset> {
        let mut steps: BTreeMap<i64, StepCount> = BTreeMap::new();
        for stream in self.members(set) {
            let at = self.step_of(stream);
            let step = steps.entry(at).or_insert(StepCount { at, bad: 0, total: 0 });
            step.total += 1;
            step.bad += u64::from(stream.is_affected);
        }
        let steps: Vec<_> = steps.into_values().collect();
        let appeared = || {
            let first = steps.first()?.at;
            self.came_late(first, set.len()).then_some(Onset { from: first, to: None })
        };
        onset(&steps).or_else(appeared)
    }

    fn main_cause(&self, having: &BitSet) -> Option<FindingCause> {
        let mut causes: BTreeMap<&'static str, u64> = BTreeMap::new();
        for cause in self.members(&having.and(&self.affected)).filter_map(|stream| stream.cause) {
            *causes.entry(cause).or_default() += 1;
        }
        let (name, streams) = causes.into_iter().max_by_key(|(_, streams)| *streams)?;
        Some(FindingCause { name, streams })
    }
}

fn names(best: &Best<'_>, candidate: &Candidate) -> bool {
    best.values().any(|value| *value == candidate.value)
}

/// The values with enough streams, at most [`MOST_VALUES`] of each dimension.
fn candidates(streams: &Streams) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for (dimension, by_value) in &streams.by_value {
        let mut frequent: Vec<_> = by_value.iter().filter(|(_, numbers)| numbers.len() >= FEWEST).collect();
        frequent.sort_by_key(|(value, numbers)| (Reverse(numbers.len()), *value));
        candidates.extend(frequent.into_iter().take(MOST_VALUES).map(|(value, numbers)| Candidate {
            value: DimensionValue { dimension: dimension.clone(), value: value.clone() },
            streams: BitSet::of(streams.all.len(), numbers),
        }));
    }
    candidates
}

/// Most values of a dimension that are compared, the most frequent ones.
const MOST_VALUES: usize = 50;
