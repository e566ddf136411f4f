//! The probe in the page, as the facade sees it: the tap's moments come in, JSON of reports goes out.
//!
//! JavaScript always calls Rust; the one call the other way, of a timer that ran out, is made while
//! nothing here is borrowed. A panic ends in a trap, which the facade catches, and with it the probe.

mod clock;
mod json;
mod options;
mod page;
mod send;
mod session;

use std::cell::RefCell;

use js_sys::Function;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use web_sys::Window;

use crate::options::Options;
use crate::page::{Device, Place};
use crate::session::{Opening, Session};

// SAFETY: the module has no shared memory, so only the page's own thread ever runs in it.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static MEMORY: lol_alloc::AssumeSingleThreaded<lol_alloc::FreeListAllocator> =
    unsafe { lol_alloc::AssumeSingleThreaded::new(lol_alloc::FreeListAllocator::new()) };

thread_local! {
    /// A page has one: functions over it are a third of the glue that a class would need.
    static PROBE: RefCell<Option<Probe>> = const { RefCell::new(None) };
}

struct Probe {
    window: Window,
    session: Session,
}

/// Begins the page's session with the options of `start()`, and whether the page can be seen. What is
/// told before this is lost. `wake` is called when [`wake_in`] is over.
#[wasm_bindgen]
#[allow(clippy::needless_pass_by_value, reason = "what crosses is handed over, not lent")]
pub fn begin(window: Window, options: JsValue, wake: Function, visible: bool) {
    send::call_when_due(wake);
    let (options, device) = (Options::decode(&options), Device::of(&window));
    let session = Session::new(options, device, clock::resolution(), visible);
    PROBE.set(Some(Probe { window, session }));
}

/// A request was made at `request`, naming `model` or nothing; `submit` is the gesture that led to
/// it, NaN without one.
#[wasm_bindgen]
pub fn open(key: u32, id: &JsValue, request: f64, submit: f64, model: &JsValue) {
    with(|Probe { window, session }| {
        let id = id.as_string().unwrap_or_default();
        let place = Place::now(window);
        session.open(key, Opening { id, request, submit, model: model.as_string(), place });
    });
}

/// The response came.
#[wasm_bindgen]
pub fn headers(key: u32, time: f64, status: u16, content_type: &JsValue) {
    let content_type = content_type.as_string().unwrap_or_default();
    with(|probe| probe.session.headers(key, time, status, &content_type));
}

/// The app got bytes. What has been seen with them, in the bits of `js/seen.js`.
#[wasm_bindgen]
#[must_use]
pub fn chunk(key: u32, time: f64, bytes: &[u8]) -> u8 {
    with(|probe| probe.session.chunk(key, time, bytes))
}

/// The stream ended, in the way that `js/ends.js` numbers. Its report stays until it is forgotten.
#[wasm_bindgen]
pub fn end(key: u32, time: f64, how: u8) {
    with(|probe| probe.session.end(key, time, how));
}

/// The stream's report as JSON. Each is a later revision than the one before.
#[wasm_bindgen]
#[must_use]
pub fn report(key: u32) -> JsValue {
    JsValue::from_str(&with(|probe| probe.session.report(key)))
}

/// Nothing more will be told or asked of the stream.
#[wasm_bindgen]
pub fn forget(key: u32) {
    with(|probe| probe.session.forget(key));
}

/// The page was shown or hidden.
#[wasm_bindgen]
pub fn look(visible: bool) {
    with(|probe| probe.session.set_visible(visible));
}

/// Lets the function given to [`begin`] be called in `ms` milliseconds, in place of any earlier time.
#[wasm_bindgen]
pub fn wake_in(ms: u32) {
    send::wake_in(ms);
}

fn with<R: Default>(job: impl FnOnce(&mut Probe) -> R) -> R {
    PROBE.with_borrow_mut(|probe| probe.as_mut().map(job).unwrap_or_default())
}
