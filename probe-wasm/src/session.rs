//! All streams of a page: what the tap tells of each comes in, reports come out when asked for.
//!
//! Streams go by the small number that the facade gave them. Nothing here knows the browser.

use std::borrow::Cow;

use beacon::{Outcome, Page, StreamReport};
use probe_core::{End, Meter, Timestamp};

use crate::json::to_json;
use crate::send::{Answer, Batch, DELAY_MS, Outbox};

/// The open streams, and the reports of those that ended until they are delivered.
pub(crate) struct Session {
    options: Options,
    page: Page,
    clock_resolution_ms: Option<f64>,
    visible: bool,
    streams: Vec<Stream>,
    outbox: Outbox,
}

/// What the page said to `start()`, the same for every report.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// What the app uses the model for.
    pub(crate) use_case: Option<String>,
    /// Who serves the model; what the content proves goes before it.
    pub(crate) provider: Option<String>,
    /// Release of the app.
    pub(crate) release: Option<String>,
}

/// What is known when a request is made.
pub(crate) struct Opening {
    /// 32 hexadecimal digits.
    pub(crate) id: String,
    pub(crate) request: f64,
    /// The gesture that led to it.
    pub(crate) submit: Option<f64>,
    /// As the request names it.
    pub(crate) model: Option<String>,
    /// Route and connection at this moment.
    pub(crate) page: Page,
}

/// How a stream ended, in the facade's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Meter(End),
    /// Read to its end in a way that showed nothing of the content.
    Unseen,
}

struct Stream {
    key: u32,
    meter: Meter,
    opening: Opening,
    /// The app asked for body bytes.
    read: bool,
    /// When the response came.
    headers: Option<f64>,
    visibility: Visibility,
    rev: u32,
    /// When the collector should hear of it again.
    interim: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visibility {
    Visible,
    Hidden,
    Mixed,
}

impl How {
    pub(crate) const fn from_number(number: u8) -> Self {
        Self::Meter(match number {
            0 => End::Closed,
            1 => End::Failed,
            2 => End::Cancelled,
            3 => End::TimedOut,
            4 => End::PageGone,
            _ => return Self::Unseen,
        })
    }
}

impl Session {
    pub(crate) fn new(options: Options, page: Page, clock_resolution_ms: Option<f64>, visible: bool) -> Self {
        let (streams, outbox) = (Vec::new(), Outbox::default());
        Self { options, page, clock_resolution_ms, visible, streams, outbox }
    }

    /// A request was made. Too many at once: the oldest is reported as it is.
    pub(crate) fn open(&mut self, key: u32, opening: Opening) {
        if self.streams.len() >= MAX_OPEN {
            let oldest = self.streams[0].key;
            self.end(oldest, opening.request, How::Meter(End::PageGone));
        }
        let mut meter = Meter::new(opening.id.clone(), Timestamp::from_ms(opening.request));
        if let Some(submit) = opening.submit {
            meter.on_submit(Timestamp::from_ms(submit));
        }
        let visibility = if self.visible { Visibility::Visible } else { Visibility::Hidden };
        let interim = opening.request + INTERIM_MS;
        let stream = Stream { key, meter, opening, read: false, headers: None, visibility, rev: 0, interim };
        self.streams.push(stream);
    }

    pub(crate) fn headers(&mut self, key: u32, time: f64, status: u16, content_type: &str) {
        if let Some(stream) = self.stream(key) {
            stream.headers = Some(time);
            stream.meter.on_headers(Timestamp::from_ms(time), status, content_type);
        }
    }

    /// The app asked for body bytes.
    pub(crate) fn read(&mut self, key: u32) {
        if let Some(stream) = self.stream(key) {
            stream.read = true;
        }
    }

    /// Whether these bytes brought the first token.
    pub(crate) fn chunk(&mut self, key: u32, time: f64, bytes: &[u8]) -> bool {
        let Some(stream) = self.stream(key) else { return false };
        let first = stream.meter.on_chunk(Timestamp::from_ms(time), bytes).first_token;
        if first {
            stream.interim = stream.interim.min(time + DELAY_MS);
        }
        first
    }

    /// The JSON of the final report, which is also queued. `None` for a stream that is not open.
    pub(crate) fn end(&mut self, key: u32, time: f64, how: How) -> Option<String> {
        let at = self.streams.iter().position(|stream| stream.key == key)?;
        let mut stream = self.streams.remove(at);
        let report = to_json(&self.last_report(&mut stream, time, how));
        self.outbox.push(time, report.clone());
        Some(report)
    }

    /// It was no stream.
    pub(crate) fn forget(&mut self, key: u32) {
        self.streams.retain(|stream| stream.key != key);
    }

    /// Streams that were given up before the session began.
    pub(crate) fn lost_early(&mut self, streams: u32) {
        self.outbox.lost_early(streams);
    }

    /// The JSON of the stream as it is now.
    pub(crate) fn report(&self, key: u32) -> Option<String> {
        let stream = self.streams.iter().find(|stream| stream.key == key)?;
        Some(to_json(&self.report_of(stream)))
    }

    /// The page was shown or hidden.
    pub(crate) fn set_visible(&mut self, visible: bool) {
        self.visible = visible;
        let now = if visible { Visibility::Visible } else { Visibility::Hidden };
        for stream in &mut self.streams {
            if stream.visibility != now {
                stream.visibility = Visibility::Mixed;
            }
        }
    }

    /// The page goes away for good.
    pub(crate) fn page_gone(&mut self, time: f64) {
        while let Some(key) = self.streams.last().map(|stream| stream.key) {
            self.end(key, time, How::Meter(End::PageGone));
        }
    }

    /// When something is due to be sent. `None`: nothing is, or an answer is awaited.
    pub(crate) fn due(&self) -> Option<f64> {
        let interim = self.streams.iter().map(|stream| stream.interim).reduce(f64::min);
        self.outbox.due_with(interim)
    }

    /// The next body to send, for which [`answered`](Self::answered) will be called.
    pub(crate) fn batch(&mut self, now: f64) -> Option<String> {
        self.give_up_unread(now);
        if self.due().is_none_or(|due| due > now) {
            return None;
        }
        let mut batch = self.outbox.begin();
        let taken = self.outbox.fill(&mut batch);
        self.add_interims(&mut batch, now);
        let (body, told) = batch.finish()?;
        self.outbox.sent(taken, told);
        Some(body)
    }

    /// Makes everything due: the page may be on its way out.
    pub(crate) fn hurry(&mut self, now: f64) {
        self.outbox.hurry(now);
        for stream in &mut self.streams {
            stream.interim = now;
        }
    }

    /// The next body to send when no answer can be awaited any more. Call until `None`.
    pub(crate) fn last_words(&mut self, now: f64) -> Option<String> {
        let mut batch = self.outbox.begin();
        self.outbox.fill(&mut batch);
        self.add_interims(&mut batch, now);
        let (body, told) = batch.finish()?;
        self.outbox.sent_blindly(told);
        Some(body)
    }

    /// The collector's answer to the last [`batch`](Self::batch).
    pub(crate) fn answered(&mut self, now: f64, answer: Answer) {
        self.outbox.answered(now, answer);
    }

    fn stream(&mut self, key: u32) -> Option<&mut Stream> {
        self.streams.iter_mut().find(|stream| stream.key == key)
    }

    fn add_interims(&mut self, batch: &mut Batch, now: f64) {
        for at in 0..self.streams.len() {
            if self.streams[at].interim <= now && batch.add(&to_json(&self.report_of(&self.streams[at]))) {
                self.streams[at].interim = now + INTERIM_MS;
                self.streams[at].rev += 1;
            }
        }
    }

    /// A body that went elsewhere, to another `Response` or a worker, is never seen to end.
    fn give_up_unread(&mut self, now: f64) {
        let unread = |stream: &Stream| !stream.read && stream.headers.is_some_and(|at| now - at > UNREAD_MS);
        while let Some(key) = self.streams.iter().find(|stream| unread(stream)).map(|stream| stream.key) {
            self.end(key, now, How::Unseen);
        }
    }

    fn last_report(&self, stream: &mut Stream, time: f64, how: How) -> StreamReport {
        let end = match how {
            How::Meter(end) => end,
            How::Unseen => End::Closed,
        };
        stream.meter.on_end(Timestamp::from_ms(time), end);
        let mut report = self.report_of(stream);
        let answered = report.status.is_some_and(|status| status < 400);
        let unseen = how == How::Unseen || (end == End::PageGone && !stream.read);
        if answered && unseen && report.chunks == 0 {
            report.outcome = Outcome::Unobserved;
        }
        report
    }

    fn report_of(&self, stream: &Stream) -> StreamReport {
        let mut report = stream.meter.report();
        report.rev = stream.rev;
        report.use_case = owned(&self.options.use_case);
        report.provider = report.provider.or_else(|| owned(&self.options.provider));
        report.model = owned(&stream.opening.model);
        report.clock_resolution_ms = self.clock_resolution_ms;
        report.page = Some(Page {
            route: stream.opening.page.route.clone(),
            connection: stream.opening.page.connection.clone(),
            visibility: Some(stream.visibility.as_str().into()),
            release: owned(&self.options.release),
            ..self.page.clone()
        });
        report
    }
}

impl Visibility {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Visible => "visible",
            Self::Hidden => "hidden",
            Self::Mixed => "mixed",
        }
    }
}

fn owned(text: &Option<String>) -> Option<Cow<'static, str>> {
    text.clone().map(Cow::Owned)
}

const MAX_OPEN: usize = 100;
/// How often the collector hears of a stream that stays open.
const INTERIM_MS: f64 = 15_000.0;
/// How long a response may lie unread before its stream is given up.
const UNREAD_MS: f64 = 60_000.0;

#[cfg(test)]
mod tests;
