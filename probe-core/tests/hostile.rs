//! Hostile bytes, times and calls: any of them gives a plausible report that the collector accepts.

use beacon::{NameShape, Outcome, StreamReport};
use probe_core::{End, Meter, Timestamp};
use proptest::prelude::*;

/// One call on a meter.
#[derive(Debug, Clone)]
enum Call {
    Submit(f64),
    Headers(f64, u16, &'static str),
    Chunk(f64, Vec<u8>),
    End(f64, End),
}

fn play(calls: &[Call]) -> StreamReport {
    let at = Timestamp::from_ms;
    let mut meter = Meter::new("f".repeat(32), at(1000.0));
    for call in calls {
        match call {
            Call::Submit(ms) => meter.on_submit(at(*ms)),
            Call::Headers(ms, status, kind) => meter.on_headers(at(*ms), *status, *kind),
            Call::Chunk(ms, bytes) => drop(meter.on_chunk(at(*ms), bytes)),
            Call::End(ms, end) => meter.on_end(at(*ms), *end),
        }
        check(&meter.report());
    }
    meter.report()
}

fn check(report: &StreamReport) {
    assert_eq!(report.check(), Ok(()), "{report:?}");
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
        report.server.as_ref().and_then(|server| server.ttft_ms),
        report.server.as_ref().and_then(|server| server.queue_ms),
        report.server.as_ref().and_then(|server| server.generation_ms),
    ];
    for ms in durations.into_iter().flatten() {
        assert!(ms.is_finite() && ms >= 0.0, "{report:?}");
    }
    assert!(report.ttft_ms <= report.ttfv_ms || report.ttfv_ms.is_none());
    // Times over a day are absent.
    assert!(report.ttft_ms <= report.e2e_ms || report.e2e_ms.is_none());
    assert!(report.deltas <= report.events);
    let names = [&report.response_model, &report.response_id, &report.finish_reason];
    for name in names.into_iter().flatten() {
        assert!(NameShape::MODEL.fits(name.as_bytes()), "{name:?}");
    }
}

fn time() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => 0.0..100_000.0f64,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, -0.0, f64::MAX]),
    ]
}

/// JSON with the keys of the dialects, and unexpected values.
fn json() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        prop::sample::select(vec![
            "null",
            "true",
            "0",
            "-1",
            "1e400",
            "1e-400",
            "99999999999999999999",
            "2000000000",
            "1e9",
            "\"gpt\\u200b4\"",
            "\"\"",
            "\"Hi\"",
            "\"\\ud83d\\u0000\\n\"",
            "\"response.created\"",
            "\"response.completed\"",
            "\"message_start\"",
            "\"content_block_delta\"",
            "\"message_stop\"",
            "\"response.output_text.delta\"",
            "{}",
            "[]",
            "[[",
            "\"",
        ])
        .prop_map(str::to_owned),
        "[ -~é]{0,6}".prop_map(|text| format!("{text:?}")),
    ];
    scalar.prop_recursive(4, 24, 4, |inner| {
        let key = prop::sample::select(vec![
            "type",
            "id",
            "model",
            "choices",
            "index",
            "delta",
            "content",
            "text",
            "thinking",
            "finish_reason",
            "usage",
            "prompt_tokens",
            "completion_tokens",
            "total_tokens",
            "output_tokens",
            "error",
            "timings",
            "ttft_ms",
            "queue_ms",
            "generation_ms",
            "prompt_ms",
            "predicted_n",
            "predicted_ms",
            "response",
            "message",
            "sequence_number",
            "done",
            "created_at",
            "load_duration",
            "eval_count",
            "x_groq",
            "tool_calls",
            "function",
            "arguments",
        ]);
        prop_oneof![
            3 => prop::collection::vec((key, inner.clone()), 0..5).prop_map(|members| {
                let members = members.iter().map(|(key, value)| format!("\"{key}\":{value}"));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }),
            1 => prop::collection::vec(inner, 0..4).prop_map(|elements| format!("[{}]", elements.join(","))),
        ]
    })
}

fn chunk() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => prop::collection::vec(any::<u8>(), 0..40),
        6 => (prop::sample::select(vec!["data: ", "", "event: error\ndata:", ": llm-rum "]), json(), "(\n|\n\n|\r\n\r\n|)")
            .prop_map(|(field, json, end)| format!("{field}{json}{end}").into_bytes()),
        1 => Just(b"data: [DONE]\n\n".to_vec()),
        1 => Just(b"data: [".repeat(300)),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let kinds = vec!["text/event-stream", "application/x-ndjson", "text/plain", ""];
    let ends = vec![End::Closed, End::Failed, End::Cancelled, End::TimedOut, End::PageGone];
    prop_oneof![
        1 => time().prop_map(Call::Submit),
        2 => (time(), 100..1000u16, prop::sample::select(kinds)).prop_map(|(at, status, kind)| Call::Headers(at, status, kind)),
        12 => (time(), chunk()).prop_map(|(at, bytes)| Call::Chunk(at, bytes)),
        1 => (time(), prop::sample::select(ends)).prop_map(|(at, end)| Call::End(at, end)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_order_of_calls_gives_a_plausible_report(calls in prop::collection::vec(call(), 0..40)) {
        play(&calls);
    }

    #[test]
    fn no_bytes_make_the_meter_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000), chunk in 1..64usize) {
        let chunks = bytes.chunks(chunk).map(|bytes| Call::Chunk(1001.0, bytes.to_vec()));
        let report = play(&chunks.chain([Call::End(1002.0, End::Closed)]).collect::<Vec<_>>());
        prop_assert_eq!(report.bytes, bytes.len() as u64);
    }
}

#[test]
fn calls_after_the_end_change_nothing() {
    let event = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n".to_vec();
    let mut calls = vec![Call::Chunk(1100.0, event.clone()), Call::End(1200.0, End::Cancelled)];
    let report = play(&calls);
    calls.extend([
        Call::Chunk(1300.0, event),
        Call::Headers(1300.0, 500, ""),
        Call::End(1400.0, End::Closed),
    ]);
    assert_eq!(play(&calls), report);
    assert_eq!(report.outcome, Outcome::Aborted);
}

#[test]
fn numbers_above_their_limits_are_absent() {
    let usage = r#"{"prompt_tokens":2000000000,"completion_tokens":1000000000}"#;
    let comment = r#"{"ttft_ms":1000000000,"queue_ms":86400000,"output_tokens":1000000001}"#;
    let event = r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"}}]}"#;
    let usage = format!("data: {{\"choices\":[],\"usage\":{usage}}}\n\n");
    let report = play(&[
        Call::Headers(1001.0, 1000, "text/event-stream"),
        Call::Chunk(1002.0, format!(": llm-rum {comment}\n\n").into_bytes()),
        Call::End(1000.0 + 86_400_001.0, End::Closed),
    ]);
    assert_eq!((report.outcome, report.status, report.close_ms), (Outcome::HttpError, None, None));

    let report = play(&[
        Call::Headers(1001.0, 200, "text/event-stream"),
        Call::Chunk(1002.0, format!(": llm-rum {comment}\n\ndata: {event}\n\n{usage}").into_bytes()),
        Call::Chunk(1000.0 + 86_400_000.0, format!("data: {event}\n\n").into_bytes()),
        Call::Chunk(1000.0 + 86_400_003.0, format!("data: {event}\n\n").into_bytes()),
    ]);
    assert_eq!((report.input_tokens, report.output_tokens), (None, Some(1_000_000_000)));
    assert_eq!((report.ttft_ms, report.e2e_ms, report.gaps), (Some(2.0), None, None));
    // The input tokens, the last moment, and two numbers of the server.
    assert_eq!(report.left_out, 4);
    let server = report.server.expect("the comment has a wait within its limit");
    assert_eq!((server.queue_ms, server.ttft_ms, server.output_tokens), (Some(86_400_000.0), None, None));
}
