//! The meters of all streams of a page. JavaScript identifies streams by small numbers. Nothing here knows the browser.

use probe_core::framing::ContentType;
use probe_core::{End, Meter, OwnEvent, Progress, Question, Sockets, Timestamp};

use crate::report::Report;

/// The streams that JavaScript has not forgotten. It also bounds their number.
pub(crate) struct Session {
    /// The smallest step of the page's clock. `None` if it was not measured.
    pub(crate) clock_resolution_ms: Option<f64>,
    streams: Vec<Stream>,
    sockets: Sockets,
    /// Formats without a dialect whose streams were seen to end with an event that says so.
    formats_with_end: Vec<u64>,
}

struct Stream {
    key: u32,
    meter: Meter,
}

impl Session {
    /// No clock, no streams.
    pub(crate) const NONE: Self = Self {
        clock_resolution_ms: None,
        streams: Vec::new(),
        sockets: Sockets::NONE,
        formats_with_end: Vec::new(),
    };

    /// A request was made. `submit` is the time of the gesture that led to it, if there was one.
    pub(crate) fn open(&mut self, key: u32, request: f64, submit: Option<f64>) {
        let mut meter = Meter::new("", Timestamp::from_ms(request));
        if let Some(submit) = submit {
            meter.on_submit(Timestamp::from_ms(submit));
        }
        meter.on_clock(self.clock_resolution_ms);
        self.streams.push(Stream { key, meter });
    }

    /// The address of the response and, on the next line, the formats that the app describes.
    pub(crate) fn formats(&mut self, key: u32, text: &[u8]) {
        if let Some(meter) = self.meter(key) {
            meter.on_formats(text);
        }
    }

    /// The stream answers this question, and its chunks are messages of a socket.
    pub(crate) fn socket(&mut self, key: u32, question: Question<'_>) {
        if let Some(meter) = self.meter(key) {
            meter.on_socket();
            self.sockets.ask(key, question);
        }
    }

    pub(crate) fn headers(&mut self, key: u32, time: f64, status: u16, content_type: u8) {
        if let Some(meter) = self.meter(key) {
            meter.on_headers(Timestamp::from_ms(time), status, content_type_of(content_type));
        }
    }

    /// Returns the progress with these bytes, in the bits of `js/session/progress-flags.js`.
    pub(crate) fn chunk(&mut self, key: u32, time: f64, bytes: &[u8]) -> u8 {
        let is_of_socket = self.read_socket(key, time, bytes);
        let Some(meter) = self.meter(key) else { return 0 };
        meter.on_chunk(Timestamp::from_ms(time), if is_of_socket { &[] } else { bytes });
        let Progress { first_token, first_visible, ended, needs_full_wasm } = meter.progress();
        u8::from(first_token)
            | u8::from(first_visible) << 1
            | u8::from(ended) << 2
            | u8::from(needs_full_wasm) << 3
    }

    /// Reads messages of a socket for all its streams. `false` if the stream does not come over one.
    fn read_socket(&mut self, key: u32, time: f64, messages: &[u8]) -> bool {
        self.sockets.read(key, messages, |OwnEvent { stream, bytes, goes_on }| {
            // With an earlier time the meter takes the event for more of the read before.
            let at = Timestamp::from_ms(if goes_on { 0.0 } else { time });
            let owner = self.streams.iter_mut().find(|owner| owner.key == stream);
            owner.is_some_and(|Stream { meter, .. }| {
                meter.on_chunk(at, bytes);
                meter.progress().ended
            })
        })
    }

    /// The stream ended, for a reason that [`end_of`] reads.
    pub(crate) fn end(&mut self, key: u32, time: f64, reason: u8) {
        let Some(at) = self.streams.iter().position(|stream| stream.key == key) else { return };
        let meter = &mut self.streams[at].meter;
        meter.on_end(Timestamp::from_ms(time), end_of(reason));
        let Some((format, says_end)) = meter.inferred_end() else { return };
        let known = self.formats_with_end.contains(&format);
        if known && !says_end {
            meter.miss_end();
        } else if !known && says_end && self.formats_with_end.len() < MAX_FORMATS {
            self.formats_with_end.push(format);
        }
    }

    /// The report of the stream as it is now. `None` for an unknown stream.
    pub(crate) fn report(&mut self, key: u32) -> Option<Report<'_>> {
        self.meter(key).map(|meter| Report(meter.update_report()))
    }

    pub(crate) fn forget(&mut self, key: u32) {
        if let Some(at) = self.streams.iter().position(|stream| stream.key == key) {
            self.streams.swap_remove(at);
            self.sockets.forget(key);
        }
    }

    fn meter(&mut self, key: u32) -> Option<&mut Meter> {
        self.streams.iter_mut().find(|stream| stream.key == key).map(|stream| &mut stream.meter)
    }
}

/// A page has few chats.
const MAX_FORMATS: usize = 16;

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
        // A reader or the app's signal cancelled it. JavaScript distinguishes the two.
        _ => End::Cancelled,
    }
}

#[cfg(test)]
mod tests;
