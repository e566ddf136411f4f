//! Whether what is too old may go: the minute by the wall clock and a clock that never jumps come in. A wall
//! clock that leaps forward would let the whole history look too old; so nothing goes until it has stood for
//! a day.

use std::time::Duration;

/// Watches the wall clock.
pub(super) struct Patience {
    /// Minute and steady time as they last were.
    last: Option<(i64, Duration)>,
    until: Duration,
}

impl Patience {
    /// `newest` is the newest minute that the store has: a machine may start with a clock gone wrong.
    pub(super) fn new(newest: Option<i64>, steady: Duration) -> Self {
        Self { last: newest.map(|newest| (newest, steady)), until: Duration::ZERO }
    }

    /// It is this minute by the wall clock. `true` when what is too old by it may go.
    pub(super) fn may_drop(&mut self, minute: i64, steady: Duration) -> bool {
        if let Some((last_minute, last_steady)) = self.last.replace((minute, steady)) {
            let passed = (steady.saturating_sub(last_steady).as_secs() / 60) as i64;
            let leap = minute - last_minute - passed;
            if leap > LEAP_MINUTES {
                tracing::warn!(
                    leap,
                    "It is {leap} minutes later than it was: for a day nothing old is dropped"
                );
                self.until = steady + HOLD;
            }
        }
        steady >= self.until
    }
}

/// A change of the clock that is none: a machine that slept, a leap second, a flush that took long.
const LEAP_MINUTES: i64 = 60;

const HOLD: Duration = Duration::from_secs(24 * 3_600);

#[cfg(test)]
mod tests {
    use super::*;

    const fn hours(count: u64) -> Duration {
        Duration::from_secs(count * 3_600)
    }

    #[test]
    fn a_clock_that_runs_lets_go_of_what_is_old() {
        let mut patience = Patience::new(Some(1_000), hours(0));
        for hour in 1..100 {
            assert!(patience.may_drop(1_000 + hour as i64 * 60, hours(hour)));
        }
    }

    #[test]
    fn a_clock_that_leaps_forward_drops_nothing_for_a_day() {
        let mut patience = Patience::new(Some(1_000), hours(0));
        let leapt = 1_000 + 100 * 365 * 24 * 60;
        assert!(!patience.may_drop(leapt, hours(1)));
        assert!(!patience.may_drop(leapt + 22 * 60, hours(23)));
        assert!(!patience.may_drop(1_000 + 23 * 60, hours(23)), "back again, it is still looked at");
        assert!(patience.may_drop(1_000 + 25 * 60, hours(25)));
    }

    #[test]
    fn a_start_long_after_the_newest_minute_is_a_leap_too() {
        assert!(!Patience::new(Some(1_000), hours(0)).may_drop(9_000, hours(0)));
        assert!(Patience::new(None, hours(0)).may_drop(9_000, hours(0)));
    }

    #[test]
    fn a_clock_that_goes_back_makes_nothing_look_old() {
        let mut patience = Patience::new(Some(9_000), hours(0));
        assert!(patience.may_drop(1_000, hours(1)));
        assert!(!patience.may_drop(9_000, hours(2)), "coming forward again is a leap");
    }
}
