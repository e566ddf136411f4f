//! Our SSE parser finds the same events as `sse-core` and `eventsource-parser`, on generated bodies and splits.
//!
//! Known differences are not compared. `sse-core` reads `retry` into 32 bits and reports it as an item of its own.
//! `eventsource-parser` reports the id of an event, where the standard keeps the last one in force. After a CR it waits
//! for the next byte, where the standard ends the line at once.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Buf;
use probe_core::framing::{Frame, Sse};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use sse_core::{SseDecoder, SseEvent};

type Dispatched = (String, String, String);

fn ours(chunks: &[&[u8]]) -> Vec<Dispatched> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (mut sse, mut events) = (Sse::default(), Vec::new());
    for mut chunk in chunks.iter().copied() {
        while let Some(frame) = sse.next(&mut chunk) {
            if let Frame::Event(event) = frame {
                let name = if event.name.is_empty() { b"message" } else { event.name };
                events.push((text(name), text(event.data), text(event.id)));
            }
        }
    }
    events
}

fn theirs(chunks: &[&[u8]]) -> Vec<Dispatched> {
    let (mut decoder, mut events) = (SseDecoder::new(), Vec::new());
    for mut chunk in chunks.iter().copied() {
        while chunk.has_remaining() {
            if let Some(Ok(SseEvent::Message(message))) = decoder.next(&mut chunk) {
                let id = message.last_event_id.as_deref().unwrap_or_default().to_owned();
                events.push((message.event.into_owned(), message.data, id));
            }
        }
    }
    events
}

/// Cuts a body at the given offsets, which may be beyond its end.
fn cut<'a>(body: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut places = cuts.iter().map(|cut| cut % (body.len() + 1)).collect::<Vec<_>>();
    places.sort_unstable();
    let mut from = 0;
    let mut chunks = Vec::new();
    for place in places.into_iter().chain([body.len()]) {
        chunks.push(&body[from..place]);
        from = place;
    }
    chunks
}

fn line_end() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("\n"), Just("\r"), Just("\r\n")]
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => "(data|event|id|retry|Data|dat|datax| data|<p>|)(:| : |: |:  |)[ a-z0-9{}:\u{0}é\u{feff}]{0,12}".prop_map(String::into_bytes),
        2 => Just(Vec::new()),
        1 => Just(b"\xEF\xBB\xBFdata: bom".to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ]
}

prop_compose! {
    fn body()(lines in prop::collection::vec((line(), line_end()), 0..24)) -> Vec<u8> {
        lines.into_iter().flat_map(|(line, end)| [line, end.as_bytes().to_vec()].concat()).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_same_events_as_sse_core(body in body(), cuts in prop::collection::vec(any::<usize>(), 0..6)) {
        let chunks = cut(&body, &cuts);
        prop_assert_eq!(ours(&chunks), theirs(&chunks), "{:?}", String::from_utf8_lossy(&body));
    }

    #[test]
    fn the_same_events_as_sse_core_byte_by_byte(body in body()) {
        let chunks = body.chunks(1).collect::<Vec<_>>();
        prop_assert_eq!(ours(&chunks), theirs(&chunks), "{:?}", String::from_utf8_lossy(&body));
    }
}

/// Name, data, and the id in the event.
type Parsed = (String, String, Option<String>);

/// The events of `eventsource-parser` for each body, run by node.
fn parsed(bodies: &[Vec<&[u8]>]) -> Vec<Vec<Parsed>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle");
    assert!(folder.join("node_modules").exists(), "run `npm ci` in {}", folder.display());
    let line = |chunks: &Vec<&[u8]>| {
        let chunks = chunks.iter().map(|chunk| STANDARD.encode(chunk)).collect::<Vec<_>>();
        serde_json::to_string(&chunks).unwrap() + "\n"
    };
    let lines = bodies.iter().map(line).collect::<String>();
    let mut node = Command::new("node")
        .arg("parse.mjs")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node starts");
    let mut input = node.stdin.take().unwrap();
    // In another thread than the reads, as neither pipe has room for all of it.
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = node.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    output
        .stdout
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

#[test]
fn the_same_events_as_eventsource_parser() {
    let mut runner = TestRunner::default();
    let mut sample =
        || (body(), prop::collection::vec(any::<usize>(), 0..6)).new_tree(&mut runner).unwrap().current();
    let bodies = (0..4000).map(|_| sample()).map(|(body, cuts)| ([&body[..], b":\n"].concat(), cuts));
    let bodies = bodies.collect::<Vec<_>>();
    let chunks = bodies.iter().map(|(body, cuts)| cut(body, cuts)).collect::<Vec<_>>();
    let parsed = parsed(&chunks);
    assert_eq!(parsed.len(), bodies.len());
    for (theirs, chunks) in parsed.iter().zip(&chunks) {
        let shown = String::from_utf8_lossy(&chunks.concat()).into_owned();
        let ours = ours(chunks);
        assert_eq!(ours.len(), theirs.len(), "{shown:?}");
        for ((name, data, id), (their_name, their_data, their_id)) in ours.iter().zip(theirs) {
            assert_eq!((name, data), (their_name, their_data), "{shown:?}");
            assert!(their_id.as_ref().is_none_or(|their_id| their_id == id), "{their_id:?} in {shown:?}");
        }
    }
}
