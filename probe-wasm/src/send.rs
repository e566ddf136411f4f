//! The timer for the next beacon. JavaScript decides when to send (`js/session/outbox.js`), as it has to do so where
//! the page forbids Wasm as well.

use std::cell::Cell;

use gloo_timers::callback::Timeout;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    /// The function that sends, which `js/watcher/wasm-watcher.js` passes to the glue. It must not throw.
    fn wake();
}

thread_local! {
    static TIMER: Cell<Option<Timeout>> = const { Cell::new(None) };
}

/// Calls `wake` in `ms` milliseconds, in place of any earlier time.
pub(crate) fn wake_in(ms: u32) {
    // Nothing is borrowed while JavaScript runs.
    drop(TIMER.replace(Some(Timeout::new(ms, wake))));
}
