//! Formats that no table knows, made up at random: the text is found by its structure, and nothing else is.

use beacon::{Outcome, StreamReport};
use probe_core::{End, Meter, Timestamp};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// How a product writes its events.
#[derive(Debug, Clone)]
struct Format {
    /// The keys around the text.
    path: Vec<&'static str>,
    /// The key and the value that name the kind of an event with text.
    kind: Option<(&'static str, &'static str)>,
    /// Fields beside the text.
    beside: Vec<Beside>,
    sse_name: Option<&'static str>,
    is_cumulative: bool,
    /// Events before the text.
    before: Vec<&'static str>,
    end: LastEvent,
}

#[derive(Debug, Clone, Copy)]
enum Beside {
    ConstantId,
    EventId,
    Number,
    Timestamp,
    Model,
    Empty,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum LastEvent {
    None,
    Typed,
    Done,
    Sources,
}

const WORDS: [&str; 24] = [
    "The",
    " moon",
    " is",
    " about",
    " four",
    " hundred",
    " thousand",
    " kilometres",
    " away",
    ",",
    " and",
    " it",
    " moves",
    " further",
    " each",
    " year",
    ".\n",
    "We",
    " know",
    " this",
    " by",
    " lasers",
    "é",
    " 월",
];

fn format() -> impl Strategy<Value = Format> {
    let key =
        select(vec!["data", "payload", "result", "m", "body", "part", "value", "answer_piece", "c", "txt"]);
    let beside = select(vec![
        Beside::ConstantId,
        Beside::EventId,
        Beside::Number,
        Beside::Timestamp,
        Beside::Model,
        Beside::Empty,
    ]);
    (
        prop::collection::vec(key, 1..5),
        prop::option::of(select(vec![
            ("type", "piece"),
            ("event", "answer.part"),
            ("kind", "say"),
            ("op", "add"),
        ])),
        prop::collection::vec(beside, 0..4),
        prop::option::of(select(vec!["answer", "chunk"])),
        any::<bool>(),
        prop::collection::vec(select(vec!["accepted", "retrieving", "ranking", "heartbeat"]), 0..4),
        select(vec![LastEvent::None, LastEvent::Typed, LastEvent::Done, LastEvent::Sources]),
    )
        .prop_map(|(path, kind, beside, sse_name, is_cumulative, before, end)| Format {
            path,
            kind,
            beside,
            sse_name,
            is_cumulative,
            before,
            end,
        })
}

impl Format {
    fn event(&self, name: Option<&str>, value: &Value) -> String {
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {value}\n\n")
    }

    fn text(&self, number: usize, text: &str) -> String {
        let mut value = Value::from(text);
        for key in self.path.iter().rev() {
            value = json!({ *key: value });
        }
        let object = value.as_object_mut().unwrap();
        if let Some((key, kind)) = self.kind {
            object.insert(key.into(), kind.into());
        }
        self.add_beside(object, number);
        self.event(self.sse_name, &value)
    }

    fn add_beside(&self, object: &mut Map<String, Value>, number: usize) {
        for beside in &self.beside {
            let (key, value) = match beside {
                Beside::ConstantId => ("chat_id", json!("c0ffee00-1234-4abc-9def-001122334455")),
                Beside::EventId => (
                    "eid",
                    json!(format!("{:016x}", (number as u64 + 7).wrapping_mul(0x9E37_79B9_7F4A_7C15))),
                ),
                Beside::Number => ("seq", json!(number)),
                Beside::Timestamp => {
                    ("at", json!(format!("2026-11-28T10:{:02}:{:02}.120Z", number / 60, number % 60)))
                }
                Beside::Model => ("model", json!("large-2")),
                Beside::Empty => ("note", json!("")),
            };
            object.insert(key.into(), value);
        }
    }

    /// The event after the text.
    fn last(&self) -> Option<String> {
        let value = match self.end {
            LastEvent::None => return None,
            LastEvent::Typed => json!({ "type": "answer_end" }),
            LastEvent::Done => json!({ "x": 1, "done": true }),
            LastEvent::Sources => {
                json!({ "sources": [{ "title": "On the moon", "url": "https://example.com" }] })
            }
        };
        Some(self.event(None, &value))
    }
}

const FIRST_MS: f64 = 900.0;
const STEP_MS: f64 = 40.0;

/// Plays a stream. `values` is what the text field of each event has.
fn play(format: &Format, values: &[String], with_last: bool, end: End) -> StreamReport {
    let at = |ms: f64| Timestamp::from_ms(ms);
    let mut meter = Meter::new("", at(0.0));
    meter.on_headers(at(50.0), 200, "text/event-stream");
    for (number, step) in format.before.iter().enumerate() {
        let event = format.event(None, &json!({ "stage": step }));
        meter.on_chunk(at(100.0 + number as f64), event.as_bytes());
    }
    let mut now_ms = FIRST_MS;
    for (number, value) in values.iter().enumerate() {
        now_ms = FIRST_MS + STEP_MS * number as f64;
        meter.on_chunk(at(now_ms), format.text(number, value).as_bytes());
    }
    if with_last && let Some(last) = format.last() {
        now_ms += 5.0;
        meter.on_chunk(at(now_ms), last.as_bytes());
    }
    meter.on_end(at(now_ms + 5.0), end);
    meter.report()
}

/// Beyond the first elements of a list, all are at one place.
#[test]
fn an_event_with_many_pieces_is_one_delta() {
    let mut meter = Meter::new("", Timestamp::from_ms(0.0));
    meter.on_headers(Timestamp::from_ms(50.0), 200, "text/event-stream");
    for (number, words) in [r#""The"," moon"," is""#, r#"" far"," away"," from""#].iter().enumerate() {
        let event = format!("data: [0,0,0,0,0,0,0,0,{words}]\n\n");
        meter.on_chunk(Timestamp::from_ms(100.0 + number as f64), event.as_bytes());
    }
    meter.on_end(Timestamp::from_ms(110.0), End::Closed);
    let report = meter.report();
    assert_eq!((report.deltas, report.events), (2, 2), "{report:?}");
}

/// A middleware that does not know the format comments on the first event with data.
#[test]
fn the_server_time_of_another_event_is_dropped() {
    let at = Timestamp::from_ms;
    let piece = |text: &str| format!("data: {{\"reply\":{{\"piece\":\"{text}\"}}}}\n\n");
    let text = ["The", " moon", " is", " far", " away."].map(piece).concat();
    let status = "data: {\"stage\":\"retrieving\"}\n\n";
    let comment = ": llm-rum {\"ttft_ms\":85.2,\"queue_ms\":3}\n\n";
    for (body, ttft_ms) in [
        ([comment, status, &text].concat(), None),
        ([status, comment, &text].concat(), Some(85.2)),
        ([status, &text, comment].concat(), Some(85.2)),
    ] {
        let mut meter = Meter::new("", at(0.0));
        meter.on_headers(at(50.0), 200, "text/event-stream");
        meter.on_chunk(at(100.0), body.as_bytes());
        meter.on_end(at(110.0), End::Closed);
        let server = meter.report().server.unwrap();
        assert_eq!((server.ttft_ms, server.queue_ms), (ttft_ms, Some(3.0)), "{body}");
    }
}

/// Text of at least eight pieces with blanks, as it comes by `format`.
fn values(format: &Format, pieces: &[&str]) -> Vec<String> {
    let mut whole = String::new();
    let mut values = Vec::new();
    for piece in pieces {
        whole.push_str(piece);
        values.push(if format.is_cumulative { whole.clone() } else { (*piece).to_owned() });
    }
    values
}

fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(select(WORDS.to_vec()), 12..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn text_is_found_wherever_it_is(format in format(), pieces in pieces()) {
        let values = values(&format, &pieces);
        let report = play(&format, &values, true, End::Closed);
        prop_assert_eq!(report.dialect.as_deref(), Some("inferred"));
        prop_assert_eq!(report.ttft_ms, Some(FIRST_MS));
        prop_assert_eq!(report.e2e_ms, Some(FIRST_MS + STEP_MS * (values.len() - 1) as f64));
        prop_assert_eq!(report.deltas as usize, values.len());
        prop_assert_eq!(report.outcome, Outcome::Complete);
    }

    #[test]
    fn a_client_that_closes_after_the_end_has_all(format in format(), pieces in pieces()) {
        let report = play(&format, &values(&format, &pieces), true, End::Cancelled);
        let expected = if format.end == LastEvent::None { Outcome::Aborted } else { Outcome::Complete };
        prop_assert_eq!(report.outcome, expected);
    }

    #[test]
    fn a_client_that_closes_amid_text_has_aborted(format in format(), pieces in pieces()) {
        let report = play(&format, &values(&format, &pieces), false, End::Cancelled);
        prop_assert_eq!(report.outcome, Outcome::Aborted);
    }

    /// Ids, numbers, times, names and status words are no text.
    #[test]
    fn no_text_is_claimed_where_there_is_none(
        format in format(),
        kind in 0..5usize,
        seed in any::<u64>(),
        count in 5..80usize,
    ) {
        let values: Vec<_> = (0..count as u64)
            .map(|number| {
                let hash = (seed ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                match kind {
                    0 => format!("{hash:016x}"),
                    1 => format!("{number}"),
                    2 => format!("2026-11-28 10:{:02}:{:02}", number / 60 % 60, number % 60),
                    3 => ["queued", "running", "passed"][(hash >> 40) as usize % 3].to_owned(),
                    _ => format!("job-{}", hash % 1000),
                }
            })
            .collect();
        let report = play(&format, &values, true, End::Closed);
        prop_assert_eq!(report.dialect.as_deref(), Some("generic"));
        prop_assert_eq!((report.ttft_ms, report.deltas), (None, 0));
    }
}
