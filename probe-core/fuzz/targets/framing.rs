//! Any body under any content type, cut into frames; and server-sent events compared with another parser.

#![no_main]

use bytes::Buf;
use probe_core::framing::{Frame, Sse};
use sse_core::{SseDecoder, SseEvent};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    probe_core_fuzz::bounded(1 << 20, || probe_core::fuzz_targets::framing(input));
    assert_eq!(ours(input), theirs(input), "{}", input.escape_ascii());
});

/// Name, data and id in force. `sse-core` reports the reconnection time apart from events.
type Dispatched = (String, String, String);

fn ours(mut body: &[u8]) -> Vec<Dispatched> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (mut sse, mut events) = (Sse::default(), Vec::new());
    while let Some(frame) = sse.next(&mut body) {
        if let Frame::Event(event) = frame {
            let name = if event.name.is_empty() { b"message" } else { event.name };
            events.push((text(name), text(event.data), text(event.id)));
        }
    }
    events
}

fn theirs(mut body: &[u8]) -> Vec<Dispatched> {
    let (mut decoder, mut events) = (SseDecoder::new(), Vec::new());
    while body.has_remaining() {
        if let Some(Ok(SseEvent::Message(message))) = decoder.next(&mut body) {
            let id = message.last_event_id.as_deref().unwrap_or_default().to_owned();
            events.push((message.event.into_owned(), message.data, id));
        }
    }
    events
}
