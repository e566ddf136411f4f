//! The contenders: ours first, then the common alternatives.

use bytes::Buf;
use memchr::memchr;
use probe_core::framing::{Frame, Sse};
use probe_core::{Meter, Timestamp};
use sse_core::{SseDecoder, SseEvent};

use crate::types::{ChatChunk, Lent, MessagesEvent};

/// One way to do the same work: counts the events in the chunks of a body.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&[&[u8]]) -> usize,
}

pub(crate) const FRAMING: &[Contender] = &[
    Contender { name: "probe-core", run: frame },
    Contender { name: "sse-core", run: |chunks| decode(chunks, |_| true) },
    Contender { name: "memchr over the same bytes", run: count_events },
];

pub(crate) const CHAT: &[Contender] = &[
    Contender { name: "probe-core", run: meter },
    Contender {
        name: "sse-core, serde_json",
        run: |chunks| {
            decode(chunks, |data| parsed::<ChatChunk<String>>(data).is_some_and(|it| it.has_text()))
        },
    },
    Contender {
        name: "the same, strings borrowed",
        run: |chunks| decode(chunks, |data| parsed::<ChatChunk<Lent>>(data).is_some_and(|it| it.has_text())),
    },
];

pub(crate) const ANTHROPIC: &[Contender] = &[
    Contender { name: "probe-core", run: meter },
    Contender {
        name: "sse-core, serde_json",
        run: |chunks| {
            decode(chunks, |data| parsed::<MessagesEvent<String>>(data).is_some_and(|it| it.has_text()))
        },
    },
    Contender {
        name: "the same, strings borrowed",
        run: |chunks| {
            decode(chunks, |data| parsed::<MessagesEvent<Lent>>(data).is_some_and(|it| it.has_text()))
        },
    },
];

/// The events that our parser dispatches.
fn frame(chunks: &[&[u8]]) -> usize {
    let (mut sse, mut events) = (Sse::default(), 0);
    for mut chunk in chunks.iter().copied() {
        while let Some(frame) = sse.next(&mut chunk) {
            events += usize::from(matches!(frame, Frame::Event(_)));
        }
    }
    events
}

/// The events with text that the whole pipeline finds.
fn meter(chunks: &[&[u8]]) -> usize {
    let mut meter = Meter::new("", Timestamp::from_ms(0.0));
    for (read, chunk) in chunks.iter().enumerate() {
        meter.on_chunk(Timestamp::from_ms(read as f64 * 20.0), chunk);
    }
    meter.report().deltas as usize
}

/// The events of `sse-core` with `wanted` data.
fn decode(chunks: &[&[u8]], wanted: impl Fn(&str) -> bool) -> usize {
    let (mut decoder, mut events) = (SseDecoder::new(), 0);
    for mut chunk in chunks.iter().copied() {
        while chunk.has_remaining() {
            if let Some(Ok(SseEvent::Message(message))) = decoder.next(&mut chunk) {
                events += usize::from(wanted(&message.data));
            }
        }
    }
    events
}

/// Two line ends for each event: the cost of one search through all bytes.
fn count_events(chunks: &[&[u8]]) -> usize {
    let mut lines = 0;
    for mut chunk in chunks.iter().copied() {
        while let Some(at) = memchr(b'\n', chunk) {
            lines += 1;
            chunk = &chunk[at + 1..];
        }
    }
    lines / 2
}

fn parsed<'a, T: serde::Deserialize<'a>>(data: &'a str) -> Option<T> {
    serde_json::from_str(data).ok()
}
