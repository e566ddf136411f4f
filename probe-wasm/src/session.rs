//! All streams of a page: what the tap tells of each comes in, reports go out.
//!
//! Streams go by the small number that the facade gave them. Nothing here knows the browser.

use probe_core::framing::ContentType;
use probe_core::{End, Meter, Progress, Timestamp};

use crate::report::Report;

/// The streams that the facade has not forgotten; it bounds how many there are.
pub(crate) struct Session {
    /// The smallest step that the page's clock shows. NaN where nobody has looked.
    pub(crate) clock_resolution_ms: f64,
    streams: Vec<Stream>,
}

struct Stream {
    key: u32,
    meter: Meter,
}

impl Session {
    /// No clock, no streams.
    pub(crate) const NONE: Self = Self { clock_resolution_ms: f64::NAN, streams: Vec::new() };

    /// A request was made. `submit`, the gesture that led to it, is NaN without one.
    pub(crate) fn open(&mut self, key: u32, request: f64, submit: f64) {
        let mut meter = Meter::new("", Timestamp::from_ms(request));
        if !submit.is_nan() {
            meter.on_submit(Timestamp::from_ms(submit));
        }
        meter.on_clock(self.clock_resolution_ms);
        self.streams.push(Stream { key, meter });
    }

    pub(crate) fn headers(&mut self, key: u32, time: f64, status: u16, content_type: u8) {
        if let Some(meter) = self.meter(key) {
            meter.on_headers(Timestamp::from_ms(time), status, content_type_of(content_type));
        }
    }

    /// What has been seen with these bytes, in the bits of `js/session/progress-flags.js`.
    pub(crate) fn chunk(&mut self, key: u32, time: f64, bytes: &[u8]) -> u8 {
        let Some(meter) = self.meter(key) else { return 0 };
        meter.on_chunk(Timestamp::from_ms(time), bytes);
        let Progress { first_token, first_visible, ended, needs_full_wasm } = meter.progress();
        u8::from(first_token)
            | u8::from(first_visible) << 1
            | u8::from(ended) << 2
            | u8::from(needs_full_wasm) << 3
    }

    /// The stream ended, in the way that [`end_of`] reads.
    pub(crate) fn end(&mut self, key: u32, time: f64, how: u8) {
        if let Some(meter) = self.meter(key) {
            meter.on_end(Timestamp::from_ms(time), end_of(how));
        }
    }

    /// The stream as it is now. `None` for an unknown one.
    pub(crate) fn report(&mut self, key: u32) -> Option<Report<'_>> {
        self.meter(key).map(|meter| Report(meter.update_report()))
    }

    pub(crate) fn forget(&mut self, key: u32) {
        if let Some(at) = self.streams.iter().position(|stream| stream.key == key) {
            self.streams.swap_remove(at);
        }
    }

    fn meter(&mut self, key: u32) -> Option<&mut Meter> {
        self.streams.iter_mut().find(|stream| stream.key == key).map(|stream| &mut stream.meter)
    }
}

/// By the numbers of `js/tap/content-types.js`.
fn content_type_of(number: u8) -> ContentType {
    match number {
        0 => ContentType::Events,
        1 => ContentType::Lines,
        _ => ContentType::Other,
    }
}

/// By the numbers of `js/session/end-reasons.js`.
fn end_of(number: u8) -> End {
    match number {
        0 => End::Closed,
        1 => End::Failed,
        3 => End::TimedOut,
        4 => End::PageGone,
        5 => End::Unseen,
        // By a reader or by the app's signal, which are told apart elsewhere.
        _ => End::Cancelled,
    }
}

#[cfg(test)]
mod tests;
