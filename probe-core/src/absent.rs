//! Numbers that may be absent, as plain doubles: the numbers of a report are one row, and one loop serves them all.
//!
//! No public type has such a number. With `Option<f64>` in their place the probe is 427 bytes larger (brotli).

/// A number that is not there, as NaN. Every comparison with it is false, and every sum with it is absent.
pub(crate) const ABSENT: f64 = f64::NAN;

/// `number`, or `other` where `number` is absent.
pub(crate) fn or(number: f64, other: f64) -> f64 {
    if number.is_nan() { other } else { number }
}

/// The number as an `Option`.
fn some(number: f64) -> Option<f64> {
    (!number.is_nan()).then_some(number)
}

/// Each number of a row as an `Option`.
pub(crate) fn each_some(numbers: &[f64]) -> impl Iterator<Item = Option<f64>> {
    numbers.iter().map(|&number| some(number))
}
