//! What slow, failed or abandoned streams have in common: values, and pairs of values, that occur among them more often
//! than chance allows. Definition: `docs/explain.md`.

mod bit_set;
mod comparison;
mod finding;
mod search;
mod streams;
#[cfg(test)]
mod tests;

use self::comparison::Comparison;
pub(crate) use self::finding::Finding;
use self::search::{CHANCE, Search};
pub(crate) use self::streams::Streams;

impl Streams {
    /// The values that explain the affected streams, the strongest first. Each later one explains streams that the
    /// earlier ones do not.
    pub(crate) fn findings(&self, step_ms: i64) -> Vec<Finding> {
        let comparison = Comparison::new(self, step_ms);
        let periods = comparison.periods();
        let search = Search::new(&comparison.candidates, &comparison.affected, self.len(), periods.len());
        let mut findings = Vec::new();
        let mut explained = comparison.numbers(|_| false);
        for period in periods {
            while findings.len() < MOST_FINDINGS
                && let Some(best) = search.best(&period.streams.without(&explained))
            {
                findings.push(comparison.finding(&best, &period, &explained));
                explained = explained.or(&best.having());
            }
        }
        findings
    }
}

/// Confidence of the findings, as a share.
pub(crate) const CONFIDENCE: f64 = 1.0 - CHANCE;

const MOST_FINDINGS: usize = 5;
