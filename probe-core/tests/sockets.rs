//! Recorded sockets: each question gets the report of its own answer, and no byte from a socket does harm.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use beacon::{Outcome, StreamReport};
use probe_core::{End, Meter, Question, Sockets, Timestamp};
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
                for (&key, meter) in &mut open {
                    let own = sockets.own_events(key, &framed(message.as_bytes())).unwrap();
                    meter.on_chunk(now, &own);
                    sockets.set_ended(key, meter.progress().ended);
                }
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

/// The events of an Engine.IO message.
fn events_of(message: &str) -> String {
    let mut sockets = Sockets::NONE;
    sockets.ask(1, Question { socket: 1, engine_io: true, text: b"" });
    String::from_utf8(sockets.own_events(1, &framed(message.as_bytes())).unwrap()).unwrap()
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
            chunks.iter().flat_map(|chunk| sockets.own_events(1, chunk).unwrap()).collect::<Vec<_>>()
        };
        let (left, right) = body.split_at(at.index(body.len() + 1));
        let whole = events(&[&body]);
        prop_assert_eq!(&events(&[left, right]), &whole);
        prop_assert_eq!(&events(&body.chunks(1).collect::<Vec<_>>()), &whole);
    }

    #[test]
    fn each_event_belongs_to_one_answer_at_most(
        questions in prop::collection::vec("(\"(id|chat_id|run_id)\": ?\"?[a-c0-2]\"?,?){0,3}", 1..5),
        messages in prop::collection::vec("\\{(\"(id|chat_id|run_id|x)\":\"?[a-c0-2]\"?,){0,3}\"t\":1\\}", 0..12),
    ) {
        let mut sockets = Sockets::NONE;
        for (key, text) in (0..).zip(&questions) {
            sockets.ask(key, Question { socket: 1, engine_io: false, text: text.as_bytes() });
        }
        for message in &messages {
            let chunk = framed(message.as_bytes());
            let owners = (0..questions.len() as u32)
                .filter(|&key| !sockets.own_events(key, &chunk).unwrap().is_empty())
                .count();
            prop_assert!(owners <= 1, "{} owners of {}", owners, message);
        }
    }
}
