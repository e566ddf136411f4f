//! Encodes values for the store: a format version, then postcard. A later version reads the bytes or refuses them with
//! a reason.

use beacon::ExponentialHistogram;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Bytes from the store in an unknown layout: the file is damaged, or a later version wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the store contains data in an unknown layout")]
pub(crate) struct UnreadableBlob;

/// Encodes a value. The layout's number comes first, and distinguishes it from other layouts of the same
/// kind.
pub(crate) fn encode<T: Serialize>(layout: u8, value: &T) -> Vec<u8> {
    postcard::to_extend(value, vec![layout]).expect("memory takes any length")
}

/// Decodes a value. Fails if the bytes have another layout.
pub(crate) fn decode<T: DeserializeOwned>(layout: u8, bytes: &[u8]) -> Result<T, UnreadableBlob> {
    match bytes.split_first() {
        Some((&found, rest)) if found == layout => postcard::from_bytes(rest).map_err(|_| UnreadableBlob),
        _ => Err(UnreadableBlob),
    }
}

/// Moves counts that are stored by word to the positions that the words have now.
pub(crate) fn restore_counts(
    stored: &[(String, u64)],
    words: &[&str],
    counts: &mut [u64],
) -> Result<(), UnreadableBlob> {
    for (word, count) in stored {
        let at = words.iter().position(|known| known == word).ok_or(UnreadableBlob)?;
        counts[at] = *count;
    }
    Ok(())
}

/// A histogram's buckets in order, with one number for each: its count, doubled. After empty buckets that
/// number is one larger, and the number of empty buckets follows. A bucket right after another takes one
/// byte, as do nearly all in a well-filled histogram.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredHistogram {
    zero: u64,
    sum: f64,
    first: i32,
    buckets: Vec<u64>,
}

impl<const S: u8> From<&ExponentialHistogram<S>> for StoredHistogram {
    fn from(histogram: &ExponentialHistogram<S>) -> Self {
        let first = histogram.indexed().next().map_or(0, |(index, _)| index);
        let mut next = first;
        let mut buckets = Vec::new();
        for (index, count) in histogram.indexed() {
            // A report adds less than 2^32 to a bucket: a doubled count has room for two billion reports.
            match u64::from(index.abs_diff(next)) {
                0 => buckets.push(count << 1),
                empty => buckets.extend([count << 1 | 1, empty]),
            }
            next = index + 1;
        }
        Self { zero: histogram.zero(), sum: histogram.sum(), first, buckets }
    }
}

impl<const S: u8> TryFrom<StoredHistogram> for ExponentialHistogram<S> {
    type Error = UnreadableBlob;

    fn try_from(stored: StoredHistogram) -> Result<Self, UnreadableBlob> {
        let most_buckets = (Self::MAX_INDEX - Self::MIN_INDEX + 1) as u64;
        let mut counts = Vec::with_capacity(stored.buckets.len());
        let mut numbers = stored.buckets.into_iter();
        while let Some(number) = numbers.next() {
            if number & 1 == 1 {
                let empty = numbers.next().filter(|empty| *empty < most_buckets).ok_or(UnreadableBlob)?;
                counts.resize(counts.len() + empty as usize, 0);
            }
            if counts.len() as u64 >= most_buckets {
                return Err(UnreadableBlob);
            }
            counts.push(number >> 1);
        }
        Self::from_dense(stored.zero, stored.sum, stored.first, counts).map_err(|_| UnreadableBlob)
    }
}

#[cfg(test)]
mod tests {
    use beacon::Histogram;
    use proptest::prelude::*;

    use super::*;

    fn decode_numbers(first: i32, buckets: &[u64]) -> Result<Histogram, UnreadableBlob> {
        Histogram::try_from(StoredHistogram { zero: 0, sum: 1.0, first, buckets: buckets.to_vec() })
    }

    #[test]
    fn adjacent_buckets_take_one_number_each() {
        let histogram = Histogram::from_indexed(0, 9.0, [(7, 3), (8, 1), (12, 2)]).unwrap();
        let stored = StoredHistogram::from(&histogram);
        assert_eq!((stored.first, stored.buckets), (7, vec![6, 2, 5, 3]));
    }

    #[test]
    fn numbers_that_are_no_histogram_are_unreadable() {
        for (first, buckets) in [
            (0, &[3][..]),
            (0, &[3, u64::MAX, 4]),
            (Histogram::MAX_INDEX, &[2, 2]),
            (i32::MAX, &[2, 2]),
            (0, &[u64::MAX, 1, u64::MAX, 1, u64::MAX, 1]),
        ] {
            assert_eq!(decode_numbers(first, buckets), Err(UnreadableBlob), "{first} {buckets:?}");
        }
    }

    proptest! {
        #[test]
        fn any_histogram_is_the_same_after_encoding_and_decoding(
            zero in 0..1_000_u64,
            values in prop::collection::vec((1e-4..1e9_f64, 1..1_000_u32), 0..40),
        ) {
            let mut histogram = Histogram::from_indexed(zero, 0.0, []).unwrap();
            for (value, times) in values {
                (0..times).for_each(|_| histogram.record(value));
            }
            let bytes = encode(2, &StoredHistogram::from(&histogram));
            let back = decode::<StoredHistogram>(2, &bytes).and_then(Histogram::try_from);
            prop_assert_eq!(back, Ok(histogram));
        }
    }
}
