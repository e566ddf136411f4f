//! The probe in the page, as the facade sees it: the tap's moments come in as numbers and bytes,
//! reports come out as plain objects and batches as JSON.
//!
//! JavaScript calls Rust. The only call the other way is the wake-up of a timer, which comes back
//! later. A panic ends in a trap, which the facade catches, and with it the probe.

mod clock;
mod options;
mod page;
mod send;
mod session;

use beacon::StreamReport;
use gloo_timers::callback::Timeout;
use js_sys::{Function, JSON};
use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::clock::Clock;
use crate::send::Answer;
use crate::session::{How, Opening};

/// All streams of a page, and what is to be sent of them.
#[wasm_bindgen]
pub struct Session {
    inner: session::Session,
    clock: Clock,
    wake: Function,
    /// The timer that is set, and for when.
    timer: Option<(f64, Timeout)>,
}

#[wasm_bindgen]
impl Session {
    /// `wake` is called, from the event loop, when [`batch`](Self::batch) has something to give.
    /// `None` where there is no window, or where the options are of the wrong types.
    #[wasm_bindgen(js_name = create)]
    #[must_use]
    pub fn new(options: JsValue, wake: Function) -> Option<Self> {
        let options = serde_wasm_bindgen::from_value(options).ok()?;
        let clock = Clock::of_page()?;
        let inner =
            session::Session::new(options, page::of_browser(), clock.resolution(), page::is_visible());
        Some(Self { inner, clock, wake, timer: None })
    }

    /// A request was made at `request`; `submit` is the gesture that led to it.
    pub fn open(&mut self, key: u32, id: String, request: f64, submit: Option<f64>, model: Option<String>) {
        self.inner.open(key, Opening { id, request, submit, model, page: page::of_moment() });
        self.set_timer();
    }

    /// The response came.
    pub fn headers(&mut self, key: u32, time: f64, status: u16, content_type: &str) {
        self.inner.headers(key, time, status, content_type);
    }

    /// The app asked for body bytes.
    pub fn read(&mut self, key: u32) {
        self.inner.read(key);
    }

    /// The app got bytes. Whether they brought the first token.
    pub fn chunk(&mut self, key: u32, time: f64, bytes: &[u8]) -> bool {
        let first = self.inner.chunk(key, time, bytes);
        if first {
            self.set_timer();
        }
        first
    }

    /// The stream ended. Its final report, or `undefined` when it was not open.
    pub fn end(&mut self, key: u32, time: f64, how: u8) -> JsValue {
        let report = self.inner.end(key, time, How::from_number(how));
        self.set_timer();
        report.as_ref().map_or(JsValue::UNDEFINED, object)
    }

    /// It was no stream.
    pub fn forget(&mut self, key: u32) {
        self.inner.forget(key);
    }

    /// The stream's report as of now, or `undefined` when it is not open.
    #[must_use]
    pub fn report(&self, key: u32) -> JsValue {
        self.inner.report(key).as_ref().map_or(JsValue::UNDEFINED, object)
    }

    /// Streams that the queue before this session had to give up.
    pub fn lost_early(&mut self, streams: u32) {
        self.inner.lost_early(streams);
    }

    /// The page was shown or hidden.
    pub fn set_visible(&mut self, visible: bool) {
        self.inner.set_visible(visible);
    }

    /// The page goes away for good: what is open ends here.
    pub fn page_gone(&mut self) {
        self.inner.page_gone(self.clock.now());
    }

    /// Makes everything due.
    pub fn hurry(&mut self) {
        self.inner.hurry(self.clock.now());
    }

    /// The next body to send, for which [`answered`](Self::answered) is owed.
    pub fn batch(&mut self) -> Option<String> {
        // The timer that led here, if one did, is spent.
        self.timer = None;
        let body = self.inner.batch(self.clock.now(), json);
        self.set_timer();
        body
    }

    /// The next body to send when no answer can be awaited. Call until `undefined`.
    pub fn last_words(&mut self) -> Option<String> {
        self.inner.last_words(self.clock.now(), json)
    }

    /// The collector's answer: a status of 0 when none came, and `Retry-After` or 0.
    pub fn answered(&mut self, status: u16, retry_after_ms: f64) {
        let answer = Answer { status, retry_after_ms, spread: js_sys::Math::random() };
        self.inner.answered(self.clock.now(), answer);
        self.set_timer();
    }

    fn set_timer(&mut self) {
        let due = self.inner.due();
        let set = self.timer.as_ref().map(|(time, _)| *time);
        if due == set {
            return;
        }
        self.timer = due.map(|due| {
            let delay = (due - self.clock.now()).clamp(0.0, MAX_DELAY_MS);
            let wake = self.wake.clone();
            // The wake-up has nobody to tell of an error, and the facade catches its own.
            (due, Timeout::new(delay.ceil() as u32, move || drop(wake.call0(&JsValue::UNDEFINED))))
        });
    }
}

/// A report as callbacks get it: plain data, numbers and strings.
fn object(report: &StreamReport) -> JsValue {
    report.serialize(&Serializer::json_compatible()).unwrap_or(JsValue::UNDEFINED)
}

fn json(report: &StreamReport) -> String {
    JSON::stringify(&object(report)).map_or_else(|_| String::new(), String::from)
}

const MAX_DELAY_MS: f64 = 600_000.0;
