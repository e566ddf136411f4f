//! Buckets of a Prometheus native histogram of schema 3, eight per doubling, for values in seconds.

use beacon::{SCALE, index_of};
use serde::{Deserialize, Serialize};

/// Counts per bucket. Prometheus' bucket `n` holds values in `(2^((n-1)/8), 2^(n/8)]` seconds.
///
/// Eight per doubling, 9.05 % wide, is the usual choice of Prometheus' own client libraries. A series from 10
/// ms to a minute takes 100 of their 160 buckets, and can be summed with theirs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NativeHistogram {
    zero: u64,
    /// Bucket number of `counts[0]`; meaningless while `counts` is empty.
    first: i32,
    counts: Vec<u64>,
}

impl NativeHistogram {
    /// Counts a finite value `times` times.
    pub(crate) fn add(&mut self, seconds: f64, times: u64) {
        if times == 0 {
            return;
        }
        if seconds <= 0.0 {
            self.zero += times;
            return;
        }
        // Exact, in units of 1/1024 s: the scale of the report's histograms ends at about 0.001 of a unit,
        // and inter-chunk latencies may be shorter than a thousandth of a second.
        let fine = index_of(seconds * 1_024.0) - (10 << SCALE);
        *self.slot((fine >> FOLDED) + 1) += times;
    }

    /// Memory of its counts.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.counts)
    }

    /// Number of values of zero.
    pub(crate) const fn zero(&self) -> u64 {
        self.zero
    }

    /// Runs of adjacent non-empty buckets: the number of the first bucket, and the counts.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (i32, &[u64])> {
        let mut at = 0;
        self.counts.split(|count| *count == 0).filter_map(move |run| {
            let first = self.first + at;
            at += run.len() as i32 + 1;
            (!run.is_empty()).then_some((first, run))
        })
    }

    fn slot(&mut self, number: i32) -> &mut u64 {
        if self.counts.is_empty() {
            self.first = number;
        }
        if number < self.first {
            let more = (self.first - number) as usize;
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
            self.first = number;
        }
        let at = (number - self.first) as usize;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        &mut self.counts[at]
    }
}

/// The schema of the buckets, as Prometheus names it: `2^SCHEMA` per doubling.
pub(crate) const SCHEMA: u8 = 3;

const FOLDED: u8 = SCALE - SCHEMA;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[f64]) -> NativeHistogram {
        let mut native = NativeHistogram::default();
        for value in values {
            native.add(*value, 1);
        }
        native
    }

    fn runs(native: &NativeHistogram) -> Vec<(i32, Vec<u64>)> {
        native.runs().map(|(first, counts)| (first, counts.to_vec())).collect()
    }

    #[test]
    fn an_edge_belongs_to_the_bucket_below_it() {
        assert_eq!(runs(&of(&[1.0])), [(0, vec![1])]);
        assert_eq!(runs(&of(&[1.0000001, 2.0])), [(1, vec![1]), (8, vec![1])]);
        assert_eq!(runs(&of(&[0.5])), [(-8, vec![1])]);
    }

    #[test]
    fn a_gap_of_a_tenth_of_a_millisecond_has_a_bucket_of_its_own() {
        assert_ne!(runs(&of(&[0.0001])), runs(&of(&[0.0005])));
    }

    #[test]
    fn neighbours_are_one_run_in_any_order() {
        assert_eq!(runs(&of(&[2.0, 1.0, 1.05])), [(0, vec![1, 1]), (8, vec![1])]);
        assert_eq!(runs(&of(&[0.0])), []);
        assert_eq!(of(&[0.0]).zero(), 1);
    }

    proptest! {
        #[test]
        fn every_value_lies_in_its_bucket(exponents in prop::collection::vec(-5.0..6.0f64, 1..100)) {
            for exponent in exponents {
                let value = 10f64.powf(exponent);
                let number = runs(&of(&[value]))[0].0;
                let edge = |number: i32| 2f64.powf(f64::from(number) / 8.0);
                prop_assert!(edge(number - 1) < value * (1.0 + 1e-12) && value <= edge(number) * (1.0 + 1e-12));
            }
        }
    }
}
