//! Formats that the app describes.

use beacon::{Defect, Outcome, StreamReport};
use probe_core::{End, Meter, Timestamp};
use proptest::prelude::*;

/// The report of events, 100 ms apart, with this description.
fn report(description: &str, events: &[&str], end: End) -> StreamReport {
    let mut meter = Meter::new("f".repeat(32), Timestamp::from_ms(1000.0));
    meter.on_formats(format!("https://a.example/api/chat\n{description}").as_bytes());
    meter.on_headers(Timestamp::from_ms(1050.0), 200, "text/event-stream");
    let mut now_ms = 1000.0;
    for event in events {
        now_ms += 100.0;
        meter.on_chunk(Timestamp::from_ms(now_ms), format!("{event}\n\n").as_bytes());
    }
    meter.on_end(Timestamp::from_ms(now_ms + 100.0), end);
    meter.report()
}

fn data(events: &[&str]) -> Vec<String> {
    events.iter().map(|event| format!("data: {event}")).collect()
}

/// The report of events with this data, after which the body ended.
fn closed(description: &str, events: &[&str]) -> StreamReport {
    let events = data(events);
    report(description, &events.iter().map(String::as_str).collect::<Vec<_>>(), End::Closed)
}

#[test]
fn the_first_text_is_ttft_and_an_end_completes_the_stream() {
    let description = r#"{"text":"choices.0.text","end":"type=done","error":"error.message"}"#;
    let report = closed(
        description,
        &[
            r#"{"type":"begin","text":"no text","choices":[{"text":""}]}"#,
            r#"{"type":"piece","choices":[{"text":"a"},{"text":"other"}]}"#,
            r#"{"type":"piece","choices":[{"text":"a"}]}"#,
            r#"{"type":"done"}"#,
        ],
    );
    assert_eq!(report.dialect.as_deref(), Some("custom"));
    assert_eq!(report.outcome, Outcome::Complete);
    assert_eq!((report.ttft_ms, report.ttfv_ms, report.e2e_ms), (Some(200.0), Some(200.0), Some(300.0)));
    assert_eq!((report.events, report.deltas), (4, 2));
}

#[test]
fn a_body_without_the_described_end_is_cut() {
    let described = r#"{"text":"t","end":"done=true"}"#;
    assert_eq!(closed(described, &[r#"{"t":"a"}"#, r#"{"done":false}"#]).outcome, Outcome::Truncated);
    assert_eq!(closed(described, &[r#"{"t":"a"}"#, r#"{"done":true}"#]).outcome, Outcome::Complete);
    assert_eq!(closed(r#"{"text":"t"}"#, &[r#"{"t":"a"}"#]).outcome, Outcome::Complete);
    assert_eq!(closed(described, &[r#"{"t":"a"}"#, "[DONE]"]).outcome, Outcome::Complete);
}

#[test]
fn an_app_that_closes_at_the_end_has_a_complete_stream() {
    let events = ["data: {\"t\":\"a\"}", "data: {\"done\":1}"];
    let described = r#"{"text":"t","end":"done"}"#;
    assert_eq!(report(described, &events, End::Cancelled).outcome, Outcome::Complete);
    assert_eq!(report(described, &events[..1], End::Cancelled).outcome, Outcome::Aborted);
    let more = [events[0], events[1], "data: {\"t\":\"more\"}"];
    assert_eq!(report(described, &more, End::Cancelled).outcome, Outcome::Aborted);
}

#[test]
fn an_error_is_anything_that_says_something() {
    let described = r#"{"text":"t","error":["error","code"]}"#;
    for (event, outcome) in [
        (r#"{"error":{"message":"no"}}"#, Outcome::ProviderError),
        (r#"{"code":7}"#, Outcome::ProviderError),
        (r#"{"code":0,"error":null}"#, Outcome::Complete),
        (r#"{"code":"","error":{}}"#, Outcome::Complete),
        (r#"{"code":false,"error":[]}"#, Outcome::Complete),
    ] {
        assert_eq!(closed(described, &[r#"{"t":"a"}"#, event]).outcome, outcome, "{event}");
    }
}

#[test]
fn a_condition_selects_events() {
    let described =
        r#"{"text":"content if type=token if node=answer","reasoning":"content if type=thought"}"#;
    let report = closed(
        described,
        &[
            r#"{"type":"sources","content":"http://a.b"}"#,
            r#"{"type":"token","node":"router","content":"search"}"#,
            r#"{"type":"thought","content":"Hm"}"#,
            r#"{"type":"token","node":"answer","content":"Hi"}"#,
        ],
    );
    assert_eq!((report.ttft_ms, report.ttfv_ms, report.deltas), (Some(300.0), Some(400.0), 2));
}

#[test]
fn cumulative_text_counts_where_it_grows() {
    let events =
        [r#"{"m":["Q","a"]}"#, r#"{"m":["Q","a b"]}"#, r#"{"m":["Q","a b"]}"#, r#"{"m":["Q","a b"]}"#];
    let report = closed(r#"{"text":"m.1","cumulative":true}"#, &events);
    assert_eq!((report.ttft_ms, report.e2e_ms, report.deltas), (Some(100.0), Some(200.0), 2));
    assert_eq!(closed(r#"{"text":"m.1"}"#, &events).deltas, 4);
}

#[test]
fn names_and_bare_data_can_be_conditions() {
    let described =
        r#"{"text":"@data if @event=token","end":["@event=stop","@data=[END]"],"error":"@event=oops"}"#;
    let events = ["event: ping\ndata: 1", "event: token\ndata: Hi", "event: token\ndata: [END]"];
    let ended = report(described, &events, End::Closed);
    assert_eq!((ended.outcome, ended.ttft_ms, ended.deltas), (Outcome::Complete, Some(200.0), 1));
    let stopped = report(described, &[events[1], "event: stop\ndata: x"], End::Closed);
    assert_eq!(stopped.outcome, Outcome::Complete);
    let failed = report(described, &[events[1], "event: oops\ndata: x"], End::Closed);
    assert_eq!(failed.outcome, Outcome::ProviderError);
}

#[test]
fn ids_and_tokens_are_taken() {
    let described = r#"{"text":"t","id":"run.id","inputTokens":"n.in","outputTokens":"n.out"}"#;
    let report = closed(described, &[r#"{"t":"a","run":{"id":"run_1"}}"#, r#"{"n":{"in":3,"out":9}}"#]);
    assert_eq!(report.response_id.as_deref(), Some("run_1"));
    assert_eq!((report.input_tokens, report.output_tokens), (Some(3), Some(9)));
}

#[test]
fn any_step_takes_every_value() {
    let report = closed(
        r#"{"text":"parts.*.text"}"#,
        &[r#"{"parts":[{"x":1},{"text":"a"}]}"#, r#"{"parts":{"k":{"text":"b"}}}"#],
    );
    assert_eq!(report.deltas, 2);
}

#[test]
fn a_described_format_is_taken_for_no_other() {
    let openai = r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#;
    let report = closed(r#"{"text":"t"}"#, &[openai, openai]);
    assert_eq!((report.dialect.as_deref(), report.ttft_ms), (Some("custom"), None));
}

#[test]
fn a_description_without_rules_is_none() {
    let openai = r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#;
    for description in ["", "[]", "{}", r#"{"text":7,"url":"/api"}"#, r#"{"text":["",{}]}"#, "{\"text\":\"t"]
    {
        assert_eq!(closed(description, &[openai]).dialect.as_deref(), Some("openai_chat"), "{description}");
    }
}

#[test]
fn the_first_description_for_the_address_counts() {
    let described = r#"[7,{"text":"no","url":"/other"},{"text":"t","url":"/api/"},{"text":"u"}]"#;
    let events = [r#"{"t":"a","u":"b","no":"c"}"#, r#"{"u":"b"}"#];
    assert_eq!(closed(described, &events).deltas, 1);
    let other = r#"{"text":"t","url":"/other"}"#;
    assert_eq!(closed(other, &events).dialect.as_deref(), Some("generic"));
}

#[test]
fn broken_json_is_malformed_and_no_text() {
    let report = closed(r#"{"text":"t"}"#, &[r#"{"t":"a"}"#, r#"{"t":"b""#]);
    assert_eq!((report.deltas, report.defects.get(Defect::Malformed)), (1, 1));
}

proptest! {
    #[test]
    fn any_description_gives_a_plausible_report(
        description in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            r#"\{("(text|end|error|id|cumulative)":(true|"[a-c.*@=]{0,9}( if [a-c.*=]{0,9})?"),?){0,6}\}"#
                .prop_map(String::into_bytes),
        ],
        events in prop::collection::vec(r#"[{\[]?("[abc]":("[abc]{0,3}"|[0-9]{1,3}|\{"[abc]":"b"\}|true),?){0,3}[}\]]?"#, 0..12),
        step in 1..40usize,
    ) {
        let body = events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>();
        let play = |step: usize| {
            let mut meter = Meter::new("", Timestamp::from_ms(0.0));
            meter.on_formats(&[b"/api/chat\n", &description[..]].concat());
            for chunk in body.as_bytes().chunks(step) {
                meter.on_chunk(Timestamp::from_ms(5.0), chunk);
            }
            meter.on_end(Timestamp::from_ms(9.0), End::Closed);
            meter.report()
        };
        let (whole, split) = (play(body.len().max(1)), play(step));
        prop_assert!(whole.deltas <= whole.events);
        let facts = |report: &StreamReport| {
            let StreamReport { outcome, dialect, deltas, events, response_id, output_tokens, .. } = report.clone();
            (outcome, dialect, deltas, events, response_id, output_tokens)
        };
        prop_assert_eq!(facts(&whole), facts(&split));
    }
}
