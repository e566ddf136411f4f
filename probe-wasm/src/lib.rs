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

use wasm_bindgen::prelude::wasm_bindgen;

use crate::send::Answer;
use crate::session::{How, Opening, Options};

// SAFETY: the module has no shared memory, so only the page's own thread ever runs in it.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static MEMORY: lol_alloc::AssumeSingleThreaded<lol_alloc::FreeListAllocator> =
    unsafe { lol_alloc::AssumeSingleThreaded::new(lol_alloc::FreeListAllocator::new()) };

/// All streams of a page, and what is to be sent of them.
#[wasm_bindgen]
pub struct Session(session::Session);

#[wasm_bindgen]
impl Session {
    /// `agent` and `touch` are the browser's words for itself and for a touch screen.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(
        use_case: Option<String>,
        provider: Option<String>,
        release: Option<String>,
        agent: &str,
        touch: bool,
        visible: bool,
    ) -> Self {
        let options = Options { use_case, provider, release };
        Self(session::Session::new(options, page::of_browser(agent, touch), clock::resolution(), visible))
    }

    /// A request was made at `request`; `submit` is the gesture that led to it.
    #[allow(clippy::too_many_arguments, reason = "an object would cost the page 2 kB of glue")]
    pub fn open(
        &mut self,
        key: u32,
        id: String,
        request: f64,
        submit: Option<f64>,
        model: Option<String>,
        path: &str,
        connection: Option<String>,
    ) {
        self.0.open(key, Opening { id, request, submit, model, page: page::of_moment(path, connection) });
    }

    /// The response came.
    pub fn headers(&mut self, key: u32, time: f64, status: u16, content_type: &str) {
        self.0.headers(key, time, status, content_type);
    }

    /// The app asked for body bytes.
    pub fn read(&mut self, key: u32) {
        self.0.read(key);
    }

    /// The app got bytes. Whether they brought the first token.
    pub fn chunk(&mut self, key: u32, time: f64, bytes: &[u8]) -> bool {
        self.0.chunk(key, time, bytes)
    }

    /// The stream ended. Its final report, or `undefined` when it was not open.
    pub fn end(&mut self, key: u32, time: f64, how: u8) -> Option<String> {
        self.0.end(key, time, How::from_number(how))
    }

    /// It was no stream.
    pub fn forget(&mut self, key: u32) {
        self.0.forget(key);
    }

    /// The stream's report as of now, or `undefined` when it is not open.
    #[must_use]
    pub fn report(&self, key: u32) -> Option<String> {
        self.0.report(key)
    }

    /// Streams that the queue before this session had to give up.
    pub fn lost_early(&mut self, streams: u32) {
        self.0.lost_early(streams);
    }

    /// The page was shown or hidden.
    pub fn set_visible(&mut self, visible: bool) {
        self.0.set_visible(visible);
    }

    /// The page goes away for good: what is open ends here.
    pub fn page_gone(&mut self) {
        self.0.page_gone(clock::now());
    }

    /// Makes everything due.
    pub fn hurry(&mut self) {
        self.0.hurry(clock::now());
    }

    /// In how many milliseconds [`batch`](Self::batch) will have something; `undefined`: not before
    /// something happens.
    #[must_use]
    pub fn due_in(&self) -> Option<f64> {
        self.0.due().map(|due| (due - clock::now()).max(0.0))
    }

    /// The next body to send, for which [`answered`](Self::answered) is owed.
    pub fn batch(&mut self) -> Option<String> {
        self.0.batch(clock::now())
    }

    /// The next body to send when no answer can be awaited. Call until `undefined`.
    pub fn last_words(&mut self) -> Option<String> {
        self.0.last_words(clock::now())
    }

    /// The collector's answer: a status of 0 when none came, and `Retry-After` or 0. `spread` is
    /// anything from 0 to 1.
    pub fn answered(&mut self, status: u16, retry_after_ms: f64, spread: f64) {
        self.0.answered(clock::now(), Answer { status, retry_after_ms, spread });
    }
}
