//! Clocks and units of time. Only the edge of a request and the threads' timer loops read a clock.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Time since the first call. It never goes back, even if the wall clock is changed.
pub(crate) fn steady() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// Date and time (UTC) as in RFC 3339: `2026-11-25T20:12:00Z`.
pub(crate) fn rfc3339(ms: i64) -> String {
    let at = Timestamp::from_second(ms.div_euclid(1_000));
    at.unwrap_or(if ms < 0 { Timestamp::MIN } else { Timestamp::MAX }).to_string()
}

/// The minute since 1970 that a moment falls into: the number of its window.
pub(crate) const fn minute_of(ms: i64) -> i64 {
    ms.div_euclid(MINUTE_MS)
}

/// The day (UTC) that a moment falls into, counted since 1970.
pub(crate) const fn day_of(ms: i64) -> i64 {
    ms.div_euclid(DAY_MS)
}

/// Rounds a duration in milliseconds.
pub(crate) fn to_microsecond(ms: f64) -> f64 {
    (ms * 1000.0).round() / 1000.0
}

pub(crate) const MINUTE_MS: i64 = 60_000;
pub(crate) const HOUR_MS: i64 = HOUR_MINUTES * MINUTE_MS;
pub(crate) const DAY_MS: i64 = DAY_MINUTES * MINUTE_MS;

pub(crate) const HOUR_MINUTES: i64 = 60;
pub(crate) const DAY_MINUTES: i64 = 24 * HOUR_MINUTES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_the_right_day_around_leap_days() {
        for (ms, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399_000, "2000-02-28T23:59:59Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_795_637_545_999, "2026-11-25T20:12:25Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(ms), date);
        }
    }
}
