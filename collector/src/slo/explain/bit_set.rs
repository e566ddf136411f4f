//! A set of small numbers.

/// A set of numbers below a fixed limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BitSet(Vec<u64>);

impl BitSet {
    /// The set of these numbers, all of which are below `limit`.
    pub(super) fn of(limit: usize, numbers: &[u32]) -> Self {
        let mut words = vec![0; limit.div_ceil(64)];
        for number in numbers {
            words[*number as usize / 64] |= 1 << (number % 64);
        }
        Self(words)
    }

    pub(super) fn contains(&self, number: u32) -> bool {
        self.0[number as usize / 64] >> (number % 64) & 1 == 1
    }

    pub(super) fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(one, other)| one & other).collect())
    }

    pub(super) fn or(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(one, other)| one | other).collect())
    }

    pub(super) fn without(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(one, other)| one & !other).collect())
    }

    /// Whether at least 19 of 20 members of either set are in both.
    pub(super) fn is_nearly(&self, other: &Self) -> bool {
        let both = self.and(other).len();
        both * 20 >= (self.len() + other.len() - both) * 19
    }
}
