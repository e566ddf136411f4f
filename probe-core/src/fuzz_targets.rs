//! The properties that fuzzing checks, each a function of any bytes. The fuzz targets under `probe-core/fuzz` only call
//! them; tests call them with every recorded stream.

use std::fmt;

use beacon::{Defect, Outcome, StreamReport};

use crate::absent::ABSENT;
use crate::dialect::{ENCODED_DIALECTS, EncodedDialect, GENERIC, StreamState};
use crate::framing::{Event, Frame, Framing, Pending};
use crate::json::Json;
use crate::text_kinds::TextKinds;
use crate::work_counter;
use crate::{End, Meter, Question, Sockets, Timestamp};

/// Cuts a body into frames: the whole body and its chunks must have the same frames. The first byte selects the chunks,
/// the rest of the first line is the content type, and the body follows.
///
/// # Panics
/// When the frames differ, or take more steps than the length of the body allows.
pub fn framing(input: &[u8]) {
    let (head, body) = split_head(input);
    let (&cut, content_type) = head.split_first().unwrap_or((&0, b""));
    let content_type = str::from_utf8(content_type).unwrap_or_default();
    let whole = with_step_limit(body.len(), 1, || frame_log(content_type, [body]));
    let split = match usize::from(cut) {
        cut @ 0..16 => {
            let chunks = body.chunks(cut + 1);
            with_step_limit(body.len(), chunks.len(), || frame_log(content_type, chunks))
        }
        cut => {
            let (left, right) = body.split_at(body.len() * (cut - 16) / 240);
            with_step_limit(body.len(), 2, || frame_log(content_type, [left, right]))
        }
    };
    assert_eq!(split, whole, "cut as {cut} says");
}

/// Scans one JSON text. Returns whether it is valid.
///
/// # Panics
/// When a value is taken from invalid text, or the scan takes more steps than the length of the text allows.
#[must_use]
pub fn json(text: &[u8]) -> bool {
    let whole = with_step_limit(text.len(), 1, || Json::new(text).finish());
    let mut scanner = Json::new(text);
    let name = scanner.model();
    assert!(name.len() <= 128, "a name is short");
    let number = Json::new(text).number();
    assert!(number.is_nan() || (number.is_finite() && number >= 0.0), "a number is a number");
    let _ = Json::new(text).is_something();
    whole
}

/// Reads the events of a body as the dialect that the first line names, or recognises it: the result must be the same
/// with and without the template of the last event.
///
/// # Panics
/// When the results differ, or take more steps than the length of the body allows.
pub fn dialects(input: &[u8]) -> Coverage {
    let (name, body) = split_head(input);
    with_step_limit(body.len(), 1 + body.len() / 8, || {
        let remembered = facts(name, body, |_| ());
        let anew = facts(name, body, StreamState::forget_template);
        assert_eq!(remembered, anew, "as {}", name.escape_ascii());
        remembered.coverage()
    })
}

/// The facts of a dialect that a body has reached. Tables are data, which have no branches for a fuzzer to count: by
/// these facts it sees that an input is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    /// The index of the dialect in [`dialect_names`].
    pub dialect: usize,
    /// A bit for each fact that was found, below [`FACTS`].
    pub facts: u64,
}

/// The number of facts in [`Coverage`].
pub const FACTS: usize = 16 + Defect::ALL.len();

/// The names of all dialects, after the one for none of them.
pub fn dialect_names() -> impl Iterator<Item = &'static str> {
    std::iter::once(GENERIC).chain(ENCODED_DIALECTS.iter().map(|dialect| dialect.name))
}

/// Reads messages of a socket with two open questions: the first line and the second are the questions, and each line
/// after them is a message. Whole messages and parts of them must give the answers the same events, and no event two
/// answers.
///
/// # Panics
/// When the events differ, or take more steps than the length of the messages allows.
pub fn sockets(input: &[u8]) {
    let (first, rest) = split_head(input);
    let (second, messages) = split_head(rest);
    let engine_io = first.first().is_some_and(u8::is_ascii_digit);
    let read = |most: usize| {
        let mut sockets = Sockets::NONE;
        for (stream, text) in [(1, first), (2, second)] {
            sockets.ask(stream, Question { socket: 1, engine_io, text });
        }
        let mut events = Vec::new();
        for line in messages.split(|&byte| byte == b'\n') {
            let chunk = [b"data: ", line, b"\n\n"].concat();
            let before = events.len();
            for part in chunk.chunks(most) {
                for stream in [1, 2] {
                    sockets.read(stream, part, |event| {
                        events.push((event.stream, event.bytes.to_vec()));
                        event.bytes.len() % 5 == 0
                    });
                }
            }
            // A packet of Engine.IO may have several events, and so may a line that has line ends of its own.
            if !engine_io && !line.contains(&b'\r') {
                assert!(events.len() <= before + 1, "{} has two answers", line.escape_ascii());
            }
        }
        events
    };
    let whole = with_step_limit(4 * input.len(), 8 + input.len() / 4, || read(usize::MAX));
    assert_eq!(read(1 + input.len() % 13), whole);
}

/// Plays calls on a meter. Bytes below 8 are calls, each with the byte after it; the bytes between calls are chunks.
/// With the chunks in pieces, the report must be the same.
///
/// # Panics
/// When the reports differ, or one is not plausible.
pub fn calls(script: &[u8]) {
    let whole = without_read_counts(play(script, usize::MAX));
    let split = without_read_counts(play(script, 1 + script.len() % 13));
    assert_eq!(split, whole);
}

/// The report of calls with their chunks in pieces of `most` bytes, at the time of the chunk.
fn play(script: &[u8], most: usize) -> StreamReport {
    let mut meter = Meter::new("", Timestamp::from_ms(1000.0));
    let (mut now_ms, mut rest) = (1000.0, script);
    while let Some((&first, more)) = rest.split_first() {
        let argument = more.first().copied().unwrap_or_default();
        let at = Timestamp::from_ms(now_ms);
        match first {
            0 => now_ms += f64::from(argument).powi(3) / 100.0,
            1 => now_ms = [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e300][usize::from(argument) % 5],
            2 => meter.on_headers(
                at,
                100 + 2 * u16::from(argument),
                TYPES[usize::from(argument) % TYPES.len()],
            ),
            3 => meter.on_end(at, ENDS[usize::from(argument) % ENDS.len()]),
            4 => meter.on_submit(at),
            5 => check_plausible(&meter.report()),
            6 => check_plausible(&meter.update_report().build(Outcome::Complete)),
            7 => meter.on_formats(FORMATS[usize::from(argument) % FORMATS.len()]),
            _ => {
                let len = rest.iter().position(|&byte| byte < 8).unwrap_or(rest.len());
                let pieces = rest[..len].chunks(most);
                with_step_limit(len, pieces.len(), || {
                    for piece in pieces {
                        meter.on_chunk(at, piece);
                    }
                });
                rest = &rest[len..];
                continue;
            }
        }
        rest = more.get(1..).unwrap_or_default();
    }
    let report = meter.report();
    check_plausible(&report);
    report
}

/// The report without the fields that count and time reads.
fn without_read_counts(mut report: StreamReport) -> StreamReport {
    for of_reads in [Defect::Stall, Defect::Buffered, Defect::Coarse] {
        report.defects.set(of_reads, 0);
    }
    StreamReport { chunks: 0, gaps: None, longest_gap_ms: None, tpot_ms: None, stalls: 0, ..report }
}

/// The first line of an input, and the rest.
fn split_head(input: &[u8]) -> (&[u8], &[u8]) {
    let end = input.iter().position(|&byte| byte == b'\n').unwrap_or(input.len());
    (&input[..end], input.get(end + 1..).unwrap_or_default())
}

/// The frames of a body. Plain text is joined.
#[derive(Default, PartialEq)]
struct FrameLog {
    /// A letter for each frame and its parts with their lengths: words would take longer to write than the body to cut.
    frames: Vec<u8>,
    text: Vec<u8>,
    broken_text: bool,
}

impl FrameLog {
    fn frame(&mut self, frame: &Frame<'_>) {
        match *frame {
            Frame::Event(event) => self.event(b'e', &event),
            Frame::Comment(comment) => self.parts(b'c', &[comment]),
            Frame::Oversize => self.parts(b'o', &[]),
            Frame::Html => self.parts(b'h', &[]),
            Frame::Text { bytes, is_utf8 } => {
                self.text.extend_from_slice(bytes);
                self.broken_text |= !is_utf8;
            }
        }
    }

    fn pending(&mut self, pending: &Pending<'_>) {
        self.parts(b'p', &[&pending.bytes.to_le_bytes(), &[pending.unclosed.into()]]);
        if let Some(event) = &pending.event {
            self.event(b'e', event);
        }
    }

    fn event(&mut self, letter: u8, event: &Event<'_>) {
        let retry = event.retry.map(u64::to_le_bytes);
        let retry = retry.as_ref().map_or(&b""[..], <[u8; 8]>::as_slice);
        self.parts(letter, &[event.name, event.data, event.id, retry]);
    }

    fn parts(&mut self, letter: u8, parts: &[&[u8]]) {
        self.frames.push(letter);
        for part in parts {
            self.frames.extend_from_slice(&part.len().to_le_bytes());
            self.frames.extend_from_slice(part);
        }
    }
}

impl fmt::Debug for FrameLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames, text, broken_text } = self;
        write!(f, "{} text {} {broken_text}", frames.escape_ascii(), text.escape_ascii())
    }
}

fn frame_log<'a>(content_type: &str, chunks: impl IntoIterator<Item = &'a [u8]>) -> FrameLog {
    let (mut log, mut start, mut framing) = (FrameLog::default(), Vec::new(), None);
    for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
        if let Some(framing) = &mut framing {
            each_frame(framing, chunk, |frame| log.frame(&frame));
            continue;
        }
        start.extend_from_slice(chunk);
        framing = Framing::of(content_type, &start);
        if let Some(framing) = &mut framing {
            each_frame(framing, &start, |frame| log.frame(&frame));
        }
    }
    if let Some(framing) = &mut framing {
        log.pending(&framing.finish());
    }
    log
}

fn each_frame(framing: &mut Framing, mut chunk: &[u8], mut then: impl FnMut(Frame<'_>)) {
    while let Some(frame) = framing.next(&mut chunk) {
        then(frame);
    }
}

/// The state and texts after the events of a body.
struct BodyFacts {
    state: StreamState,
    texts: Vec<TextKinds>,
}

/// Reads all events of a body.
fn facts(name: &[u8], body: &[u8], before_each: fn(&mut StreamState)) -> BodyFacts {
    let mut body_facts = BodyFacts { state: StreamState::NONE, texts: Vec::new() };
    body_facts.state.dialect = ENCODED_DIALECTS.iter().find(|dialect| dialect.name.as_bytes() == name);
    let mut framing = Framing::of("", body).unwrap_or_else(|| Framing::named(""));
    each_frame(&mut framing, body, |frame| match frame {
        Frame::Event(event) => {
            before_each(&mut body_facts.state);
            body_facts.texts.push(body_facts.state.read(&event));
        }
        Frame::Comment(comment) => {
            body_facts.state.read_comment(comment);
        }
        _ => {}
    });
    body_facts
}

impl BodyFacts {
    fn report(&self) -> StreamReport {
        self.state.report.build(Outcome::Complete)
    }

    fn coverage(&self) -> Coverage {
        let (report, usage) = (self.report(), &self.state.usage);
        let is_known =
            |known: &EncodedDialect| self.state.dialect.is_some_and(|dialect| dialect.name == known.name);
        let shown = |kind| self.texts.iter().any(|text| text.has(kind));
        let facts = [
            shown(TextKinds::ANSWER),
            shown(TextKinds::REASONING),
            shown(TextKinds::REFUSAL),
            shown(TextKinds::TOOL),
            report.response_model.is_some(),
            report.response_id.is_some(),
            report.finish_reason.is_some(),
            !usage.input().is_nan(),
            !usage.output().is_nan(),
            !usage.reasoning().is_nan(),
            !usage.cached().is_nan(),
            self.state.finished,
            self.state.ended,
            self.state.failed,
            report.provider.is_some(),
            self.state.server.merged(ABSENT).is_some(),
        ];
        let defects = Defect::ALL.iter().map(|&defect| report.defects.get(defect) > 0);
        let facts: [bool; FACTS - Defect::ALL.len()] = facts;
        let bits = facts.into_iter().chain(defects).enumerate();
        Coverage {
            dialect: ENCODED_DIALECTS.iter().position(is_known).map_or(0, |place| place + 1),
            facts: bits.fold(0, |all, (bit, is_set)| all | u64::from(is_set) << bit),
        }
    }
}

impl PartialEq for BodyFacts {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
            && self.report() == other.report()
            && format!("{:?}", self.state.debug_state()) == format!("{:?}", other.state.debug_state())
    }
}

impl fmt::Debug for BodyFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?} {:?}", self.report(), self.state.debug_state(), self.texts)
    }
}

/// Runs `work`, and checks that its steps are in proportion to the input.
fn with_step_limit<T>(bytes: usize, chunks: usize, work: impl FnOnce() -> T) -> T {
    let (result, steps) = work_counter::steps_of(work);
    let most = 64 * bytes as u64 + 256 * chunks as u64 + 1024;
    assert!(steps <= most, "{steps} steps for {bytes} bytes in {chunks} chunks");
    result
}

fn check_plausible(report: &StreamReport) {
    let durations = [
        report.submit_delay_ms,
        report.headers_ms,
        report.first_byte_ms,
        report.first_event_ms,
        report.ttft_ms,
        report.ttfv_ms,
        report.e2e_ms,
        report.close_ms,
        report.tpot_ms,
        report.longest_gap_ms,
    ];
    for ms in durations.into_iter().flatten() {
        assert!(ms.is_finite() && ms >= 0.0, "{report:?}");
    }
    assert!(report.deltas <= report.events, "{report:?}");
    assert!(report.ttft_ms <= report.e2e_ms, "{report:?}");
}

const TYPES: [&str; 6] =
    ["text/event-stream", "", "application/x-ndjson", "application/json", "text/plain", "text/html; a=b"];

/// An address, and descriptions by an app.
const FORMATS: [&[u8]; 5] = [
    b"/api\n{\"text\":[\"choices.0.delta.content\",\"text if type=delta\"],\"end\":\"done\",\"error\":\"error.message\"}",
    b"/api\n[{\"text\":\"*.*\",\"cumulative\":true,\"id\":\"id\",\"outputTokens\":\"usage.*\"}]",
    b"/api\n[{\"url\":\"/no\",\"text\":\"t\"},{\"url\":\"/api\",\"text\":\"@data\",\"end\":[\"@event=end\",\"@data=[END]\"]}]",
    b"/api\n{}",
    b"call:a",
];

const ENDS: [End; 6] = [End::Closed, End::Failed, End::Cancelled, End::TimedOut, End::PageGone, End::Unseen];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Every input in a folder of the project.
    fn each_file(folder: &str, mut then: impl FnMut(&[u8])) -> usize {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
        let inputs = files.filter(|file| file.extension().is_none_or(|kind| kind != "json"));
        inputs.map(|file| then(&fs::read(file).unwrap())).count()
    }

    /// Every recorded stream after each of the heads, every seed, and every input that fuzzing has found to reach new
    /// code.
    fn each_input(target: &str, heads: &[&str], mut then: impl FnMut(&[u8])) {
        let recorded = each_file("../tests/fixtures/streams", |body| {
            heads.iter().for_each(|head| then(&[head.as_bytes(), body].concat()));
        });
        let found = each_file(&format!("fuzz/found/{target}"), &mut then);
        assert!(recorded > 100 && found > 100, "{recorded} recorded, {found} found");
        assert!(each_file(&format!("fuzz/seeds/{target}"), then) > 0);
    }

    #[test]
    fn every_body_is_framed_the_same_however_it_is_split() {
        each_input("framing", &["\0\n", "\u{2}\n", "\u{f}text/plain\n", "\u{7f}\n"], framing);
    }

    #[test]
    fn every_line_is_json_or_is_not() {
        each_input("json", &[""], |body| {
            let _ = json(body);
            body.split(|&byte| byte == b'\n').for_each(|line| {
                let _ = json(line);
            });
        });
    }

    #[test]
    fn every_body_reads_the_same_again_in_every_dialect() {
        let heads: Vec<_> = dialect_names().map(|name| format!("{name}\n")).collect();
        let mut reached = vec![0; heads.len()];
        each_input("dialects", &heads.iter().map(String::as_str).collect::<Vec<_>>(), |input| {
            let Coverage { dialect, facts } = dialects(input);
            reached[dialect] |= facts;
        });
        for (name, facts) in dialect_names().zip(reached).skip(1) {
            assert_ne!(facts & 15, 0, "no input has text in {name}");
        }
    }

    #[test]
    fn every_body_is_a_script_of_calls() {
        each_input("calls", &["", "\u{2}\0"], calls);
    }

    #[test]
    fn every_recorded_socket_is_read_the_same_however_it_is_split() {
        let recorded = each_file("../tests/fixtures/sockets", |rows| {
            sockets(rows);
            sockets(&[b"4\n", rows].concat());
        });
        let seeds = each_file("fuzz/seeds/sockets", sockets);
        assert!(recorded > 3 && seeds > 3, "{recorded} recorded, {seeds} seeds");
    }

    #[test]
    fn the_work_of_an_event_depends_on_neither_position_nor_split() {
        let event = b"data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}],\"pad\":\"x\"}\n\n";
        let stream = |events: usize, bytes: usize| {
            let mut meter = Meter::new("", Timestamp::from_ms(0.0));
            let body = event.repeat(events);
            let ((), steps) = work_counter::steps_of(|| {
                for chunk in body.chunks(bytes) {
                    meter.on_chunk(Timestamp::from_ms(1.0), chunk);
                }
            });
            assert_eq!(meter.report().deltas as usize, events);
            steps / events as u64
        };
        let one = stream(1_000, event.len());
        assert_eq!(stream(100_000, event.len()), one, "steps per event of a long stream");
        assert!(one < event.len() as u64, "{one} steps for an event of {} bytes", event.len());
        for bytes in [1, 2, 7, 40, 4096, usize::MAX] {
            let split = stream(1_000, bytes);
            assert!(split <= 4 * event.len() as u64, "{split} steps per event, {bytes} bytes at a time");
        }
    }
}
