//! What slow, failed or abandoned streams have in common: values, and pairs of values, that occur among them more often
//! than chance allows. Definition: `docs/explain.md`.

mod bit_set;
mod comparison;
mod search;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use self::comparison::Comparison;
use self::search::{CHANCE, Search};

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
