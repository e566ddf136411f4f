//! Clocks and units of time. Only the edge of a request and the threads' timer loops read a clock.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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

/// The minute since 1970 that a moment falls into: the number of its window.
pub(crate) const fn minute_of(ms: i64) -> i64 {
    ms.div_euclid(MINUTE_MS)
}

/// The day (UTC) that a moment falls into, counted since 1970.
pub(crate) const fn day_of(ms: i64) -> i64 {
    ms.div_euclid(DAY_MS)
}

pub(crate) const MINUTE_MS: i64 = 60_000;
pub(crate) const HOUR_MS: i64 = HOUR_MINUTES * MINUTE_MS;
pub(crate) const DAY_MS: i64 = DAY_MINUTES * MINUTE_MS;

pub(crate) const HOUR_MINUTES: i64 = 60;
pub(crate) const DAY_MINUTES: i64 = 24 * HOUR_MINUTES;
