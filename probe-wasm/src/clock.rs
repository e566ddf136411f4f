//! The page's monotonic clock, in milliseconds since the page began. No other Rust code reads it.

use probe_core::Timestamp;
use web_sys::Performance;

pub(crate) struct Clock(pub(crate) Performance);

impl Clock {
    /// The smallest step of the clock within [`SAMPLE_MS`], to a microsecond. `None` if the clock stood still, as in
    /// tests of pages.
    pub(crate) fn resolution(&self) -> Option<f64> {
        let start = self.0.now();
        let mut last = start;
        let mut smallest = None;
        for _ in 0..MAX_READS {
            let time = self.0.now();
            let step = Timestamp::from_ms(time).since(Timestamp::from_ms(last));
            if step > 0.0 {
                last = time;
                if smallest.is_none_or(|smallest| step < smallest) {
                    smallest = Some(step);
                }
            }
            if time - start >= SAMPLE_MS {
                break;
            }
        }
        smallest
    }
}

/// Two steps of the coarsest usual clock (1 ms in Firefox), and no more, as it blocks the main thread.
const SAMPLE_MS: f64 = 2.0;
/// More reads than any browser makes in that time.
const MAX_READS: u32 = 1_000_000;
