//! The compiled watcher of the probe, as JavaScript calls it (`js/watcher/watcher.d.ts`).
//!
//! JavaScript calls Rust. The only call in the other direction is the timer's, while nothing here is borrowed. A panic
//! ends in a trap, which JavaScript catches, and turns the probe off.

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

use probe_core::Question;

use crate::clock::Clock;
use crate::session::Session;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static MEMORY: memory::Blocks = memory::Blocks::new();

thread_local! {
    /// A page has one session. Functions need a third of the glue code of a class.
    static SESSION: RefCell<Session> = const { RefCell::new(Session::NONE) };
}

/// Begins the session with the page's clock.
#[wasm_bindgen]
pub fn begin(performance: Performance) {
    let clock = Clock(performance);
    SESSION.with_borrow_mut(|session| session.clock_resolution_ms = clock.resolution());
}

/// A request was made at `request`. `submit` is the time of the gesture that led to it. Wasm has no absent numbers:
/// without a gesture the page passes `undefined`, which arrives as NaN.
#[wasm_bindgen]
pub fn open(key: u32, request: f64, submit: f64) {
    SESSION.with_borrow_mut(|session| session.open(key, request, Some(submit).filter(|time| !time.is_nan())));
}

/// What the page knows of the stream before its first bytes. With the number of a socket, `text` is the question that
/// the stream answers, and its chunks are all messages of that socket. Without one, which is 0, `text` is the
/// address of the response and, on the next line, the formats that the app describes; or `call:` and the id of the only
/// call that is of the stream, or none for the first, where several share the queue of a Gradio app.
#[wasm_bindgen]
pub fn context(key: u32, socket: u32, engine_io: bool, text: &[u8]) {
    SESSION.with_borrow_mut(|session| match socket {
        0 => session.formats(key, text),
        _ => session.socket(key, Question { socket, engine_io, text }),
    });
}

/// The response came. `js/tap/content-types.js` numbers the content types.
#[wasm_bindgen]
pub fn headers(key: u32, time: f64, status: u16, content_type: u8) {
    SESSION.with_borrow_mut(|session| session.headers(key, time, status, content_type));
}

/// The app got bytes. Returns the progress so far, in the bits of `js/session/progress-flags.js`.
#[wasm_bindgen]
#[must_use]
pub fn chunk(key: u32, time: f64, bytes: &[u8]) -> u8 {
    SESSION.with_borrow_mut(|session| session.chunk(key, time, bytes))
}

/// The stream ended. `js/session/end-reasons.js` numbers the reasons. The report stays until the stream is forgotten.
#[wasm_bindgen]
pub fn end(key: u32, time: f64, reason: u8) {
    SESSION.with_borrow_mut(|session| session.end(key, time, reason));
}

/// The stream's part of a report, as a list that `js/watcher/wasm-watcher.js` makes an object of.
#[wasm_bindgen]
#[must_use]
pub fn report(key: u32) -> Array {
    let list = SESSION.with_borrow_mut(|session| session.report(key).serialize(PLAIN));
    list.unwrap_throw().unchecked_into()
}

/// The stream is not used any more.
#[wasm_bindgen]
pub fn forget(key: u32) {
    SESSION.with_borrow_mut(|session| session.forget(key));
}

/// Calls `wake` in `ms` milliseconds, in place of any earlier time.
#[wasm_bindgen]
pub fn wake_in(ms: u32) {
    send::wake_in(ms);
}

/// Numbers and texts as plain JavaScript values.
const PLAIN: &Serializer = &Serializer::new();
