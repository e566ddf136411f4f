//! Our parser beside `sse-core` on made-up bodies and splits: the same events.
//!
//! What is not compared: `sse-core` reads `retry` into 32 bits and reports it as an item of its own.

use bytes::Buf;
use probe_core::framing::{Frame, Sse};
use proptest::prelude::*;
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

/// Cuts a body at the given places, which may lie beyond it.
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
