//! The memory that a meter allocates, counted by a global allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use probe_core::framing::MAX_EVENT_BYTES;
use probe_core::{Meter, Timestamp};

/// Counts the allocations of the current thread.
struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged, and the counters never allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        LIVE.set(LIVE.get() + layout.size() as isize);
        // SAFETY: the caller keeps the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size() as isize);
        // SAFETY: the caller keeps the same contract.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const DELTAS: &[(&str, &str)] = &[
    (
        "openai_chat",
        "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m-1\",\
         \"choices\":[{\"index\":0,\"delta\":{\"content\":\"a \\\"b\\\"\"},\"finish_reason\":null}]}\n\n",
    ),
    (
        "openai_responses",
        "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"msg_1\",\
         \"output_index\":0,\"delta\":\"a\"}\n\n",
    ),
    (
        "anthropic",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
         \"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n",
    ),
    (
        "gemini",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}],\"role\":\"model\"},\"index\":0}],\
         \"usageMetadata\":{\"promptTokenCount\":9},\"modelVersion\":\"m-1\",\"responseId\":\"r\"}\n\n",
    ),
    (
        "ag_ui",
        "data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"timestamp\":1795257600000,\"messageId\":\"m\",\"delta\":\"a\"}\n\n",
    ),
    ("ai_sdk_ui", "data: {\"type\":\"text-delta\",\"id\":\"0\",\"delta\":\"a\"}\n\n"),
    (
        "langgraph",
        "event: messages|ns:1\ndata: [{\"content\":\"a\",\"type\":\"AIMessageChunk\"},{\"run_id\":\"r\"}]\n\n",
    ),
    (
        "gradio",
        "data: {\"msg\":\"process_generating\",\"event_id\":\"e\",\"output\":{\"data\":[[[\"append\",\
         [1,\"content\"],\"a\"]]]},\"success\":true,\"time_limit\":null}\n\n",
    ),
    ("lobe_chat", "id: m\nevent: text\ndata: \"a\"\n\n"),
    ("chat_ui", "{\"type\":\"stream\",\"token\":\"a\\u0000\\u0000\"}\n"),
    ("ai_sdk_data", "0:\"a\"\n"),
    (
        "ollama",
        "{\"model\":\"m-1\",\"created_at\":\"2026-11-20T11:29:01Z\",\"message\":{\"content\":\"a\"},\"done\":false}\n",
    ),
];

#[test]
fn an_event_allocates_nothing_once_the_stream_runs() {
    for (dialect, event) in DELTAS {
        for bytes in [usize::MAX, 50] {
            let mut meter = Meter::new("", Timestamp::from_ms(0.0));
            let mut feed = |round: u32| {
                for chunk in event.as_bytes().chunks(bytes) {
                    // Gaps that the histogram has buckets for: it may still add one bucket.
                    meter.on_chunk(Timestamp::from_ms(f64::from(round) * 20.0), chunk);
                }
            };
            (0..3).for_each(&mut feed);
            let before = CALLS.get();
            (3..1000).for_each(&mut feed);
            assert_eq!(CALLS.get() - before, 0, "{dialect} in chunks of {bytes}");
            assert_eq!(meter.report().dialect.as_deref(), Some(*dialect));
            assert_eq!(meter.report().deltas, 1000);
        }
    }
}

#[test]
fn a_stream_without_end_uses_bounded_memory() {
    let fillers: [&[u8]; 9] =
        [b"x", b"data: ", b"data: x\n", b"data\r", b"id: 12345678\n", b"\r", b": x\n", b"{\"a\":[", b"<p>\n"];
    for filler in fillers {
        let chunk = filler.repeat(4096);
        let before = LIVE.get();
        let mut meter = Meter::new("", Timestamp::from_ms(0.0));
        let mut most = 0;
        for round in 0..600_u32 {
            meter.on_chunk(Timestamp::from_ms(f64::from(round) * 3000.0), &chunk);
            most = most.max(LIVE.get() - before);
        }
        // A growing vector doubles, and the lines of an event are joined in another one.
        assert!(
            most < 4 * MAX_EVENT_BYTES as isize,
            "{most} bytes for {:?}",
            String::from_utf8_lossy(filler)
        );
    }
}
