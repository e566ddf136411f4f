//! All streams of a page: what the tap tells of each comes in, JSON of reports goes out.
//!
//! Streams go by the small number that the facade gave them. Nothing here knows the browser.

use std::borrow::Cow;

use beacon::Page;
use probe_core::{End, Meter, Seen, Timestamp};

use crate::json::to_json;
use crate::options::Options;
use crate::page::{Device, Place};

/// The streams that the facade has not forgotten; it bounds how many there are.
pub(crate) struct Session {
    options: Options,
    device: Device,
    clock_resolution_ms: Option<f64>,
    /// Now.
    shown: Shown,
    streams: Vec<Stream>,
}

/// What is known when a request is made.
pub(crate) struct Opening {
    /// 32 hexadecimal digits.
    pub(crate) id: String,
    pub(crate) request: f64,
    /// The gesture that led to it. NaN without one.
    pub(crate) submit: f64,
    /// As the request names it.
    pub(crate) model: Option<String>,
    pub(crate) place: Place,
}

struct Stream {
    key: u32,
    meter: Meter,
    shown: Shown,
}

/// How the page was while a stream ran, a bit each: visible, hidden.
#[derive(Clone, Copy)]
struct Shown(usize);

impl Session {
    pub(crate) fn new(
        options: Options,
        device: Device,
        clock_resolution_ms: Option<f64>,
        visible: bool,
    ) -> Self {
        Self { options, device, clock_resolution_ms, shown: Shown::of(visible), streams: Vec::new() }
    }

    /// A request was made.
    pub(crate) fn open(&mut self, key: u32, opening: Opening) {
        let mut meter = Meter::new(opening.id, Timestamp::from_ms(opening.request));
        if !opening.submit.is_nan() {
            meter.on_submit(Timestamp::from_ms(opening.submit));
        }
        let (Options { use_case, provider, release }, Device { browser, os, device }) =
            (self.options, self.device);
        let report = meter.settle();
        report.use_case = use_case.map(Cow::Borrowed);
        report.provider = provider.map(Cow::Borrowed);
        report.model = opening.model.map(Cow::Owned);
        report.clock_resolution_ms = self.clock_resolution_ms;
        report.page = Some(Page {
            browser: browser.map(Cow::Borrowed),
            os: os.map(Cow::Borrowed),
            device: device.map(Cow::Borrowed),
            connection: opening.place.connection.map(Cow::Owned),
            visibility: None,
            release: release.map(Cow::Borrowed),
            route: Some(Cow::Owned(opening.place.route)),
        });
        self.streams.push(Stream { key, meter, shown: self.shown });
    }

    pub(crate) fn headers(&mut self, key: u32, time: f64, status: u16, content_type: &str) {
        if let Some(meter) = self.meter(key) {
            meter.on_headers(Timestamp::from_ms(time), status, content_type);
        }
    }

    /// What has been seen with these bytes, in the bits of `js/seen.js`.
    pub(crate) fn chunk(&mut self, key: u32, time: f64, bytes: &[u8]) -> u8 {
        let Some(meter) = self.meter(key) else { return 0 };
        meter.on_chunk(Timestamp::from_ms(time), bytes);
        let Seen { first_token, first_visible, ended } = meter.seen();
        u8::from(first_token) | u8::from(first_visible) << 1 | u8::from(ended) << 2
    }

    /// The stream ended, in one of the [`ENDS`].
    pub(crate) fn end(&mut self, key: u32, time: f64, how: u8) {
        if let Some(meter) = self.meter(key) {
            meter.on_end(Timestamp::from_ms(time), ENDS[usize::from(how)]);
        }
    }

    /// The JSON of the stream as it is now, each a revision of its own. Empty for an unknown stream.
    pub(crate) fn report(&mut self, key: u32) -> String {
        let Some(Stream { meter, shown, .. }) = self.stream(key) else { return String::new() };
        let report = meter.settle();
        if let Some(page) = &mut report.page {
            page.visibility = Some(Cow::Borrowed(shown.word()));
        }
        let json = to_json(report);
        report.rev += 1;
        json
    }

    pub(crate) fn forget(&mut self, key: u32) {
        self.streams.retain(|stream| stream.key != key);
    }

    /// The page was shown or hidden.
    pub(crate) fn set_visible(&mut self, visible: bool) {
        self.shown = Shown::of(visible);
        for stream in &mut self.streams {
            stream.shown.0 |= self.shown.0;
        }
    }

    fn meter(&mut self, key: u32) -> Option<&mut Meter> {
        self.stream(key).map(|stream| &mut stream.meter)
    }

    fn stream(&mut self, key: u32) -> Option<&mut Stream> {
        self.streams.iter_mut().find(|stream| stream.key == key)
    }
}

impl Shown {
    fn of(visible: bool) -> Self {
        Self(if visible { 1 } else { 2 })
    }

    fn word(self) -> &'static str {
        ["", "visible", "hidden", "mixed"][self.0]
    }
}

/// By the numbers of `js/ends.js`.
const ENDS: [End; 7] = [
    End::Closed,
    End::Failed,
    End::Cancelled,
    End::TimedOut,
    End::PageGone,
    End::Unseen,
    // By the app's signal; elsewhere that is told from a reader that was cancelled.
    End::Cancelled,
];

#[cfg(test)]
mod tests;
