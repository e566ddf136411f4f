//! The page's monotonic clock, read nowhere else in Rust: milliseconds since the page began.

use web_sys::Performance;

/// The smallest step seen while watching the clock for [`LOOK_MS`]. `None` where it did not move.
pub(crate) fn resolution(clock: &Performance) -> Option<f64> {
    let start = clock.now();
    let mut last = start;
    let mut smallest = None;
    loop {
        let time = clock.now();
        let step = ((time - last) * 1000.0).round() / 1000.0;
        if step > 0.0 {
            smallest = Some(f64::min(smallest.unwrap_or(step), step));
            last = time;
        }
        if time - start >= LOOK_MS {
            return smallest;
        }
    }
}

/// Two steps of the coarsest usual clock (1 ms in Firefox); main-thread time, so no longer.
const LOOK_MS: f64 = 2.0;
