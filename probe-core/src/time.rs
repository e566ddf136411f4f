//! Times on the page's clock, and durations in whole microseconds.

use crate::build_variant::IN_PAGE;

/// A time on the page's monotonic clock, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Timestamp(f64);

impl Timestamp {
    /// The time `ms` milliseconds after the clock's own zero.
    #[must_use]
    pub const fn from_ms(ms: f64) -> Self {
        Self(ms)
    }

    /// Milliseconds after the clock's own zero.
    #[must_use]
    pub const fn as_ms(self) -> f64 {
        self.0
    }

    /// Milliseconds since `earlier`, rounded to a microsecond. Never negative and never NaN: after a clock step, or
    /// where a time is NaN, no time has passed.
    #[must_use]
    pub fn since(self, earlier: Self) -> f64 {
        let ms = self.0 - earlier.0;
        if ms > 0.0 && ms.is_finite() { whole_micros(ms) } else { 0.0 }
    }
}

/// Rounds milliseconds to a microsecond: no browser's clock is finer, and the report is shorter.
pub(crate) fn whole_micros(ms: f64) -> f64 {
    let micros = nearest(ms * 1000.0);
    if micros.is_finite() { micros / 1000.0 } else { ms }
}

/// The nearest whole number, of two the even one. Rounding is an instruction in WebAssembly, but a call on many CPUs:
/// there, the sum with a large number has no room for a fraction.
fn nearest(value: f64) -> f64 {
    const NO_FRACTIONS: f64 = 1.5 * (1u64 << 52) as f64;
    if IN_PAGE || value.abs() >= (1u64 << 51) as f64 {
        return value.round_ties_even();
    }
    value + NO_FRACTIONS - NO_FRACTIONS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: f64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    #[test]
    fn a_duration_is_whole_microseconds() {
        assert_eq!(at(0.3).since(at(0.1)), 0.2);
        assert_eq!(at(1_000.000_4).since(at(0.0)), 1_000.0);
    }

    #[test]
    fn halves_go_to_the_even_neighbour() {
        let halves = (-9..9).map(|half| f64::from(half) / 2.0);
        let others = [0.49, -0.51, 1e9 + 0.5, 2f64.powi(50) + 0.5, 2f64.powi(51) - 0.5, -1e300, 1e300, 0.0];
        for value in halves.chain(others) {
            assert_eq!(nearest(value), value.round_ties_even(), "{value}");
        }
        assert!(nearest(f64::NAN).is_nan());
    }

    #[test]
    fn a_negative_duration_is_zero() {
        for (later, earlier) in [(1.0, 2.0), (f64::NAN, 1.0), (1.0, f64::NAN), (f64::INFINITY, 0.0)] {
            assert_eq!(at(later).since(at(earlier)), 0.0, "{later} since {earlier}");
        }
    }
}
