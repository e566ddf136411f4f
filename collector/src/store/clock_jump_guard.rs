//! Guards retention against wall-clock jumps: after one, nothing is deleted for 24 h. The store saves the
//! state, so that a restart neither ends the wait nor counts as a jump.

use std::time::Duration;

use rusqlite::{Connection, params};

use crate::time::{DAY_MINUTES, HOUR_MINUTES};

/// Compares the wall clock with the steady clock.
pub(super) struct ClockJumpGuard {
    /// Minute and steady time of the last call.
    last: Option<(i64, Duration)>,
    /// Remaining time without deletions.
    held: Duration,
    /// Set until the first call after a start, before which no process watched the clock.
    starts: bool,
}

impl ClockJumpGuard {
    /// Loads the state from the store, because the clock may be wrong when a machine starts.
    pub(super) fn load(connection: &Connection, steady: Duration) -> rusqlite::Result<Self> {
        let kept = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, u32>(1)?));
        let (minute, held) = connection.query_row("SELECT minute, held FROM clock", [], kept)?;
        Ok(Self::new(minute, u64::from(held), steady))
    }

    fn new(minute: Option<i64>, held_minutes: u64, steady: Duration) -> Self {
        let held = Duration::from_secs(held_minutes * 60);
        Self { last: minute.map(|minute| (minute, steady)), held, starts: true }
    }

    /// Saves the state for the next start.
    pub(super) fn store(&self, connection: &Connection) -> rusqlite::Result<()> {
        let (minute, held) =
            (self.last.map(|(minute, _)| minute), self.held.as_secs().div_ceil(60).cast_signed());
        connection
            .prepare_cached("UPDATE clock SET minute = ?1, held = ?2")?
            .execute(params![minute, held])?;
        Ok(())
    }

    /// Takes the wall clock's minute. Returns `true` if old data may be deleted.
    pub(super) fn may_drop(&mut self, minute: i64, steady: Duration) -> bool {
        let most = if std::mem::take(&mut self.starts) { ABSENCE_MINUTES } else { LEAP_MINUTES };
        if let Some((last_minute, last_steady)) = self.last.replace((minute, steady)) {
            let passed = steady.saturating_sub(last_steady);
            self.held = self.held.saturating_sub(passed);
            let leap = minute - last_minute - (passed.as_secs() / 60) as i64;
            if leap > most {
                tracing::warn!(
                    leap,
                    "The clock jumped ahead by {leap} minutes; no old data is deleted for a day"
                );
                self.held = HOLD;
            }
        }
        self.held.is_zero()
    }
}

/// Largest forward step that is no clock jump: sleep of the machine, a leap second, a slow flush.
const LEAP_MINUTES: i64 = HOUR_MINUTES;

/// The same limit at a start. A machine that is off overnight has no wrong clock. If the clock is wrong by
/// less, minutes are deleted up to a day early; their hours stay.
const ABSENCE_MINUTES: i64 = DAY_MINUTES;

const HOLD: Duration = Duration::from_secs(24 * 3_600);

#[cfg(test)]
mod tests {
    use super::*;

    const fn hours(count: u64) -> Duration {
        Duration::from_secs(count * 3_600)
    }

    #[test]
    fn a_steady_clock_lets_old_windows_be_dropped() {
        let mut guard = ClockJumpGuard::new(Some(1_000), 0, hours(0));
        for hour in 1..100 {
            assert!(guard.may_drop(1_000 + hour as i64 * 60, hours(hour)));
        }
    }

    #[test]
    fn a_forward_clock_jump_drops_nothing_for_a_day() {
        let mut guard = ClockJumpGuard::new(Some(1_000), 0, hours(0));
        assert!(guard.may_drop(1_000, hours(0)));
        let leapt = 1_000 + 100 * 365 * 24 * 60;
        assert!(!guard.may_drop(leapt, hours(1)));
        assert!(!guard.may_drop(leapt + 22 * 60, hours(23)));
        assert!(!guard.may_drop(1_000 + 23 * 60, hours(23)), "back again, it is still looked at");
        assert!(guard.may_drop(1_000 + 25 * 60, hours(25)));
    }

    #[test]
    fn a_start_days_after_the_last_minute_is_a_clock_jump() {
        assert!(!ClockJumpGuard::new(Some(1_000), 0, hours(0)).may_drop(9_000, hours(0)));
        assert!(ClockJumpGuard::new(None, 0, hours(0)).may_drop(9_000, hours(0)));
    }

    #[test]
    fn a_machine_that_is_off_at_night_drops_old_windows() {
        let mut minute = 1_000;
        for _ in 0..10 {
            let mut guard = ClockJumpGuard::new(Some(minute), 0, hours(0));
            minute += 12 * 60;
            assert!(guard.may_drop(minute, hours(0)));
            minute += 12 * 60;
            assert!(guard.may_drop(minute, hours(12)));
        }
    }

    #[test]
    fn a_restart_continues_the_wait_after_a_clock_jump() {
        let file = Connection::open_in_memory().unwrap();
        file.execute_batch("CREATE TABLE clock (minute, held); INSERT INTO clock VALUES (1000, 0)").unwrap();
        let mut minute = 900_000;
        for (hour, dropped) in [(0, false), (11, false), (22, true)] {
            // Nine hours of running, then two hours of downtime: only running time counts.
            let mut guard = ClockJumpGuard::load(&file, hours(hour)).unwrap();
            assert!(!guard.may_drop(minute, hours(hour)), "{hour}");
            minute += 9 * 60;
            assert_eq!(guard.may_drop(minute, hours(hour + 9)), dropped, "{hour}");
            minute += 2 * 60;
            guard.store(&file).unwrap();
        }
    }

    #[test]
    fn a_clock_set_back_makes_no_window_old() {
        let mut guard = ClockJumpGuard::new(Some(9_000), 0, hours(0));
        assert!(guard.may_drop(1_000, hours(1)));
        assert!(!guard.may_drop(9_000, hours(2)), "coming forward again is a leap");
    }
}
