//! A base-2 exponential histogram, mergeable without loss.
//!
//! Same model as OpenTelemetry's exponential and Prometheus' native histograms: with scale 5, bucket `i` contains
//! values in `(2^(i/32), 2^((i+1)/32)]`. Bucket edges come from multiplications, square roots and the bits of the
//! float, not from a logarithm. IEEE 754 fixes these to the last bit, so browser and server agree.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

/// Scale of the histograms in reports.
pub const SCALE: u8 = 5;

/// Largest relative error of a quantile of scale 5: `2^(1/64) − 1`, because a bucket is represented by its
/// geometric middle.
pub const RELATIVE_ERROR: f64 = 0.010_889_286_051_700_475;

/// Histogram of scale 5: 32 buckets per doubling.
pub type Histogram = ExponentialHistogram<SCALE>;

/// Counts per bucket, in the unit of the recorded values. Each doubling has `2^S` buckets.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(try_from = "Wire")]
pub struct ExponentialHistogram<const S: u8> {
    /// Values of zero and below: shorter than one step of the clock.
    zero: u64,
    /// Bucket index of `counts[0]`; meaningless while `counts` is empty.
    offset: i32,
    counts: Vec<u64>,
    sum: f64,
}

/// A bucket with at least one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Exclusive lower edge.
    pub lower: f64,
    /// Inclusive upper edge.
    pub upper: f64,
    /// Number of values.
    pub count: u64,
}

/// Why a histogram from the wire is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistogramError {
    /// A scale that is not the second one, which the type has.
    Scale(i64, u8),
    /// Buckets outside the range that the type has.
    Range,
    /// A sum that is negative or not finite, or counts whose total overflows.
    Sum,
}

impl std::fmt::Display for HistogramError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Scale(found, known) => write!(f, "histogram scale {found} where {known} is known"),
            Self::Range => f.write_str("histogram bucket outside the known range"),
            Self::Sum => f.write_str("histogram sum is not a finite number of zero or more"),
        }
    }
}

impl std::error::Error for HistogramError {}

impl<const S: u8> ExponentialHistogram<S> {
    /// Lowest bucket: 2^-10, about a thousandth of the unit. Smaller positive values count here too.
    pub const MIN_INDEX: i32 = -10 << S;

    /// Highest bucket: up to 2^30 of the unit, twelve days in milliseconds. Larger values count here too.
    pub const MAX_INDEX: i32 = (30 << S) - 1;

    /// A histogram without values.
    pub const EMPTY: Self = Self { zero: 0, offset: 0, counts: Vec::new(), sum: 0.0 };

    /// Counts one value. A value that is not finite is ignored.
    pub fn record(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        if value <= 0.0 {
            self.zero += 1;
            return;
        }
        self.sum += value;
        *self.slot(Self::index_of(value)) += 1;
    }

    /// Retracts one `record` of this value.
    ///
    /// # Panics
    /// If the value was never recorded: to ignore that would hide a lost count.
    pub fn unrecord(&mut self, value: f64) {
        let mut one = Self::default();
        one.record(value);
        self.subtract(&one);
    }

    /// Adds the counts of `other`. The counts are exact, whatever the order and grouping of merges.
    pub fn merge(&mut self, other: &Self) {
        self.zero += other.zero;
        self.sum += other.sum;
        for (index, count) in other.indexed() {
            *self.slot(index) += count;
        }
    }

    /// Retracts one [`merge`](Self::merge) of this histogram.
    ///
    /// # Panics
    /// If `other` has a higher count in any bucket.
    pub fn subtract(&mut self, other: &Self) {
        let held = "only recorded values are retracted";
        self.zero = self.zero.checked_sub(other.zero).expect(held);
        self.sum = (self.sum - other.sum).max(0.0);
        for (index, count) in other.indexed() {
            let slot = self.slot(index);
            *slot = slot.checked_sub(count).expect(held);
        }
        self.trim();
    }

    /// Number of recorded values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.zero + self.counts.iter().sum::<u64>()
    }

    /// Sum of the recorded values, in their unit.
    #[must_use]
    pub const fn sum(&self) -> f64 {
        self.sum
    }

    /// Number of recorded values of zero or below.
    #[must_use]
    pub const fn zero(&self) -> u64 {
        self.zero
    }

    /// Whether no value was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The buckets with values, lowest first, without the values of zero.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.folded(0)
    }

    /// The buckets with values after merging `2^steps` neighbours each: exact, only coarser.
    pub fn folded(&self, steps: u32) -> impl Iterator<Item = Bucket> + '_ {
        let mut fine = self.indexed().peekable();
        std::iter::from_fn(move || {
            let (first, mut count) = fine.next()?;
            let coarse = first >> steps;
            while let Some((_, more)) = fine.next_if(|(index, _)| index >> steps == coarse) {
                count += more;
            }
            let (lower, upper) = (Self::edge(coarse << steps), Self::edge((coarse + 1) << steps));
            Some(Bucket { lower, upper, count })
        })
    }

    /// Index and count of the buckets with values. A store needs only these, [`zero`](Self::zero) and
    /// [`sum`](Self::sum).
    pub fn indexed(&self) -> impl Iterator<Item = (i32, u64)> + '_ {
        (self.offset..)
            .zip(&self.counts)
            .map(|(index, &count)| (index, count))
            .filter(|&(_, count)| count > 0)
    }

    /// Index of the first bucket and the counts from there on, empty buckets included. This is the form on
    /// the wire.
    #[must_use]
    pub fn dense(&self) -> (i32, &[u64]) {
        (self.offset, &self.counts)
    }

    /// Creates a histogram from the result of [`indexed`](Self::indexed).
    ///
    /// # Errors
    /// If a bucket is out of range, a count overflows, or the sum is negative or not finite.
    pub fn from_indexed(
        zero: u64,
        sum: f64,
        buckets: impl IntoIterator<Item = (i32, u64)>,
    ) -> Result<Self, HistogramError> {
        if !sum.is_finite() || sum < 0.0 {
            return Err(HistogramError::Sum);
        }
        let mut histogram = Self { zero, sum, ..Self::default() };
        for (index, count) in buckets {
            if !(Self::MIN_INDEX..=Self::MAX_INDEX).contains(&index) {
                return Err(HistogramError::Range);
            }
            let slot = histogram.slot(index);
            *slot = slot.checked_add(count).ok_or(HistogramError::Sum)?;
        }
        Ok(histogram)
    }

    /// Creates a histogram from the result of [`dense`](Self::dense), [`zero`](Self::zero) and
    /// [`sum`](Self::sum).
    ///
    /// # Errors
    /// If a bucket is out of range, the total overflows, or the sum is negative or not finite.
    pub fn from_dense(zero: u64, sum: f64, offset: i32, counts: Vec<u64>) -> Result<Self, HistogramError> {
        let end = i64::from(offset) + counts.len() as i64;
        let in_range = offset >= Self::MIN_INDEX && end <= i64::from(Self::MAX_INDEX) + 1;
        if !(counts.is_empty() || in_range) {
            return Err(HistogramError::Range);
        }
        let total = counts.iter().try_fold(zero, |total, &count| total.checked_add(count));
        if total.is_none() || !sum.is_finite() || sum < 0.0 {
            return Err(HistogramError::Sum);
        }
        let mut histogram = Self { zero, offset, counts, sum };
        histogram.trim();
        Ok(histogram)
    }

    /// Index of the bucket of a positive finite value. For coarser buckets, `index >> k` is the index of the
    /// bucket that is `2^k` times as wide. Clamped to [`MIN_INDEX`](Self::MIN_INDEX) and
    /// [`MAX_INDEX`](Self::MAX_INDEX).
    #[must_use]
    pub fn index_of(value: f64) -> i32 {
        let bits = value.to_bits();
        let mut power = f64::from_bits((bits & MANTISSA_BITS) | ONE_BITS);
        // Raises the mantissa to the power of 2^S: its exponent is then the bucket within the doubling.
        for _ in 0..S {
            power *= power;
        }
        // The upper edge is inclusive: a power that equals an edge belongs to the bucket below it.
        let step = exponent(power.to_bits() - 1);
        ((exponent(bits) << S) + step).clamp(Self::MIN_INDEX, Self::MAX_INDEX)
    }

    /// Lower edge of a bucket, `2^(index/2^S)`.
    fn edge(index: i32) -> f64 {
        let mut root = power_of_two(index.rem_euclid(1 << S));
        for _ in 0..S {
            root = root.sqrt();
        }
        power_of_two(index >> S) * root
    }

    fn slot(&mut self, index: i32) -> &mut u64 {
        if self.counts.is_empty() {
            self.offset = index;
        }
        if index < self.offset {
            let missing = (self.offset - index) as usize;
            let held = self.counts.len();
            self.counts.resize(held + missing, 0);
            self.counts.copy_within(..held, missing);
            self.counts[..missing].fill(0);
            self.offset = index;
        }
        let at = (index - self.offset) as usize;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        &mut self.counts[at]
    }

    /// Removes empty buckets at both ends, so that equal histograms are equal in memory and on the wire.
    fn trim(&mut self) {
        let used = self.counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        self.counts.truncate(used);
        let empty = self.counts.iter().take_while(|&&count| count == 0).count();
        self.counts.drain(..empty);
        self.offset += empty as i32;
        if self.counts.is_empty() {
            self.offset = 0;
        }
    }
}

impl Histogram {
    /// The quantile `q` (0 to 1) by nearest rank, with at most [`RELATIVE_ERROR`]. `None` if no value was
    /// recorded.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = ((q.clamp(0.0, 1.0) * count as f64).ceil() as u64).clamp(1, count);
        let mut seen = self.zero;
        if rank <= seen {
            return Some(0.0);
        }
        for (index, count) in self.indexed() {
            seen += count;
            if rank <= seen {
                return Some(Self::edge(index) * (1.0 + RELATIVE_ERROR));
            }
        }
        None
    }
}

fn exponent(bits: u64) -> i32 {
    (bits >> 52) as i32 - 1023
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[derive(Deserialize)]
struct Wire {
    scale: i64,
    offset: i32,
    counts: Vec<u64>,
    #[serde(default)]
    zero: u64,
    #[serde(default)]
    sum: f64,
}

// Serializes in place: the copy for a derived `into` adds half a kilobyte to the Wasm that pages download.
impl<const S: u8> Serialize for ExponentialHistogram<S> {
    fn serialize<Ser: Serializer>(&self, serializer: Ser) -> Result<Ser::Ok, Ser::Error> {
        let mut wire = serializer.serialize_struct("Histogram", 5)?;
        wire.serialize_field("scale", &i64::from(S))?;
        wire.serialize_field("offset", &self.offset)?;
        wire.serialize_field("counts", &self.counts)?;
        if self.zero > 0 {
            wire.serialize_field("zero", &self.zero)?;
        }
        wire.serialize_field("sum", &self.sum)?;
        wire.end()
    }
}

impl<const S: u8> TryFrom<Wire> for ExponentialHistogram<S> {
    type Error = HistogramError;

    fn try_from(wire: Wire) -> Result<Self, HistogramError> {
        let Wire { scale, offset, counts, zero, sum } = wire;
        if scale != i64::from(S) {
            return Err(HistogramError::Scale(scale, S));
        }
        Self::from_dense(zero, sum, offset, counts)
    }
}

const MANTISSA_BITS: u64 = (1 << 52) - 1;
const ONE_BITS: u64 = 1023 << 52;

#[cfg(test)]
mod tests;
