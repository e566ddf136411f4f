//! Stored bytes: a layout number, then postcard. Comes in a value, goes out what a later version can
//! still read, or refuse with reason.

use beacon::Histogram;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Bytes from the store that no known layout explains: the file is damaged, or a later version
/// wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the store holds bytes of an unknown layout")]
pub(crate) struct UnreadableBlob;

const LAYOUT: u8 = 1;

pub(crate) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_extend(value, vec![LAYOUT]).expect("memory takes any length")
}

pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, UnreadableBlob> {
    match bytes.split_first() {
        Some((&LAYOUT, rest)) => postcard::from_bytes(rest).map_err(|_| UnreadableBlob),
        _ => Err(UnreadableBlob),
    }
}

/// Puts counts stored by word back at the positions that the words have now.
pub(crate) fn place(
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

/// A histogram's buckets as steps from one to the next: short when few are used.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredHistogram {
    zero: u64,
    sum: f64,
    first: i32,
    steps: Vec<(u16, u64)>,
}

impl From<&Histogram> for StoredHistogram {
    fn from(histogram: &Histogram) -> Self {
        let first = histogram.indexed().next().map_or(0, |(index, _)| index);
        let mut last = first;
        let steps = histogram.indexed().map(|(index, count)| {
            let step = u16::try_from(index - last).expect("all buckets span less than 65536");
            last = index;
            (step, count)
        });
        Self { zero: histogram.zero(), sum: histogram.sum(), first, steps: steps.collect() }
    }
}

impl TryFrom<StoredHistogram> for Histogram {
    type Error = UnreadableBlob;

    fn try_from(stored: StoredHistogram) -> Result<Self, UnreadableBlob> {
        let mut index = stored.first;
        let buckets = stored.steps.into_iter().map(|(step, count)| {
            index = index.saturating_add(i32::from(step));
            (index, count)
        });
        Self::from_indexed(stored.zero, stored.sum, buckets).map_err(|_| UnreadableBlob)
    }
}
