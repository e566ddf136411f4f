//! The probe in the page, as the facade sees it: the tap's moments come in, reports go out.
//!
//! JavaScript always calls Rust; the one call the other way, of a timer that ran out, is made while
//! nothing here is borrowed. A panic ends in a trap, which the facade catches, and with it the probe.

mod clock;
#[cfg(target_arch = "wasm32")]
mod memory;
mod report;
mod send;
mod session;

use std::cell::RefCell;

use js_sys::Array;
use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, UnwrapThrowExt};
use web_sys::Performance;

use crate::clock::Clock;
use crate::session::Session;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static MEMORY: memory::Blocks = memory::Blocks::new();

thread_local! {
    /// A page has one: functions over it are a third of the glue that a class would need.
    static SESSION: RefCell<Session> = const { RefCell::new(Session::NONE) };
}

/// Begins the page's session, with its clock.
#[wasm_bindgen]
pub fn begin(performance: Performance) {
    let clock = Clock(performance);
    SESSION.with_borrow_mut(|session| session.clock_resolution_ms = clock.resolution());
}

/// A request was made at `request`; `submit` is the gesture that led to it, NaN without one.
#[wasm_bindgen]
pub fn open(key: u32, request: f64, submit: f64) {
    SESSION.with_borrow_mut(|session| session.open(key, request, submit));
}

/// The response came, with a body of that kind by its content type, as `js/tap/content-types.js` numbers them.
#[wasm_bindgen]
pub fn headers(key: u32, time: f64, status: u16, content_type: u8) {
    SESSION.with_borrow_mut(|session| session.headers(key, time, status, content_type));
}

/// The app got bytes. What has been seen with them, in the bits of `js/session/progress-flags.js`.
#[wasm_bindgen]
#[must_use]
pub fn chunk(key: u32, time: f64, bytes: &[u8]) -> u8 {
    SESSION.with_borrow_mut(|session| session.chunk(key, time, bytes))
}

/// The stream ended, in the way that `js/session/end-reasons.js` numbers. Its report stays until it is forgotten.
#[wasm_bindgen]
pub fn end(key: u32, time: f64, how: u8) {
    SESSION.with_borrow_mut(|session| session.end(key, time, how));
}

/// The list that `js/watcher/wasm-watcher.js` makes the stream's report of, as far as it is for Rust to tell.
#[wasm_bindgen]
#[must_use]
pub fn report(key: u32) -> Array {
    let list = SESSION.with_borrow_mut(|session| session.report(key).serialize(PLAIN));
    list.unwrap_throw().unchecked_into()
}

/// Nothing more will be told or asked of the stream.
#[wasm_bindgen]
pub fn forget(key: u32) {
    SESSION.with_borrow_mut(|session| session.forget(key));
}

/// Lets the facade be called in `ms` milliseconds, in place of any earlier time.
#[wasm_bindgen]
pub fn wake_in(ms: u32) {
    send::wake_in(ms);
}

/// Numbers and texts as they are.
const PLAIN: &Serializer = &Serializer::new();
