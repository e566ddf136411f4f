use beacon::{Defect, Outcome, StreamReport};
use proptest::prelude::*;
use serde_json::{Value, json, to_value};

use super::*;

const SSE: &str = "text/event-stream";
/// Numbers of `js/tap/content-types.js`.
const EVENTS: u8 = 0;
const OTHER: u8 = 2;
const FIRST: &[u8] = b"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n";
const LAST: &[u8] = b"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
/// Bit of `js/session/progress-flags.js`.
const ENDED: u8 = 4;
const CLOSED: u8 = 0;
const CANCELLED: u8 = 2;
const PAGE_GONE: u8 = 4;
const UNSEEN: u8 = 5;

fn begin(session: &mut Session, key: u32) {
    session.open(key, 0.0, None);
    session.headers(key, 10.0, 200, EVENTS);
}

/// The report as the collector reads it, with the fields that JavaScript adds.
fn report(session: &mut Session, key: u32) -> StreamReport {
    let mut report = written(session, key);
    (report["v"], report["id"]) = (json!(1), json!(""));
    serde_json::from_value(as_written(report)).unwrap()
}

/// The object that `js/watcher/wasm-watcher.js` makes of the list.
fn written(session: &mut Session, key: u32) -> Value {
    let list = to_value(session.report(key).unwrap()).unwrap();
    let mut list = list.as_array().unwrap().iter();
    let mut report = json!({});
    let mut object = &mut report;
    let mut left_out = 0;
    while let Some(fields) = list.next() {
        for field in fields.as_str().unwrap().split_whitespace() {
            if let Some(name) = field.strip_suffix(':') {
                report[name] = json!({});
                object = &mut report[name];
                continue;
            }
            let value = match field {
                "counts" => list.by_ref().cloned().collect(),
                _ => list.next().unwrap().clone(),
            };
            let limit = match field.rsplit('_').next() {
                Some("ms") => 864e5,
                Some("tokens") => 1e9,
                _ => f64::INFINITY,
            };
            if value.as_f64().is_some_and(|number| number > limit) {
                left_out += 1;
            // In JSON, an absent number is null.
            } else if !value.is_null() && value != json!("") {
                object[field] = value;
            }
        }
    }
    if left_out > 0 {
        report["left_out"] = json!(left_out);
    }
    report
}

/// JavaScript writes whole numbers without decimals.
fn as_written(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 => json!(float as i64),
            _ => json!(number),
        },
        Value::Array(values) => values.into_iter().map(as_written).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, as_written(value))).collect(),
        other => other,
    }
}

fn ended(session: &mut Session, key: u32, how: u8) -> Outcome {
    session.end(key, 500.0, how);
    report(session, key).outcome
}

#[test]
fn a_report_has_what_was_seen_so_far() {
    let mut session = Session { clock_resolution_ms: Some(0.1), ..Session::NONE };
    begin(&mut session, 1);
    assert_eq!(session.chunk(1, 100.0, FIRST), 0b011, "the first token, to be read");
    assert_eq!(session.chunk(1, 120.0, FIRST), 0b011);
    let first = report(&mut session, 1);
    assert_eq!((first.outcome, first.ttft_ms, first.close_ms), (Outcome::Abandoned, Some(100.0), None));

    assert_eq!(session.chunk(1, 1_200.0, LAST), 0b111, "the end marker, too");
    session.end(1, 1_201.0, CLOSED);
    let last = report(&mut session, 1);
    assert_eq!((last.outcome, last.close_ms), (Outcome::Complete, Some(1_201.0)));
    assert_eq!((last.clock_resolution_ms, last.submit_delay_ms), (Some(0.1), None));
}

#[test]
fn every_field_is_written_as_the_native_report_has_it() {
    let timing =
        br#"data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":0},"prompt_tokens_details":{"cached_tokens":1}},"time_info":{"queue_time":0.1,"prompt_time":0.2,"completion_time":0.3}}"#;
    let comment = b": llm-rum {\"ttft_ms\":80,\"id\":\"k3Jx8vQm2Zr5\"}\n\n";
    let chunks = [comment, FIRST, FIRST, b"data: ?\n\n", FIRST, timing, b"\n\n", LAST];
    let mut session = Session { clock_resolution_ms: Some(0.1), ..Session::NONE };
    session.open(1, 0.0, Some(-5.5));
    session.headers(1, 10.0, 200, EVENTS);
    let mut meter = Meter::new("", Timestamp::from_ms(0.0));
    meter.on_submit(Timestamp::from_ms(-5.5));
    meter.on_clock(Some(0.1));
    meter.on_headers(Timestamp::from_ms(10.0), 200, SSE);
    for (chunk, time) in
        chunks.into_iter().zip([90.0, 100.0, 120.0, 121.0, 3_500.3, 3_600.0, 3_600.0, 3_601.0])
    {
        session.chunk(1, time, chunk);
        meter.on_chunk(Timestamp::from_ms(time), chunk);
    }
    session.end(1, 3_700.0, CLOSED);
    meter.on_end(Timestamp::from_ms(3_700.0), End::Closed);
    let native = meter.report();
    assert_eq!(report(&mut session, 1), native);

    let elsewhere =
        ["v", "id", "rev", "open", "site", "use_case", "observed", "background", "model", "ttfp_ms"];
    let of_page = [
        "variant",
        "attributes",
        "trace_id",
        "visit",
        "arrivals",
        "marks",
        "network_timing",
        "layers",
        "page_lifecycle",
        "page",
        "left_out",
        "sample_rate",
        "dropped",
        "probe_overhead",
    ];
    let written = written(&mut session, 1);
    let golden: Value =
        serde_json::from_str(include_str!("../../../beacon/tests/golden/v1-full.json")).unwrap();
    for (field, _) in golden.as_object().unwrap() {
        let expected = !elsewhere.contains(&field.as_str()) && !of_page.contains(&field.as_str());
        assert_eq!(written.get(field).is_some(), expected, "{field}");
    }
}

/// Times of a clock that also steps back, and shows no time.
fn time() -> impl Strategy<Value = f64> {
    prop_oneof![6 => 0.0..1e5f64, 2 => 0.0..3e8f64, 1 => any::<f64>(), 1 => Just(f64::NAN)]
}

/// An event with text, and numbers that a server made up.
fn event() -> impl Strategy<Value = String> {
    let number =
        prop::sample::select(vec!["0", "-1", "1.5", "1000000000", "1000000001", "86400001", "1e300"]);
    (number.clone(), number, 0..4_usize).prop_map(|(number, other, kind)| match kind {
        0 => format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"a\"}}}}],\"timings\":{{\"prompt_ms\":{number}}}}}\n\n"),
        1 => format!("data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":{number},\"completion_tokens\":{other}}}}}\n\n"),
        2 => format!(": llm-rum {{\"ttft_ms\":{number},\"output_tokens\":{other}}}\n\n"),
        _ => "data: [DONE]\n\n".to_owned(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_report_is_refused(
        (request, submit, answered, over) in (time(), time(), time(), time()),
        chunks in prop::collection::vec((time(), event()), 0..12),
        how in 0..7_u8,
    ) {
        let mut session = Session { clock_resolution_ms: Some(0.1), ..Session::NONE };
        session.open(1, request, Some(submit).filter(|time| !time.is_nan()));
        session.headers(1, answered, 200, EVENTS);
        for (time, text) in &chunks {
            session.chunk(1, *time, text.as_bytes());
            prop_assert_eq!(report(&mut session, 1).check(), Ok(()));
        }
        session.end(1, over, how);
        prop_assert_eq!(report(&mut session, 1).check(), Ok(()));
    }
}

#[test]
fn the_way_it_ended_decides_only_where_the_content_does_not() {
    for (how, cut, whole) in [
        (CLOSED, Outcome::Truncated, Outcome::Complete),
        (CANCELLED, Outcome::Aborted, Outcome::Complete),
        (PAGE_GONE, Outcome::Abandoned, Outcome::Complete),
        (UNSEEN, Outcome::Unobserved, Outcome::Complete),
    ] {
        let mut session = Session::NONE;
        for key in [1, 2] {
            begin(&mut session, key);
            session.chunk(key, 100.0, FIRST);
        }
        session.chunk(2, 200.0, LAST);
        assert_eq!((ended(&mut session, 1, how), ended(&mut session, 2, how)), (cut, whole), "{how}");
    }
}

#[test]
fn an_end_marker_and_an_error_show_the_end_before_the_close() {
    let error: &[u8] = b"data: {\"error\":{\"message\":\"overloaded\",\"type\":\"server_error\"}}\n\n";
    let bare: &[u8] = b"data: [DONE]\n\n";
    for (last, outcome, has_defect) in [
        (LAST, Outcome::Complete, false),
        (error, Outcome::ProviderError, false),
        (bare, Outcome::Complete, true),
    ] {
        let mut session = Session::NONE;
        begin(&mut session, 1);
        assert_eq!(session.chunk(1, 20.0, FIRST) & ENDED, 0);
        assert_eq!(session.chunk(1, 30.0, last) & ENDED, ENDED, "{outcome:?}");
        let report = report(&mut session, 1);
        assert_eq!(report.outcome, outcome);
        assert_eq!(report.defects.get(Defect::SentinelOnly) > 0, has_defect, "{outcome:?}");
    }
}

#[test]
fn a_refusal_that_was_never_read_is_an_http_error() {
    let mut session = Session::NONE;
    session.open(1, 0.0, None);
    session.headers(1, 10.0, 429, OTHER);
    assert_eq!(ended(&mut session, 1, UNSEEN), Outcome::HttpError);
}

#[test]
fn what_is_not_open_is_ignored() {
    let mut session = Session::NONE;
    session.open(1, 0.0, None);
    session.forget(1);
    assert_eq!(session.chunk(1, 1.0, FIRST), 0);
    session.end(1, 2.0, CLOSED);
    assert!(session.report(1).is_none());
}

#[test]
fn a_format_that_has_shown_its_end_is_cut_without_it() {
    let mut session = Session::NONE;
    let text = |word: &str| format!("data: {{\"reply\":{{\"piece\":\"{word}\"}}}}\n\n");
    let body = ["The", " moon", " is", " far", " away."].map(text).concat();
    let end = "data: {\"done\":true}\n\n";
    for (key, last, expected) in
        [(1, "", Outcome::Complete), (2, end, Outcome::Complete), (3, "", Outcome::Truncated)]
    {
        begin(&mut session, key);
        session.chunk(key, 20.0, [&body, last].concat().as_bytes());
        assert_eq!(ended(&mut session, key, CLOSED), expected, "{key}");
    }
}

#[test]
fn an_event_ends_an_answer_over_a_socket() {
    let mut session = Session::NONE;
    for (key, text) in [(1, br#"{"id":"a"}"#), (2, br#"{"id":"b"}"#)] {
        session.open(key, 0.0, None);
        session.socket(key, Question { socket: 1, engine_io: true, text });
    }
    let packet = |data: &str| format!("data: 42[\"part\",{data}]\n\n");
    let part = |word: &str| packet(&format!("{{\"id\":\"b\",\"piece\":\"{word}\"}}"));
    let text = ["The", " moon", " is", " far", " away."].map(part).concat();
    let end = packet("{\"id\":\"b\",\"done\":true}");
    for (time, chunk, is_over) in [(20.0, &text, false), (30.0, &end, true)] {
        assert_eq!(session.chunk(1, time, chunk.as_bytes()), 0, "the other answer");
        assert_eq!(session.chunk(2, time, chunk.as_bytes()) & ENDED == ENDED, is_over);
    }
    assert_eq!(ended(&mut session, 1, CANCELLED), Outcome::Aborted);
    assert_eq!(ended(&mut session, 2, CLOSED), Outcome::Complete);
}
