//! What fuzzing holds the crate to: bytes come in, and whatever they are, each of these returns. The
//! fuzz targets under `probe-core/fuzz` only call them; tests call them with every recorded stream.

use beacon::StreamReport;

use crate::dialect::{DIALECTS, Facts};
use crate::framing::{Event, Frame, Framing};
use crate::json::Json;
use crate::steps;
use crate::{End, Meter, Timestamp};

/// Cuts a body into frames: whole, in halves and in small chunks it must say the same. The last byte
/// picks the content type.
///
/// # Panics
/// When it does not, or takes more steps than the body has bytes for.
pub fn framing(body: &[u8]) {
    let content_type = TYPES[usize::from(body.last().copied().unwrap_or_default()) % TYPES.len()];
    let (whole, _) = within(body.len(), 1, || frames(content_type, [body]));
    let (left, right) = body.split_at(body.len() / 2);
    let (halves, _) = within(body.len(), 2, || frames(content_type, [left, right]));
    assert_eq!(halves, whole, "in halves");
    for bytes in [1, 3, 64] {
        let chunks = body.len().div_ceil(bytes);
        let (split, _) = within(body.len(), chunks, || frames(content_type, body.chunks(bytes)));
        assert_eq!(split, whole, "{bytes} at a time");
    }
}

/// Scans one JSON text. Whether it is one.
///
/// # Panics
/// When a value is taken from text that is none, or it takes more steps than the text has bytes for.
#[must_use]
pub fn json(text: &[u8]) -> bool {
    let (whole, _) = within(text.len(), 1, || Json::new(text).finish());
    let mut scanner = Json::new(text);
    let name = scanner.name();
    assert!(name.is_none_or(|name| !name.is_empty() && name.len() <= 128), "a name is short");
    let number = Json::new(text).number();
    assert!(number.is_none_or(|number| number.is_finite() && number >= 0.0), "a number is a number");
    let _ = Json::new(text).is_something();
    whole
}

/// Reads the events of a body as one dialect or as whichever it is, as the last byte picks: with and
/// without remembering how the last event looked it must say the same.
///
/// # Panics
/// When it does not, or takes more steps than the body has bytes for.
pub fn dialects(body: &[u8]) {
    let pick = usize::from(body.last().copied().unwrap_or_default()) % (DIALECTS.len() + 1);
    dialect(DIALECTS.get(pick).map_or("", |dialect| dialect.name), body);
}

fn dialect(name: &str, body: &[u8]) {
    let ((), _) = within(body.len(), 1 + body.len() / 8, || {
        let remembered = facts(name, body, |_| ());
        let anew = facts(name, body, Facts::forget_layout);
        assert_eq!(remembered, anew, "as {name}");
    });
}

/// Plays calls on a meter. Bytes below 7 are calls, each with the byte behind it; what lies between
/// them are chunks.
///
/// # Panics
/// When a report cannot be believed.
pub fn calls(script: &[u8]) {
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
            5 => believe(&meter.report()),
            6 => believe(meter.settle()),
            _ => {
                let len = rest.iter().position(|&byte| byte < 7).unwrap_or(rest.len());
                within(len, 1, || meter.on_chunk(at, &rest[..len]));
                rest = &rest[len..];
                continue;
            }
        }
        rest = more.get(1..).unwrap_or_default();
    }
    believe(&meter.report());
}

/// What a framing says of these chunks, in words; text without its cuts.
fn frames<'a>(content_type: &str, chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, Vec<u8>) {
    let (mut said, mut text, mut start, mut framing) = (Vec::new(), Vec::new(), Vec::new(), None);
    for chunk in chunks {
        start.extend_from_slice(chunk);
        framing = framing.or_else(|| Framing::of(content_type, &start));
        if let Some(framing) = &mut framing {
            each_frame(framing, &std::mem::take(&mut start), |frame| match frame {
                Frame::Text { bytes, .. } => text.extend_from_slice(bytes),
                other => said.push(format!("{other:?}")),
            });
        }
    }
    if let Some(framing) = &mut framing {
        said.push(format!("{:?}", framing.finish()));
    }
    (said, text)
}

fn each_frame(framing: &mut Framing, mut chunk: &[u8], mut then: impl FnMut(Frame<'_>)) {
    while let Some(frame) = framing.next(&mut chunk) {
        then(frame);
    }
}

/// What the events of a body say.
fn facts(name: &str, body: &[u8], before_each: fn(&mut Facts)) -> String {
    let mut facts = Facts::new(StreamReport::new(""));
    facts.dialect = DIALECTS.iter().copied().find(|dialect| dialect.name == name);
    let mut texts = Vec::new();
    let mut framing = Framing::of("", body).unwrap_or_else(|| Framing::named(""));
    let mut read = |facts: &mut Facts, event: &Event<'_>| {
        before_each(facts);
        texts.push(facts.read(event));
    };
    each_frame(&mut framing, body, |frame| match frame {
        Frame::Event(event) => read(&mut facts, &event),
        Frame::Comment(comment) => facts.read_comment(comment),
        _ => {}
    });
    format!("{:?} {:?} {:?}", facts.report, facts.judged(), texts)
}

/// Runs `work`, and holds it to steps in proportion to what came in.
fn within<T>(bytes: usize, chunks: usize, work: impl FnOnce() -> T) -> (T, u64) {
    let (result, steps) = steps::of(work);
    let most = 64 * bytes as u64 + 256 * chunks as u64 + 1024;
    assert!(steps <= most, "{steps} steps for {bytes} bytes in {chunks} chunks");
    (result, steps)
}

fn believe(report: &StreamReport) {
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

const ENDS: [End; 6] = [End::Closed, End::Failed, End::Cancelled, End::TimedOut, End::PageGone, End::Unseen];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Every recorded stream, and every seed that fuzzing has left.
    fn each_body(target: &str, mut then: impl FnMut(&[u8])) {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut bodies = 0;
        for folder in ["../tests/fixtures/streams", &format!("fuzz/seeds/{target}")] {
            let Ok(files) = fs::read_dir(crate_folder.join(folder)) else { continue };
            for file in files {
                then(&fs::read(file.unwrap().path()).unwrap());
                bodies += 1;
            }
        }
        assert!(bodies > 100, "{bodies} bodies");
    }

    #[test]
    fn every_body_is_framed_the_same_however_it_is_split() {
        each_body("framing", framing);
    }

    #[test]
    fn every_line_is_json_or_is_not() {
        each_body("json", |body| {
            let _ = json(body);
            body.split(|&byte| byte == b'\n').for_each(|line| {
                let _ = json(line);
            });
        });
    }

    #[test]
    fn every_body_says_the_same_read_anew_in_every_dialect() {
        each_body("dialects", |body| {
            dialect("", body);
            DIALECTS.iter().for_each(|known| dialect(known.name, body));
        });
    }

    #[test]
    fn every_body_is_a_script_of_calls() {
        each_body("calls", calls);
    }

    #[test]
    fn an_event_costs_the_same_late_in_a_stream_and_however_it_is_split() {
        let event = b"data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}],\"pad\":\"x\"}\n\n";
        let stream = |events: usize, bytes: usize| {
            let mut meter = Meter::new("", Timestamp::from_ms(0.0));
            let body = event.repeat(events);
            let ((), steps) = steps::of(|| {
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
