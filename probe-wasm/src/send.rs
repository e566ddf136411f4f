//! When the page sends: how long it may wait comes in, a call of the facade goes out in time.
//!
//! What waits, and for how long, the facade decides (`js/outbox.js`): it has to do so as well where
//! the page forbids Wasm.

use std::cell::{Cell, OnceCell};

use gloo_timers::callback::Timeout;
use js_sys::Function;
use wasm_bindgen::JsValue;

thread_local! {
    static WAKE: OnceCell<Function> = const { OnceCell::new() };
    static TIMER: Cell<Option<Timeout>> = const { Cell::new(None) };
}

/// Names the function of the facade that sends. It must not throw.
pub(crate) fn call_when_due(wake: Function) {
    let _ = WAKE.with(|held| held.set(wake));
}

/// Calls it in `ms` milliseconds, in place of any earlier time.
pub(crate) fn wake_in(ms: u32) {
    let timer = Timeout::new(ms, || {
        // Its own copy: nothing of ours is borrowed while the facade runs.
        if let Some(wake) = WAKE.with(|held| held.get().cloned()) {
            drop(wake.call0(&JsValue::UNDEFINED));
        }
    });
    drop(TIMER.replace(Some(timer)));
}
