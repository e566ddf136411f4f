//! The page's monotonic clock, read nowhere else in Rust: milliseconds since the page began.

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    /// This moment.
    #[wasm_bindgen(js_namespace = performance)]
    pub(crate) fn now() -> f64;
}

/// The smallest step seen while watching the clock for [`LOOK_MS`]. `None` where it did not move.
pub(crate) fn resolution() -> Option<f64> {
    let start = now();
    let mut last = start;
    let mut smallest = None;
    loop {
        let time = now();
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
