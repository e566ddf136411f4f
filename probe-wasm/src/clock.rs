//! The page's monotonic clock, read nowhere else in Rust: milliseconds since the page began.

use probe_core::Timestamp;
use web_sys::Performance;

pub(crate) struct Clock(pub(crate) Performance);

impl Clock {
    /// The smallest step seen while watching the clock for [`LOOK_MS`], to a microsecond. NaN where it did not
    /// move: tests of pages stop it.
    pub(crate) fn resolution(&self) -> f64 {
        let start = self.0.now();
        let mut last = start;
        let mut smallest = f64::NAN;
        for _ in 0..MAX_LOOKS {
            let time = self.0.now();
            let step = Timestamp::from_ms(time).since(Timestamp::from_ms(last));
            if step > 0.0 {
                last = time;
                if smallest.is_nan() || step < smallest {
                    smallest = step;
                }
            }
            if time - start >= LOOK_MS {
                break;
            }
        }
        smallest
    }
}

/// Two steps of the coarsest usual clock (1 ms in Firefox); main-thread time, so no longer.
const LOOK_MS: f64 = 2.0;
/// More than any browser comes to in that time.
const MAX_LOOKS: u32 = 1_000_000;
