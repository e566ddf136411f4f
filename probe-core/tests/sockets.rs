//! Recorded sockets: each question gets the report of its own answer, and no byte from a socket does harm.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use beacon::{Outcome, StreamReport};
use probe_core::{End, Meter, OwnEvent, Question, Sockets, Timestamp};
use proptest::prelude::*;
use serde::Deserialize;

/// One row of a recording.
#[derive(Deserialize)]
struct Row {
    t_ms: f64,
    #[serde(flatten)]
    what: What,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    /// The app asks: the text, and whether the socket is one of Engine.IO.
    Ask { text: String, engine_io: bool },
    /// A message came.
    Message(String),
    /// The page closes the answer of the question with this number, from 1, as after its end.
    Close(u32),
}

/// Plays a recording as a page does, and returns the reports by the number of the question.
fn play(name: &str) -> BTreeMap<u32, StreamReport> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/fixtures/sockets/{name}.jsonl"));
    let text = fs::read_to_string(path).unwrap();
    let mut sockets = Sockets::NONE;
    let (mut open, mut reports, mut asked) = (BTreeMap::<u32, Meter>::new(), BTreeMap::new(), 0);
    for row in text.lines().map(|line| serde_json::from_str::<Row>(line).unwrap()) {
        let now = Timestamp::from_ms(row.t_ms);
        match row.what {
            What::Ask { text, engine_io } => {
                asked += 1;
                let mut meter = Meter::new("", now);
                meter.on_socket();
                sockets.ask(asked, Question { socket: 1, engine_io, text: text.as_bytes() });
                open.insert(asked, meter);
            }
            What::Message(message) => {
                read(&mut sockets, &mut open, now, &framed(message.as_bytes()));
            }
            What::Close(key) => {
                let mut meter = open.remove(&key).unwrap();
                meter.on_end(now, End::Closed);
                sockets.forget(key);
                reports.insert(key, meter.report());
            }
        }
    }
    assert!(open.is_empty(), "{name}: every answer is closed");
    reports
}

/// Hands a chunk over for each open answer, as a page does.
fn read(sockets: &mut Sockets, open: &mut BTreeMap<u32, Meter>, now: Timestamp, chunk: &[u8]) {
    for key in open.keys().copied().collect::<Vec<_>>() {
        let is_of_socket = sockets.read(key, chunk, |OwnEvent { stream, bytes, goes_on }| {
            let meter = open.get_mut(&stream).unwrap();
            meter.on_chunk(if goes_on { Timestamp::from_ms(0.0) } else { now }, bytes);
            meter.progress().ended
        });
        assert!(is_of_socket);
    }
}

/// The events of a stream's own answer in a chunk. None ends it.
fn own_events(sockets: &mut Sockets, key: u32, chunk: &[u8]) -> Vec<u8> {
    let mut own = Vec::new();
    assert!(sockets.read(key, chunk, |event| {
        own.extend_from_slice(event.bytes);
        false
    }));
    own
}

/// A message as the page hands it over.
fn framed(message: &[u8]) -> Vec<u8> {
    let lines = message.split(|byte| matches!(byte, b'\n' | b'\r'));
    let mut framed = lines.flat_map(|line| [b"data: ", line, b"\n"].concat()).collect::<Vec<_>>();
    framed.push(b'\n');
    framed
}

#[track_caller]
fn check(report: &StreamReport, outcome: Outcome, ttft_ms: f64, e2e_ms: f64, deltas: u32) {
    let found = (report.outcome, report.ttft_ms, report.e2e_ms, report.deltas);
    assert_eq!(found, (outcome, Some(ttft_ms), Some(e2e_ms), deltas), "{report:?}");
    assert_eq!(report.first_byte_ms.map(|ms| ms <= ttft_ms), Some(true), "{report:?}");
}

#[test]
fn chainlit_answers_have_their_first_token_and_their_end() {
    let reports = play("chainlit");
    check(&reports[&1], Outcome::Complete, 410.0, 560.0, 6);
    assert_eq!(reports[&1].dialect.as_deref(), Some("inferred"));
    // Not streamed: one message with the whole text.
    check(&reports[&2], Outcome::Complete, 300.0, 300.0, 1);
    assert_eq!(reports[&3].outcome, Outcome::ProviderError);
}

#[test]
fn open_webui_answers_go_to_the_requests_that_named_them() {
    let reports = play("open_webui");
    check(&reports[&1], Outcome::Complete, 500.0, 640.0, 4);
    check(&reports[&2], Outcome::Complete, 510.0, 620.0, 3);
    assert_eq!(reports[&3].outcome, Outcome::ProviderError);
}

#[test]
fn open_webui_answers_end_by_the_servers_word() {
    // Recorded from version 0.12.4 with a scripted model.
    let reports = play("open_webui_0_12");
    check(&reports[&1], Outcome::Complete, 952.0, 1115.0, 6);
    check(&reports[&2], Outcome::ProviderError, 358.0, 444.0, 4);
    assert_eq!((reports[&3].outcome, reports[&3].ttft_ms), (Outcome::ProviderError, None));
    check(&reports[&4], Outcome::Aborted, 400.0, 2089.0, 37);
}

#[test]
fn shiny_answers_have_their_first_token_and_their_end() {
    // Recorded from version 1.8.0 with scripted answers.
    let reports = play("shiny");
    check(&reports[&1], Outcome::Complete, 895.0, 1817.0, 10);
    assert_eq!(reports[&1].dialect.as_deref(), Some("inferred"));
}

#[test]
fn realtime_answers_with_text_are_read() {
    let reports = play("realtime");
    check(&reports[&1], Outcome::Complete, 350.0, 450.0, 4);
    assert_eq!(reports[&1].output_tokens, Some(9));
}

#[test]
fn answers_by_subscription_are_told_apart() {
    let reports = play("subscriptions");
    check(&reports[&1], Outcome::Complete, 100.0, 160.0, 4);
    check(&reports[&2], Outcome::Complete, 85.0, 145.0, 4);
}

#[test]
fn a_stopped_answer_leaves_its_late_text_to_itself() {
    let reports = play("stopped");
    check(&reports[&2], Outcome::Complete, 200.0, 260.0, 4);
}

/// Asks one question for each text, and plays messages 100 ms apart, then 10 ms apart. Returns outcome, time to the first
/// token, end and deltas of each answer. Messages of one array come in one read.
fn answers(questions: &[&str], reads: &[&[&str]]) -> Vec<(Outcome, Option<f64>, Option<f64>, u32)> {
    let mut sockets = Sockets::NONE;
    let mut meters = BTreeMap::new();
    for (key, text) in (1..).zip(questions) {
        let mut meter = Meter::new("", Timestamp::from_ms(1_000.0));
        meter.on_socket();
        sockets.ask(key, Question { socket: 1, engine_io: false, text: text.as_bytes() });
        meters.insert(key, meter);
    }
    let mut now = Timestamp::from_ms(1_100.0);
    for messages in reads {
        let chunk = messages.iter().flat_map(|message| framed(message.as_bytes())).collect::<Vec<_>>();
        read(&mut sockets, &mut meters, now, &chunk);
        now = Timestamp::from_ms(now.as_ms() + 10.0);
    }
    let report = |mut meter: Meter| {
        meter.on_end(now, End::Closed);
        let report = meter.report();
        (report.outcome, report.ttft_ms, report.e2e_ms, report.deltas)
    };
    meters.into_values().map(report).collect()
}

const FIRST: (Outcome, Option<f64>, Option<f64>, u32) = (Outcome::Complete, Some(100.0), Some(120.0), 3);
const SECOND: (Outcome, Option<f64>, Option<f64>, u32) = (Outcome::Complete, Some(140.0), Some(160.0), 3);

#[test]
fn answers_without_ids_are_those_of_questions_in_order() {
    let token = |text: &str| format!(r#"{{"type":"token","text":"{text}"}}"#);
    let tokens = [" The", " moon", " is", " It", " ebbs", " and"].map(token);
    let [a, b, c, d, e, f] = tokens.each_ref().map(String::as_str);
    let end = r#"{"type":"end"}"#;
    let reads: [&[&str]; 8] = [&[a], &[b], &[c], &[end], &[d], &[e], &[f], &[end]];
    assert_eq!(answers(&[r#"{"prompt":"moon"}"#, r#"{"prompt":"sea"}"#], &reads), [FIRST, SECOND]);
    // One read ends the first answer and begins the second.
    let reads: [&[&str]; 7] = [&[a], &[b], &[c], &[], &[end, d], &[e], &[f, end]];
    assert_eq!(answers(&[r#"{"prompt":"moon"}"#, r#"{"prompt":"sea"}"#], &reads), [FIRST, SECOND]);
}

#[test]
fn an_error_without_id_fails_one_answer() {
    let (error, end) = (r#"{"type":"error","message":"busy"}"#, r#"{"type":"end"}"#);
    let token = |text: &str| format!(r#"{{"type":"token","text":"{text}"}}"#);
    let tokens = [" It", " ebbs", " and"].map(token);
    let [d, e, f] = tokens.each_ref().map(String::as_str);
    let reads: [&[&str]; 8] = [&[], &[], &[], &[error], &[d], &[e], &[f], &[end]];
    let found = answers(&[r#"{"prompt":"moon"}"#, r#"{"prompt":"sea"}"#], &reads);
    assert_eq!((found[0].0, found[0].1), (Outcome::ProviderError, None));
    assert_eq!(found[1], SECOND);
}

#[test]
fn questions_with_the_same_id_are_answered_in_order() {
    for key in ["id", "request_id", "messageId"] {
        let token = |text: &str| format!(r#"{{"type":"token","{key}":"c1","text":"{text}"}}"#);
        let tokens = [" The", " moon", " is", " It", " ebbs", " and"].map(token);
        let [a, b, c, d, e, f] = tokens.each_ref().map(String::as_str);
        let end = &*format!(r#"{{"type":"end","{key}":"c1"}}"#);
        let reads: [&[&str]; 8] = [&[a], &[b], &[c], &[end], &[d], &[e], &[f], &[end]];
        let named = [r#"{"prompt":"moon","KEY":"c1"}"#, r#"{"prompt":"sea","KEY":"c1"}"#];
        let named = named.map(|question| question.replace("KEY", key));
        assert_eq!(answers(&named.each_ref().map(String::as_str), &reads), [FIRST, SECOND], "{key}");
        // A server has one `id` for all, which no question names.
        if key == "id" {
            assert_eq!(answers(&[r#"{"prompt":"moon"}"#, r#"{"prompt":"sea"}"#], &reads), [FIRST, SECOND]);
        }
    }
}

#[test]
fn an_id_for_each_event_does_not_split_an_answer() {
    let mut number = 0;
    let mut event = |rest: &str| {
        number += 1;
        format!(r#"{{"id":"e{number}",{rest}}}"#)
    };
    let mut token = |text: &str| event(&format!(r#""type":"token","text":"{text}""#));
    let [a, b, c] = [" The", " moon", " is"].map(&mut token);
    let later = [" far", " away"].map(&mut token);
    let end = event(r#""type":"end""#);
    let mut sockets = Sockets::NONE;
    let mut meters = BTreeMap::new();
    let mut now = 1_000.0;
    let ask = |sockets: &mut Sockets, meters: &mut BTreeMap<u32, Meter>, key| {
        let mut meter = Meter::new("", Timestamp::from_ms(1_000.0));
        meter.on_socket();
        sockets.ask(key, Question { socket: 1, engine_io: false, text: br#"{"prompt":"moon"}"# });
        meters.insert(key, meter);
    };
    ask(&mut sockets, &mut meters, 1);
    for (at, message) in [a, b, c].iter().chain(&later).chain([&end]).enumerate() {
        // The second question comes while the first is answered.
        if at == 3 {
            ask(&mut sockets, &mut meters, 2);
        }
        now += 10.0;
        read(&mut sockets, &mut meters, Timestamp::from_ms(now), &framed(message.as_bytes()));
    }
    let deltas = meters.values().map(|meter| meter.report().deltas).collect::<Vec<_>>();
    assert_eq!(deltas, [5, 0]);
}

/// The events of an Engine.IO message.
fn events_of(message: &str) -> String {
    let mut sockets = Sockets::NONE;
    sockets.ask(1, Question { socket: 1, engine_io: true, text: b"" });
    String::from_utf8(own_events(&mut sockets, 1, &framed(message.as_bytes()))).unwrap()
}

#[test]
fn only_events_of_socket_io_are_events() {
    for (message, events) in [
        ("0{\"sid\":\"a\",\"pingInterval\":25000}", ""),
        ("1", ""),
        ("2", ""),
        ("3probe", ""),
        ("5", ""),
        ("6", ""),
        ("40{\"sid\":\"a\"}", ""),
        ("41/chat,", ""),
        ("4312[\"ok\"]", ""),
        ("44{\"message\":\"no\"}", ""),
        ("461-[{\"_placeholder\":true,\"num\":0}]", ""),
        ("bAQID", ""),
        ("", ""),
        ("42", ""),
        ("42[\"cut", ""),
        ("42[]", ""),
        ("42[1]", ""),
        ("42[\"token\",{\"t\":\"a\"}]", "event: token\ndata: {\"t\":\"a\"}\n\n"),
        ("42[\"token\",\"a\"]", "event: token\ndata: \"a\"\n\n"),
        ("42[\"end\"]", "event: end\ndata: [\"end\"]\n\n"),
        ("42/chat?x=[1],7[\"token\",{}]", "event: token\ndata: {}\n\n"),
        ("42[\"two\",{},1]", "event: two\ndata: [\"two\",{},1]\n\n"),
        (
            "451-[\"file\",{\"_placeholder\":true,\"num\":0}]",
            "event: file\ndata: {\"_placeholder\":true,\"num\":0}\n\n",
        ),
        ("4{\"t\":\"a\"}", "data: {\"t\":\"a\"}\n\n"),
        ("2\u{1e}42[\"a\",1]\u{1e}6\u{1e}42[\"b\",2]", "event: a\ndata: 1\n\nevent: b\ndata: 2\n\n"),
    ] {
        assert_eq!(events_of(message), events, "{message}");
    }
}

proptest! {
    #[test]
    fn the_split_of_chunks_changes_no_events(
        messages in prop::collection::vec("[0-6]{0,2}\\[?\"?[a-z\n\\]{}\":,\u{1e}]{0,20}", 0..6),
        engine_io in any::<bool>(),
        at in any::<prop::sample::Index>(),
    ) {
        let body = messages.iter().flat_map(|message| framed(message.as_bytes())).collect::<Vec<_>>();
        let events = |chunks: &[&[u8]]| {
            let mut sockets = Sockets::NONE;
            sockets.ask(1, Question { socket: 1, engine_io, text: b"" });
            chunks.iter().flat_map(|chunk| own_events(&mut sockets, 1, chunk)).collect::<Vec<_>>()
        };
        let (left, right) = body.split_at(at.index(body.len() + 1));
        let whole = events(&[&body]);
        prop_assert_eq!(&events(&[left, right]), &whole);
        prop_assert_eq!(&events(&body.chunks(1).collect::<Vec<_>>()), &whole);
    }

    #[test]
    fn each_event_belongs_to_one_answer_at_most(
        questions in prop::collection::vec("(\"(id|chat_id|run_id)\": ?\"?[a-c0-2]\"?,?){0,3}", 1..5),
        messages in prop::collection::vec("\\{(\"(id|chat_id|run_id|x)\":\"?[a-c0-2]\"?,){0,3}\"(t|end)\":1\\}", 0..12),
    ) {
        // The same messages one by one, and all in one read.
        let [one_by_one, at_once] = [1, 12].map(|at_once| {
            let (mut sockets, mut owned) = (Sockets::NONE, Vec::new());
            for (key, text) in (0..).zip(&questions) {
                sockets.ask(key, Question { socket: 1, engine_io: false, text: text.as_bytes() });
            }
            for messages in messages.chunks(at_once) {
                let chunk = messages.iter().flat_map(|message| framed(message.as_bytes())).collect::<Vec<_>>();
                for key in 0..questions.len() as u32 {
                    sockets.read(key, &chunk, |OwnEvent { stream, bytes, .. }| {
                        owned.push((stream, bytes.to_vec()));
                        bytes.ends_with(b"\"end\":1}\n\n")
                    });
                }
            }
            owned
        });
        prop_assert!(one_by_one.len() <= messages.len(), "{:?}", one_by_one);
        prop_assert_eq!(one_by_one, at_once);
    }
}
