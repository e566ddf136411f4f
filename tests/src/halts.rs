//! Whether the machine stood still: on a shared host all its programs may stop together for a second. An answer
//! that was to come in forty pieces then comes in two, whoever watches it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Watches for it until this value is dropped.
pub struct Halts(Arc<AtomicU64>);

impl Halts {
    /// Begins to watch, by a thread that wants nothing but to run every few milliseconds.
    #[must_use]
    pub fn watch() -> Self {
        let longest_ms = Arc::new(AtomicU64::new(0));
        let theirs = Arc::downgrade(&longest_ms);
        thread::spawn(move || {
            let mut before = Instant::now();
            while let Some(longest_ms) = theirs.upgrade() {
                thread::sleep(STEP);
                let now = Instant::now();
                let late = (now - before).saturating_sub(STEP);
                longest_ms.fetch_max(late.as_millis() as u64, Ordering::Relaxed);
                before = now;
            }
        });
        Self(longest_ms)
    }

    /// The longest time for which nothing ran, where that is more than a busy machine makes programs wait.
    #[must_use]
    pub fn longest(&self) -> Option<Duration> {
        Some(Duration::from_millis(self.0.load(Ordering::Relaxed))).filter(|longest| *longest > BUSY)
    }
}

const STEP: Duration = Duration::from_millis(10);
const BUSY: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_stopped_process_is_reported_as_a_halt() {
        let halts = Halts::watch();
        let stop = "kill -STOP $PPID; sleep 0.5; kill -CONT $PPID";
        assert!(Command::new("sh").args(["-c", stop]).status().unwrap().success());
        // The thread tells at its next turn.
        let until = Instant::now() + Duration::from_secs(10);
        while halts.longest().is_none() && Instant::now() < until {
            thread::yield_now();
        }
        assert!(halts.longest() > Some(2 * BUSY));
    }
}
