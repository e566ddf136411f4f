//! Searches for the value, or pair of values, whose excess among the affected streams chance explains least.

use super::bit_set::BitSet;
use super::finding::DimensionValue;
use crate::stats::hypergeometric::Hypergeometric;

/// A value, and all streams that have it.
pub(super) struct Candidate {
    pub(super) value: DimensionValue,
    pub(super) streams: BitSet,
}

pub(super) struct Search<'a> {
    candidates: &'a [Candidate],
    affected: &'a BitSet,
    chances: Hypergeometric,
    /// Logarithm of the largest chance at which a single test counts.
    ln_chance: f64,
}

/// One value or two that are more frequent among the affected streams.
pub(super) struct Best<'a> {
    first: &'a Candidate,
    second: Option<&'a Candidate>,
    /// The searched streams that have the values.
    pub(super) streams: BitSet,
    ln_chance: f64,
}

impl Best<'_> {
    pub(super) fn values(&self) -> impl Iterator<Item = &DimensionValue> {
        [self.first].into_iter().chain(self.second).map(|candidate| &candidate.value)
    }

    /// All streams that have the values.
    pub(super) fn having(&self) -> BitSet {
        let first = &self.first.streams;
        self.second.map_or_else(|| first.clone(), |second| first.and(&second.streams))
    }
}

impl<'a> Search<'a> {
    /// A search that is run over several periods of at most `most` streams in all.
    pub(super) fn new(candidates: &'a [Candidate], affected: &'a BitSet, most: u64, periods: usize) -> Self {
        let chance = CHANCE / (tests(candidates.len()) * periods as f64);
        Self { candidates, affected, chances: Hypergeometric::up_to(most), ln_chance: chance.ln() }
    }

    /// The value or pair whose excess among the streams `rest` chance explains least. `None` if chance explains all.
    pub(super) fn best(&self, rest: &BitSet) -> Option<Best<'a>> {
        let single = |candidate: &'a Candidate| {
            let streams = candidate.streams.and(rest);
            let ln_chance = self.ln_chance_of(&streams, rest)?;
            Some(Best { first: candidate, second: None, streams, ln_chance })
        };
        let mut singles: Vec<_> = self.candidates.iter().filter_map(single).collect();
        singles.sort_by(|one, other| one.ln_chance.total_cmp(&other.ln_chance));
        singles.truncate(MOST_PAIRED);
        let mut best: Option<Best<'a>> = None;
        let beats = |best: &Option<Best<'_>>, ln_chance: f64| {
            best.as_ref().map_or(self.ln_chance, |best| best.ln_chance) > ln_chance
        };
        for (at, one) in singles.iter().enumerate() {
            let others = singles[at + 1..].iter();
            for other in others.filter(|other| other.first.value.dimension != one.first.value.dimension) {
                let streams = one.streams.and(&other.streams);
                let Some(ln_chance) = self.ln_chance_of(&streams, rest) else { continue };
                // Each value must add to the other: otherwise one of them alone is the better explanation.
                let adds_to = |alone: &Best<'_>| {
                    self.ln_chance_of(&streams, &alone.streams)
                        .is_some_and(|ln_chance| ln_chance < self.ln_chance)
                };
                if beats(&best, ln_chance) && adds_to(one) && adds_to(other) {
                    best = Some(Best { first: one.first, second: Some(other.first), streams, ln_chance });
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
        let (all, all_affected) = (within.len(), within.and(self.affected).len());
        let (found, drawn) = (streams.and(self.affected).len(), streams.len());
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
pub(super) const CHANCE: f64 = 0.001;

/// Fewest streams of a value, and fewest affected ones among them.
pub(super) const FEWEST: usize = 5;

/// Most values that are tried in pairs, those that chance explains least.
const MOST_PAIRED: usize = 40;
