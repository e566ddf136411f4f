//! When the page sends: how long it may wait comes in, a call of the facade goes out in time.
//!
//! What waits, and for how long, the facade decides (`js/session/outbox.js`): it has to do so as well where
//! the page forbids Wasm.

use std::cell::Cell;

use gloo_timers::callback::Timeout;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    /// The function of the facade that sends, which `js/watcher/wasm-watcher.js` gives to the glue. It must not throw.
    fn wake();
}

thread_local! {
    static TIMER: Cell<Option<Timeout>> = const { Cell::new(None) };
}

/// Calls it in `ms` milliseconds, in place of any earlier time.
pub(crate) fn wake_in(ms: u32) {
    // Nothing of ours is borrowed while the facade runs.
    drop(TIMER.replace(Some(Timeout::new(ms, wake))));
}
