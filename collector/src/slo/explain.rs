//! What slow, failed or abandoned streams have in common: values, and pairs of values, that occur among them more often
//! than chance allows. Definition: `docs/explain.md`.

mod bit_set;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use self::bit_set::BitSet;
use crate::stats::binomial::difference;
use crate::stats::hypergeometric::Hypergeometric;
use crate::stats::onset::{Onset, StepCount, onset};

/// One value of a dimension.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub(crate) struct DimensionValue {
    pub(crate) dimension: &'static str,
    pub(crate) value: String,
}

/// A value, or a pair of values, that occurs among the affected streams more often than chance allows.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Finding {
    /// One value, or two that only together have the excess.
    pub(crate) values: Vec<DimensionValue>,
    /// Values of nearly the same streams: the data cannot tell which of them is the reason.
    pub(crate) same: Vec<DimensionValue>,
    /// Values that first appeared when the affected streams became frequent, such as a release: most of them have it.
    pub(crate) began_with: Vec<DimensionValue>,
    /// Affected streams with the values, in the time of the finding.
    pub(crate) affected: u64,
    /// All streams with the values in that time.
    pub(crate) streams: u64,
    /// Share of the affected streams of that time that have the values.
    pub(crate) share_of_affected: f64,
    /// Share of the other streams of that time that have them.
    pub(crate) share_of_rest: f64,
    /// Interval with 95 % confidence of the first share minus the second.
    pub(crate) excess_lower: f64,
    pub(crate) excess_upper: f64,
    /// Start of the time in which streams were affected more often, or those with the values came at all. Absent if that
    /// is the whole range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since_ms: Option<i64>,
    /// End of that time. Absent if it lasts until the end of the range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until_ms: Option<i64>,
    /// Most frequent cause among the affected streams with the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<FindingCause>,
}

/// A cause, and the streams that it explains.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FindingCause {
    pub(crate) name: &'static str,
    pub(crate) streams: u64,
}

/// The streams of a range.
#[derive(Default)]
pub(crate) struct Streams {
    /// Numbers of the streams with each value of each dimension, in rising order.
    by_value: BTreeMap<&'static str, HashMap<String, Vec<u32>>>,
    all: Vec<Stream>,
}

struct Stream {
    ended_ms: i64,
    is_affected: bool,
    cause: Option<&'static str>,
}

impl Streams {
    /// Adds a stream. `cause` is why it is affected, as far as that is known.
    pub(crate) fn add<'a>(
        &mut self,
        ended_ms: i64,
        is_affected: bool,
        cause: Option<&'static str>,
        values: impl IntoIterator<Item = (&'static str, &'a str)>,
    ) {
        let number = self.all.len() as u32;
        for (dimension, value) in values {
            let by_value = self.by_value.entry(dimension).or_default();
            match by_value.get_mut(value) {
                Some(numbers) => numbers.push(number),
                None => _ = by_value.insert(value.to_owned(), vec![number]),
            }
        }
        self.all.push(Stream { ended_ms, is_affected, cause });
    }

    pub(crate) fn len(&self) -> u64 {
        self.all.len() as u64
    }

    pub(crate) fn affected(&self) -> u64 {
        self.all.iter().filter(|stream| stream.is_affected).count() as u64
    }

    /// The values that explain the affected streams, the strongest first. Each later one explains streams that the
    /// earlier ones do not.
    ///
    /// In an incident, streams are compared with others of the same time: otherwise everything that came up before it,
    /// such as the newest release, would look like its reason.
    pub(crate) fn findings(&self, step_ms: i64) -> Vec<Finding> {
        let candidates = self.candidates();
        let incident = self.onset(&self.numbers(|_| true), step_ms);
        let periods = match incident {
            None => vec![(self.numbers(|_| true), None)],
            Some(Onset { from, to }) => {
                // The ends of the incident are known to about two steps.
                let distance = |stream: &Stream| match stream.ended_ms {
                    at if at < from => from - at,
                    at => to.map_or(0, |to| (at + 1 - to).max(0)),
                };
                vec![
                    (self.numbers(|stream| distance(stream) == 0), incident),
                    (self.numbers(|stream| distance(stream) > 2 * step_ms), None),
                ]
            }
        };
        let search = Search {
            affected: self.numbers(|stream| stream.is_affected),
            chances: Hypergeometric::up_to(self.len()),
            ln_chance: (CHANCE / (tests(candidates.len()) * periods.len() as f64)).ln(),
        };
        let mut findings = Vec::new();
        let mut explained = BitSet::of(self.all.len(), &[]);
        for (period, incident) in periods {
            let mut rest = period.without(&explained);
            while findings.len() < MOST_FINDINGS
                && let Some(best) = search.best(&candidates, &rest)
            {
                let is_same = |(value, set): &&(DimensionValue, BitSet)| {
                    !best.values.contains(&value) && set.and(&rest).is_nearly(&best.streams)
                };
                let same = candidates.iter().filter(is_same).map(|(value, _)| value.clone()).collect();
                let having = self.having(&best.values, &candidates);
                rest = rest.without(&having);
                explained = explained.or(&having);
                let with_values = period.and(&having);
                let onset = incident.or_else(|| self.onset(&with_values, step_ms));
                let began_with = onset.map_or_else(Vec::new, |onset| {
                    let named = |value: &DimensionValue| best.values.contains(&value);
                    self.appeared_at(onset, step_ms, &with_values.and(&search.affected), &candidates, named)
                });
                let values = best.values.into_iter().cloned().collect();
                findings.push(self.finding(values, same, began_with, onset, &with_values, &period));
            }
        }
        findings
    }

    /// The values with enough streams, at most [`MOST_VALUES`] of each dimension.
    fn candidates(&self) -> Vec<(DimensionValue, BitSet)> {
        let mut candidates = Vec::new();
        for (dimension, by_value) in &self.by_value {
            let mut frequent: Vec<_> =
                by_value.iter().filter(|(_, numbers)| numbers.len() >= FEWEST).collect();
            frequent.sort_by_key(|(value, numbers)| (Reverse(numbers.len()), *value));
            candidates.extend(frequent.into_iter().take(MOST_VALUES).map(|(value, numbers)| {
                let value = DimensionValue { dimension, value: value.clone() };
                (value, BitSet::of(self.all.len(), numbers))
            }));
        }
        candidates
    }

    fn numbers(&self, is_in: impl Fn(&Stream) -> bool) -> BitSet {
        let numbers = (0..).zip(&self.all).filter(|(_, stream)| is_in(stream)).map(|(number, _)| number);
        BitSet::of(self.all.len(), &numbers.collect::<Vec<_>>())
    }

    /// The streams that have all of some values.
    fn having(&self, values: &[&DimensionValue], candidates: &[(DimensionValue, BitSet)]) -> BitSet {
        let sets = candidates.iter().filter(|(value, _)| values.contains(&value)).map(|(_, set)| set);
        sets.fold(self.numbers(|_| true), |all, set| all.and(set))
    }

    /// The figures of some values, over the streams of a period.
    fn finding(
        &self,
        values: Vec<DimensionValue>,
        same: Vec<DimensionValue>,
        began_with: Vec<DimensionValue>,
        onset: Option<Onset>,
        with_values: &BitSet,
        period: &BitSet,
    ) -> Finding {
        let is_affected = self.numbers(|stream| stream.is_affected);
        let (streams, affected) = (with_values.len(), with_values.and(&is_affected).len());
        let (all, all_affected) = (period.len(), period.and(&is_affected).len());
        let (of_affected, of_rest) = ((affected, all_affected), (streams - affected, all - all_affected));
        let (excess_lower, excess_upper) = difference(of_affected, of_rest);
        Finding {
            values,
            same,
            began_with,
            affected,
            streams,
            share_of_affected: affected as f64 / all_affected as f64,
            share_of_rest: of_rest.0 as f64 / of_rest.1 as f64,
            excess_lower,
            excess_upper,
            since_ms: onset.map(|onset| onset.from),
            until_ms: onset.and_then(|onset| onset.to),
            cause: self.main_cause(with_values),
        }
    }

    /// Values that first appeared when the affected streams became frequent, and that most of them have.
    fn appeared_at(
        &self,
        onset: Onset,
        step_ms: i64,
        affected: &BitSet,
        candidates: &[(DimensionValue, BitSet)],
        is_named: impl Fn(&DimensionValue) -> bool,
    ) -> Vec<DimensionValue> {
        let near = onset.from - step_ms..=onset.from + step_ms;
        let appeared = |(value, set): &&(DimensionValue, BitSet)| {
            let numbered = (0..).zip(&self.all).filter(|(number, _)| set.contains(*number));
            let ended = numbered.map(|(_, stream)| step_of(stream, step_ms));
            let first = ended.min();
            !is_named(value)
                && first
                    .is_some_and(|first| near.contains(&first) && self.came_late(first, set.len(), step_ms))
                && 2 * set.and(affected).len() > affected.len()
        };
        candidates.iter().filter(appeared).map(|(value, _)| value.clone()).collect()
    }

    /// Whether chance hardly explains that this many streams all came from `first` on.
    fn came_late(&self, first: i64, streams: u64, step_ms: i64) -> bool {
        let before = self.all.iter().filter(|stream| step_of(stream, step_ms) < first).count() as f64;
        streams as f64 * (-before / self.len() as f64).ln_1p() < CHANCE.ln()
    }

    /// When streams with the values were affected more often than at other times. If they were so throughout, the time
    /// since which such streams came at all.
    fn onset(&self, with_values: &BitSet, step_ms: i64) -> Option<Onset> {
        let with_values = (0..).zip(&self.all).filter(|(number, _)| with_values.contains(*number));
        let mut steps: BTreeMap<i64, StepCount> = BTreeMap::new();
        for (_, stream) in with_values {
            let at = step_of(stream, step_ms);
            let step = steps.entry(at).or_insert(StepCount { at, bad: 0, total: 0 });
            step.total += 1;
            step.bad += u64::from(stream.is_affected);
        }
        let steps: Vec<_> = steps.into_values().collect();
        let appeared = || {
            let first = steps.first()?.at;
            let streams = steps.iter().map(|step| step.total).sum();
            self.came_late(first, streams, step_ms).then_some(Onset { from: first, to: None })
        };
        onset(&steps).or_else(appeared)
    }

    fn main_cause(&self, with_values: &BitSet) -> Option<FindingCause> {
        let mut causes: BTreeMap<&'static str, u64> = BTreeMap::new();
        let streams = (0..).zip(&self.all).filter(|(number, _)| with_values.contains(*number));
        for cause in streams.filter_map(|(_, stream)| stream.cause.filter(|_| stream.is_affected)) {
            *causes.entry(cause).or_default() += 1;
        }
        let (name, streams) = causes.into_iter().max_by_key(|(_, streams)| *streams)?;
        Some(FindingCause { name, streams })
    }
}

/// Start of the step in which a stream ended.
fn step_of(stream: &Stream, step_ms: i64) -> i64 {
    stream.ended_ms.div_euclid(step_ms) * step_ms
}

/// What the tests of a search share.
struct Search {
    affected: BitSet,
    chances: Hypergeometric,
    /// Logarithm of the largest chance at which a single test counts.
    ln_chance: f64,
}

/// Values that are more frequent among the affected streams.
struct Best<'a> {
    values: Vec<&'a DimensionValue>,
    streams: BitSet,
    ln_chance: f64,
}

impl Search {
    /// The value or pair whose excess among the streams `rest` chance explains least. `None` if chance explains all.
    fn best<'a>(&self, candidates: &'a [(DimensionValue, BitSet)], rest: &BitSet) -> Option<Best<'a>> {
        let mut singles: Vec<_> = candidates
            .iter()
            .filter_map(|(value, set)| {
                let streams = set.and(rest);
                let ln_chance = self.ln_chance_of(&streams, rest)?;
                Some(Best { values: vec![value], streams, ln_chance })
            })
            .collect();
        singles.sort_by(|one, other| one.ln_chance.total_cmp(&other.ln_chance));
        singles.truncate(MOST_PAIRED);
        let mut best: Option<Best<'a>> = None;
        let beats = |best: &Option<Best<'_>>, ln_chance: f64| {
            best.as_ref().map_or(self.ln_chance, |best| best.ln_chance) > ln_chance
        };
        for (at, one) in singles.iter().enumerate() {
            let others = singles[at + 1..].iter();
            for other in others.filter(|other| other.values[0].dimension != one.values[0].dimension) {
                let streams = one.streams.and(&other.streams);
                let Some(ln_chance) = self.ln_chance_of(&streams, rest) else { continue };
                // Each value must add to the other: otherwise one of them alone is the better explanation.
                let adds_to = |alone: &Best<'_>| {
                    self.ln_chance_of(&streams, &alone.streams)
                        .is_some_and(|ln_chance| ln_chance < self.ln_chance)
                };
                if beats(&best, ln_chance) && adds_to(one) && adds_to(other) {
                    best = Some(Best { values: vec![one.values[0], other.values[0]], streams, ln_chance });
                }
            }
        }
        // A single value says the same as a pair of nearly the same streams, and is simpler.
        let is_simpler = |single: &Best<'_>| {
            single.ln_chance < self.ln_chance
                && best.as_ref().is_none_or(|best| {
                    single.ln_chance < best.ln_chance || single.streams.is_nearly(&best.streams)
                })
        };
        singles.into_iter().find(is_simpler).or(best)
    }

    /// Logarithm of the chance of so many affected streams among `streams`, a part of `within`. `None` without an
    /// excess, and with too few.
    fn ln_chance_of(&self, streams: &BitSet, within: &BitSet) -> Option<f64> {
        let (all, all_affected) = (within.len(), within.and(&self.affected).len());
        let (found, drawn) = (streams.and(&self.affected).len(), streams.len());
        let is_more = found as f64 * all as f64 > drawn as f64 * all_affected as f64;
        (found >= FEWEST as u64 && is_more).then(|| self.chances.ln_at_least(found, drawn, all_affected, all))
    }
}

/// Number of tests that a search over so many values and their pairs can make.
fn tests(values: usize) -> f64 {
    let values = values.max(1) as f64;
    values + values * (values - 1.0) / 2.0
}

/// Chance that a search blames anything although nothing differs. Each test gets an equal part of it (Bonferroni).
const CHANCE: f64 = 0.001;

/// Confidence of the findings, as a share.
pub(crate) const CONFIDENCE: f64 = 1.0 - CHANCE;

/// Fewest streams of a value, and fewest affected ones among them.
const FEWEST: usize = 5;

/// Most values of a dimension that are compared, the most frequent ones.
const MOST_VALUES: usize = 50;

/// Most values that are tried in pairs, those that chance explains least.
const MOST_PAIRED: usize = 40;

const MOST_FINDINGS: usize = 5;
