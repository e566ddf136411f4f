//! The page's monotonic clock, read nowhere else in Rust: milliseconds since the page began.

use web_sys::Performance;

/// `performance.now()` and the size of its steps.
pub(crate) struct Clock(Performance);

impl Clock {
    /// `None` where there is no window.
    pub(crate) fn of_page() -> Option<Self> {
        Some(Self(web_sys::window()?.performance()?))
    }

    pub(crate) fn now(&self) -> f64 {
        self.0.now()
    }

    /// The smallest step seen while watching the clock for up to [`LOOK_MS`]. `None` where it did
    /// not move: such a clock is coarser than anything worth measuring.
    pub(crate) fn resolution(&self) -> Option<f64> {
        let start = self.now();
        let mut last = start;
        let mut smallest: Option<f64> = None;
        while last - start < LOOK_MS {
            let now = self.now();
            let step = ((now - last) * 1000.0).round() / 1000.0;
            if step > 0.0 {
                smallest = Some(smallest.map_or(step, |least| least.min(step)));
                last = now;
            }
            if now - start >= LOOK_MS {
                break;
            }
        }
        smallest
    }
}

/// Two steps of the coarsest usual clock (1 ms in Firefox); main-thread time, so no longer.
const LOOK_MS: f64 = 2.0;
