//! A moment on the page's clock comes in, a duration in whole microseconds goes out.

/// A moment on the page's monotonic clock, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Timestamp(f64);

impl Timestamp {
    /// The moment `ms` milliseconds after the clock's own zero.
    #[must_use]
    pub const fn from_ms(ms: f64) -> Self {
        Self(ms)
    }

    /// Milliseconds after the clock's own zero.
    #[must_use]
    pub const fn as_ms(self) -> f64 {
        self.0
    }

    /// Milliseconds since `earlier`, rounded to a microsecond. Never negative and never NaN: a
    /// clock that steps back, or a time that is no number, counts as no time passed.
    #[must_use]
    // Inlined into every duration of a report it makes the probe 1.4 kB larger.
    #[inline(never)]
    pub fn since(self, earlier: Self) -> f64 {
        let ms = self.0 - earlier.0;
        if ms > 0.0 && ms.is_finite() { whole_micros(ms) } else { 0.0 }
    }
}

/// Rounds milliseconds to a microsecond: no browser's clock is finer, and the report is shorter.
pub(crate) fn whole_micros(ms: f64) -> f64 {
    let micros = (ms * 1000.0).round_ties_even();
    if micros.is_finite() { micros / 1000.0 } else { ms }
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
    fn time_that_runs_backwards_is_no_time() {
        for (later, earlier) in [(1.0, 2.0), (f64::NAN, 1.0), (1.0, f64::NAN), (f64::INFINITY, 0.0)] {
            assert_eq!(at(later).since(at(earlier)), 0.0, "{later} since {earlier}");
        }
    }
}
