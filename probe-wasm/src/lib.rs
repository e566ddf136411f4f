//! The probe in the page, as the facade sees it: the tap's moments come in, JSON of reports and of
//! requests to the collector goes out.
//!
//! Only numbers, strings and bytes cross the boundary, and JavaScript always calls Rust. A panic ends
//! in a trap, which the facade catches, and with it the probe.

mod clock;
mod json;
mod page;
mod send;
mod session;

use std::cell::RefCell;

use wasm_bindgen::prelude::wasm_bindgen;

use crate::send::Answer;
use crate::session::{How, Opening, Options, Session};

// SAFETY: the module has no shared memory, so only the page's own thread ever runs in it.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static MEMORY: lol_alloc::AssumeSingleThreaded<lol_alloc::FreeListAllocator> =
    unsafe { lol_alloc::AssumeSingleThreaded::new(lol_alloc::FreeListAllocator::new()) };

thread_local! {
    /// A page has one: functions over it are a third of the glue that a class would need.
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

/// Begins the page's session. `agent` and `touch` are the browser's words for itself and for a touch
/// screen. What is told before this is lost.
#[wasm_bindgen]
pub fn begin(
    use_case: Option<String>,
    provider: Option<String>,
    release: Option<String>,
    agent: &str,
    touch: bool,
    visible: bool,
) {
    let options = Options { use_case, provider, release };
    let session = Session::new(options, page::of_browser(agent, touch), clock::resolution(), visible);
    SESSION.set(Some(session));
}

/// A request was made at `request`; `submit` is the gesture that led to it.
#[wasm_bindgen]
pub fn open(
    key: u32,
    id: String,
    request: f64,
    submit: Option<f64>,
    model: Option<String>,
    path: &str,
    connection: Option<String>,
) {
    let opening = Opening { id, request, submit, model, page: page::of_moment(path, connection) };
    with(|session| session.open(key, opening));
}

/// The response came.
#[wasm_bindgen]
pub fn headers(key: u32, time: f64, status: u16, content_type: &str) {
    with(|session| session.headers(key, time, status, content_type));
}

/// The app asked for body bytes.
#[wasm_bindgen]
pub fn read(key: u32) {
    with(|session| session.read(key));
}

/// The app got bytes. Whether they brought the first token.
#[wasm_bindgen]
pub fn chunk(key: u32, time: f64, bytes: &[u8]) -> bool {
    with(|session| session.chunk(key, time, bytes))
}

/// The stream ended. Its final report, or `undefined` when it was not open.
#[wasm_bindgen]
pub fn end(key: u32, time: f64, how: u8) -> Option<String> {
    with(|session| session.end(key, time, How::from_number(how)))
}

/// It was no stream.
#[wasm_bindgen]
pub fn forget(key: u32) {
    with(|session| session.forget(key));
}

/// The stream's report as of now, or `undefined` when it is not open.
#[wasm_bindgen]
pub fn report(key: u32) -> Option<String> {
    with(|session| session.report(key))
}

/// Streams that the queue before this session had to give up.
#[wasm_bindgen]
pub fn lost_early(streams: u32) {
    with(|session| session.lost_early(streams));
}

/// The page was shown or hidden.
#[wasm_bindgen]
pub fn set_visible(visible: bool) {
    with(|session| session.set_visible(visible));
}

/// The page goes away for good: what is open ends here.
#[wasm_bindgen]
pub fn page_gone() {
    with(|session| session.page_gone(clock::now()));
}

/// Makes everything due.
#[wasm_bindgen]
pub fn hurry() {
    with(|session| session.hurry(clock::now()));
}

/// In how many milliseconds [`batch`] will have something; `undefined`: not before something happens.
#[wasm_bindgen]
#[must_use]
pub fn due_in() -> Option<f64> {
    with(|session| session.due().map(|due| (due - clock::now()).max(0.0)))
}

/// The next body to send, for which [`answered`] is owed.
#[wasm_bindgen]
pub fn batch() -> Option<String> {
    with(|session| session.batch(clock::now()))
}

/// The next body to send when no answer can be awaited. Call until `undefined`.
#[wasm_bindgen]
pub fn last_words() -> Option<String> {
    with(|session| session.last_words(clock::now()))
}

/// The collector's answer: a status of 0 when none came, and `Retry-After` or 0. `spread` is anything
/// from 0 to 1.
#[wasm_bindgen]
pub fn answered(status: u16, retry_after_ms: f64, spread: f64) {
    with(|session| session.answered(clock::now(), Answer { status, retry_after_ms, spread }));
}

fn with<R: Default>(job: impl FnOnce(&mut Session) -> R) -> R {
    SESSION.with_borrow_mut(|session| session.as_mut().map(job).unwrap_or_default())
}
