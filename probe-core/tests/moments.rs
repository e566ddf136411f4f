//! Times and counts of generated streams, computed a second time from the definitions in `docs/metrics.md`: the
//! generator knows when each event was whole, and what it brought.

use beacon::{Defect, Outcome, RELATIVE_ERROR, StreamReport};
use probe_core::{End, Meter, Timestamp};
use proptest::prelude::*;
use serde_json::json;

/// What one event brings.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Said {
    Answer,
    Reasoning,
    /// An event without text: a role, an empty string.
    Nothing,
    /// Not an event: a comment, a blank line.
    Ping,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Format {
    OpenAiChat,
    Anthropic,
    Ollama,
    Gemini,
    PlainText,
}

/// A generated stream: its content, the cut of its bytes into reads, and the time of each read.
#[derive(Debug, Clone)]
struct Made {
    format: Format,
    said: Vec<Said>,
    /// Output tokens, as the provider counts them.
    tokens: Option<u64>,
    /// The last line has no line end, if the format allows that.
    unended: bool,
    /// Lengths of the reads and the time before each, repeated over and over.
    reads: Vec<(usize, f64)>,
    /// Time from the last read to the close.
    close_after: f64,
}

/// One read of text: its time and its content.
struct Expected {
    first_byte: f64,
    first_event: Option<f64>,
    /// Times of the reads that carried text.
    text_reads: Vec<f64>,
    first_visible: Option<f64>,
    events: u32,
    deltas: u32,
    close: f64,
}

fn written(format: Format, said: Said) -> String {
    let text = if said == Said::Nothing { "" } else { "für" };
    let thinks = said == Said::Reasoning;
    match format {
        Format::PlainText => "für ".to_owned(),
        _ if said == Said::Ping => match format {
            Format::Ollama | Format::Gemini => "\n".to_owned(),
            _ => ": ping\n\n".to_owned(),
        },
        Format::OpenAiChat => {
            let delta = if thinks { json!({"reasoning_content": text}) } else { json!({"content": text}) };
            let event = json!({"id": "c", "object": "chat.completion.chunk", "model": "m",
                "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
            format!("data: {event}\n\n")
        }
        Format::Anthropic => {
            let delta = if thinks {
                json!({"type": "thinking_delta", "thinking": text})
            } else {
                json!({"type": "text_delta", "text": text})
            };
            let event = json!({"type": "content_block_delta", "index": 0, "delta": delta});
            format!("event: content_block_delta\ndata: {event}\n\n")
        }
        Format::Ollama => {
            let message = if thinks {
                json!({"role": "assistant", "content": "", "thinking": text})
            } else {
                json!({"role": "assistant", "content": text})
            };
            let line = json!({"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false});
            format!("{line}\n")
        }
        Format::Gemini => {
            let part = if thinks { json!({"text": text, "thought": true}) } else { json!({"text": text}) };
            let value =
                json!({"candidates": [{"content": {"parts": [part]}, "index": 0}], "modelVersion": "m"});
            format!(",{value}")
        }
    }
}

/// The event with the token counts, if the format has one.
fn counted(format: Format, tokens: u64) -> Option<String> {
    Some(match format {
        Format::OpenAiChat => format!(
            "data: {}\n\n",
            json!({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [],
                "usage": {"prompt_tokens": 3, "completion_tokens": tokens, "total_tokens": tokens + 3}})
        ),
        Format::Anthropic => format!(
            "event: message_delta\ndata: {}\n\n",
            json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": tokens}})
        ),
        _ => return None,
    })
}

impl Made {
    /// The body, and for each event its end and its content.
    fn body(&self) -> (Vec<u8>, Vec<(usize, Said)>) {
        let mut body = String::new();
        let mut events = Vec::new();
        if self.format == Format::Anthropic {
            let start = json!({"type": "message_start", "message": {"id": "a", "model": "m"}});
            body += &format!("event: message_start\ndata: {start}\n\n");
            events.push((body.len(), Said::Nothing));
        }
        for &said in &self.said {
            let event = written(self.format, said);
            // The opening bracket of the array takes the place of the comma.
            body += &if body.trim().is_empty() { event.replacen(",{\"cand", "[{\"cand", 1) } else { event };
            events.push((body.len(), said));
        }
        if let Some(event) = self.tokens.and_then(|tokens| counted(self.format, tokens)) {
            body += &event;
            events.push((body.len(), Said::Nothing));
        }
        let lines = self.format == Format::Ollama;
        if lines && self.unended && events.last().is_some_and(|&(_, said)| said != Said::Ping) {
            body.pop();
            events.last_mut().unwrap().0 -= 1;
        }
        (body.into_bytes(), events)
    }

    fn reads<'a>(&self, mut body: &'a [u8]) -> Vec<(f64, &'a [u8])> {
        let mut reads = Vec::new();
        let mut now = 0.0;
        // Two reads within one step of the clock count as one at the start or the end of a span.
        let least = if self.unended || self.format == Format::PlainText { 0.1 } else { 0.0 };
        for (length, after) in self.reads.iter().cycle() {
            if body.is_empty() {
                break;
            }
            let (chunk, rest) = body.split_at((*length).min(body.len()));
            now += after.max(least);
            reads.push((now, chunk));
            body = rest;
        }
        reads
    }

    fn report(&self) -> StreamReport {
        let (body, _) = self.body();
        let content_type = match self.format {
            Format::OpenAiChat | Format::Anthropic => "text/event-stream",
            Format::Ollama => "application/x-ndjson",
            Format::Gemini => "application/json",
            Format::PlainText => "text/plain; charset=utf-8",
        };
        let mut meter = Meter::new("made", Timestamp::from_ms(START));
        meter.on_headers(Timestamp::from_ms(START), 200, content_type);
        let mut now = START;
        for (time, chunk) in self.reads(&body) {
            now = START + time;
            meter.on_chunk(Timestamp::from_ms(now), chunk);
        }
        meter.on_end(Timestamp::from_ms(now + self.close_after), End::Closed);
        meter.report()
    }

    fn expected(&self) -> Expected {
        let (body, events) = self.body();
        let reads = self.reads(&body);
        let mut ends = 0;
        let reads: Vec<_> = reads
            .iter()
            .map(|(time, chunk)| {
                ends += chunk.len();
                (*time, ends)
            })
            .collect();
        let mut expected = Expected {
            first_byte: reads[0].0,
            first_event: None,
            text_reads: Vec::new(),
            first_visible: None,
            events: 0,
            deltas: 0,
            close: reads.last().unwrap().0 + self.close_after,
        };
        if self.format == Format::PlainText {
            expected.text_reads = reads.iter().map(|&(time, _)| time).collect();
            expected.first_visible = Some(reads[0].0);
            return expected;
        }
        let mut last_read = None;
        for (end, said) in events {
            let read = reads.iter().position(|&(_, read_end)| read_end >= end).unwrap();
            let time = reads[read].0;
            if said == Said::Ping {
                continue;
            }
            expected.events += 1;
            expected.first_event.get_or_insert(time);
            if said == Said::Nothing {
                continue;
            }
            expected.deltas += 1;
            if said == Said::Answer {
                expected.first_visible.get_or_insert(time);
            }
            if last_read != Some(read) {
                expected.text_reads.push(time);
                last_read = Some(read);
            }
        }
        expected
    }
}

fn check(made: &Made) {
    let (report, expected) = (made.report(), made.expected());
    let near = |name: &str, found: Option<f64>, expected: Option<f64>| match (found, expected) {
        (None, None) => {}
        (Some(found), Some(expected)) if (found - expected).abs() < 0.0015 => {}
        _ => panic!("{name} is {found:?} where {expected:?} is expected of {made:?}: {report:?}"),
    };
    let texts = &expected.text_reads;
    near("first_byte_ms", report.first_byte_ms, Some(expected.first_byte));
    near("first_event_ms", report.first_event_ms, expected.first_event);
    near("ttft_ms", report.ttft_ms, texts.first().copied());
    near("ttfv_ms", report.ttfv_ms, expected.first_visible);
    near("e2e_ms", report.e2e_ms, texts.last().copied());
    near("close_ms", report.close_ms, Some(expected.close));
    assert_eq!((report.events, report.deltas), (expected.events, expected.deltas), "{made:?}: {report:?}");

    let gaps: Vec<_> = texts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    near("longest_gap_ms", report.longest_gap_ms, gaps.iter().copied().reduce(f64::max));
    let held = report.gaps.clone().unwrap_or_default();
    assert_eq!(held.count(), gaps.len() as u64, "gaps of {made:?}: {report:?}");
    let sum: f64 = gaps.iter().sum();
    assert!((held.sum() - sum).abs() < 0.01, "the gaps' sum {} where {sum} is expected", held.sum());
    let mut sorted = gaps;
    sorted.sort_by(f64::total_cmp);
    if let Some(median) = held.quantile(0.5).filter(|median| *median > 0.0) {
        let exact = sorted[(sorted.len() - 1) / 2];
        assert!((median - exact).abs() <= exact * RELATIVE_ERROR * 1.001 + 0.001, "{median} where {exact}");
    }

    let tokens = made.tokens.filter(|&tokens| counted(made.format, tokens).is_some());
    assert_eq!(report.output_tokens, tokens, "{made:?}");
    let generation = texts.last().unwrap_or(&0.0) - texts.first().unwrap_or(&0.0);
    let tpot = tokens.filter(|&tokens| tokens >= 2 && texts.len() >= 2);
    near("tpot_ms", report.tpot_ms, tpot.map(|tokens| generation / (tokens - 1) as f64));
}

/// A usual time of a page's clock.
const START: f64 = 86_400_123.4;

fn made() -> impl Strategy<Value = Made> {
    let format = prop_oneof![
        Just(Format::OpenAiChat),
        Just(Format::Anthropic),
        Just(Format::Ollama),
        Just(Format::Gemini),
        Just(Format::PlainText)
    ];
    let said = prop_oneof![
        4 => Just(Said::Answer),
        2 => Just(Said::Reasoning),
        1 => Just(Said::Nothing),
        1 => Just(Said::Ping)
    ];
    let length = prop_oneof![1 => 1..8_usize, 3 => 8..600_usize];
    // In tenths of milliseconds, as on the clock of a page.
    let after = prop_oneof![2 => 0..4_u32, 3 => 0..3000_u32].prop_map(|tenths| f64::from(tenths) / 10.0);
    (
        format,
        proptest::collection::vec(said, 1..12),
        proptest::option::of(0..60_u64),
        any::<bool>(),
        proptest::collection::vec((length, after), 1..8),
        0..2000_u32,
    )
        // Blanks alone show no format.
        .prop_filter("something comes", |(_, said, ..)| said.iter().any(|said| *said != Said::Ping))
        .prop_map(|(format, said, tokens, unended, reads, close)| Made {
            format,
            said,
            tokens,
            unended,
            reads,
            close_after: f64::from(close),
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn every_figure_is_what_its_definition_says(made in made()) {
        check(&made);
    }
}

#[test]
fn an_unended_last_line_is_read_at_the_time_of_its_bytes() {
    check(&Made {
        format: Format::Ollama,
        said: vec![Said::Answer, Said::Answer],
        tokens: None,
        unended: true,
        reads: vec![(10_000, 5.0)],
        close_after: 900.0,
    });
}

#[test]
fn short_plain_text_is_timed_by_its_own_reads() {
    for (length, after) in [(1, 7.0), (2, 30.0), (10, 30.0)] {
        let body = &b"id"[..];
        let mut meter = Meter::new("short", Timestamp::from_ms(0.0));
        meter.on_headers(Timestamp::from_ms(1.0), 200, "text/plain");
        for (at, chunk) in body.chunks(length).enumerate() {
            meter.on_chunk(Timestamp::from_ms(after * (at + 1) as f64), chunk);
        }
        meter.on_end(Timestamp::from_ms(5_000.0), End::Closed);
        let report = meter.report();
        assert_eq!(report.ttft_ms, Some(after), "by reads of {length}");
        assert_eq!(report.e2e_ms, Some(after * body.len().div_ceil(length) as f64), "by reads of {length}");
    }
}

/// Text that an extension passes on piece by piece, as a page gets it.
#[test]
fn more_of_the_same_read_is_no_chunk_and_makes_no_gap() {
    let [nothing, answer] = [Said::Nothing, Said::Answer].map(|said| written(Format::OpenAiChat, said));
    let usage = counted(Format::OpenAiChat, 9).unwrap();
    let report = |reads: &[(f64, &[&str])]| {
        let mut meter = Meter::new("piecemeal", Timestamp::from_ms(START));
        meter.on_headers(Timestamp::from_ms(START), 200, "text/event-stream");
        for (time, parts) in reads {
            for (at, part) in parts.iter().enumerate() {
                let now = START + time - 0.001 * at as f64;
                meter.on_chunk(Timestamp::from_ms(now), part.as_bytes());
            }
        }
        meter.on_end(Timestamp::from_ms(START + 900.0), End::Closed);
        meter.report()
    };
    for (pieces, gaps, tpot_ms) in [
        (&[(40.0, &[&nothing[..], &answer, &answer, &usage][..])][..], 0, None),
        (&[(40.0, &[&answer, &answer]), (80.0, &[&nothing, &answer, &usage])], 1, Some(5.0)),
        // A coarse clock has one time for two reads.
        (&[(40.0, &[&answer]), (40.0, &[&answer, &usage])], 1, Some(0.0)),
    ] {
        let whole: Vec<_> = pieces.iter().map(|(time, parts)| (*time, parts.concat())).collect();
        let whole: Vec<_> = whole.iter().map(|(time, text)| (*time, [&text[..]])).collect();
        let whole: Vec<_> = whole.iter().map(|(time, parts)| (*time, &parts[..])).collect();
        let report = (report(pieces), report(&whole));
        assert_eq!(report.0, report.1, "{pieces:?}");
        assert_eq!(report.0.gaps.map_or(0, |gaps| gaps.count()), gaps, "{pieces:?}");
        assert_eq!(report.0.tpot_ms, tpot_ms, "{pieces:?}");
    }
}

/// An answer of a model that reasons in silence, then the same with a silence in the middle of the answer.
#[test]
fn tpot_excludes_reasoning_tokens_of_a_silence() {
    for (times, expected) in [([9_000.0, 9_050.0, 9_100.0], Some(25.0)), ([400.0, 450.0, 6_000.0], None)] {
        let mut meter = Meter::new("silent", Timestamp::from_ms(0.0));
        meter.on_headers(Timestamp::from_ms(1.0), 200, "text/event-stream");
        for time in times {
            let event = written(Format::OpenAiChat, Said::Answer);
            meter.on_chunk(Timestamp::from_ms(time), event.as_bytes());
        }
        let usage = json!({"prompt_tokens": 3, "completion_tokens": 1_005, "total_tokens": 1_008,
            "completion_tokens_details": {"reasoning_tokens": 1_000}});
        let event = json!({"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": usage});
        meter.on_chunk(Timestamp::from_ms(9_200.0), format!("data: {event}\n\n").as_bytes());
        let report = meter.report();
        assert_eq!((report.output_tokens, report.reasoning_tokens), (Some(1_005), Some(1_000)));
        assert_eq!(report.tpot_ms, expected, "read at {times:?}");
    }
}

/// OpenAI's `response.completed` repeats the whole answer, with all instructions and tools of the request.
#[test]
fn a_final_event_with_the_full_text_is_read_up_to_a_megabyte() {
    let begun = json!({"type": "response.created", "sequence_number": 0, "response": {"id": "r", "status": "in_progress"}});
    let delta = json!({"type": "response.output_text.delta", "sequence_number": 1, "delta": "Hello"});
    for (length, outcome, oversize) in [(70_000, Outcome::Complete, 0), (1_100_000, Outcome::Unobserved, 1)] {
        let ended = json!({"type": "response.completed", "sequence_number": 2, "response": {"id": "r",
            "instructions": "x".repeat(length), "status": "completed", "usage": {"output_tokens": 7}}});
        let body: String = [&begun, &delta, &ended].map(|event| format!("data: {event}\n\n")).concat();
        for bytes in [usize::MAX, 16_384] {
            let mut meter = Meter::new("long", Timestamp::from_ms(0.0));
            meter.on_headers(Timestamp::from_ms(1.0), 200, "text/event-stream");
            for (at, chunk) in body.as_bytes().chunks(bytes).enumerate() {
                meter.on_chunk(Timestamp::from_ms(at as f64 + 2.0), chunk);
            }
            meter.on_end(Timestamp::from_ms(5_000.0), End::Closed);
            let report = meter.report();
            assert_eq!(
                (report.outcome, report.defects.get(Defect::Oversize)),
                (outcome, oversize),
                "{length}"
            );
            assert_eq!(report.output_tokens, (oversize == 0).then_some(7));
        }
    }
}

/// An event that was too long, as the last event or not.
#[test]
fn the_data_after_an_oversize_event_decides_the_outcome() {
    let long = format!("data: {{\"a\":\"{}\"}}\n\n", "x".repeat(1_100_000));
    let delta = written(Format::OpenAiChat, Said::Answer);
    for (body, end, outcome) in [
        (format!("{delta}{long}"), End::Closed, Outcome::Unobserved),
        (format!("{delta}{long}{delta}"), End::Closed, Outcome::Truncated),
        (format!("{delta}{long}data: [DONE]\n\n"), End::Closed, Outcome::Complete),
        (format!("{delta}{long}"), End::Failed, Outcome::NetworkError),
    ] {
        let mut meter = Meter::new("long", Timestamp::from_ms(0.0));
        meter.on_headers(Timestamp::from_ms(1.0), 200, "text/event-stream");
        meter.on_chunk(Timestamp::from_ms(2.0), body.as_bytes());
        meter.on_end(Timestamp::from_ms(3.0), end);
        assert_eq!(meter.report().outcome, outcome, "{end:?} behind {}", &body[body.len() - 20..]);
    }
}

#[test]
fn an_unobserved_stream_has_no_dead_air() {
    for (end, silences) in [(End::Unseen, 0), (End::Closed, 1), (End::Cancelled, 1)] {
        let mut meter = Meter::new("unread", Timestamp::from_ms(0.0));
        meter.on_headers(Timestamp::from_ms(1.0), 200, "text/event-stream");
        meter.on_end(Timestamp::from_ms(70_000.0), end);
        assert_eq!(meter.report().defects.get(Defect::DeadAir), silences, "{end:?}");
    }
}
