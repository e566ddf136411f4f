//! Which outputs of a Gradio app are text, and how several calls share a stream.

use beacon::{Outcome, StreamReport};

use crate::{End, Meter, Timestamp};

/// A message every 100 ms, the first of them at 100 ms, and an end right after the last.
fn report_of(messages: &[String]) -> StreamReport {
    let mut meter = Meter::new("", Timestamp::from_ms(0.0));
    let mut at_ms = 0.0;
    for message in messages {
        at_ms += 100.0;
        meter.on_chunk(Timestamp::from_ms(at_ms), format!("data: {message}\n\n").as_bytes());
    }
    meter.on_end(Timestamp::from_ms(at_ms), End::Closed);
    meter.report()
}

fn starts(call: &str) -> String {
    format!(r#"{{"msg":"process_starts","event_id":"{call}","eta":null}}"#)
}

fn outputs(call: &str, data: &str) -> String {
    format!(
        r#"{{"msg":"process_generating","event_id":"{call}","output":{{"data":[{data}]}},"success":true}}"#
    )
}

fn end(call: &str, data: &str) -> String {
    format!(
        r#"{{"msg":"process_completed","event_id":"{call}","output":{{"data":[{data}]}},"success":true}}"#
    )
}

const CLOSE: &str = r#"{"msg":"close_stream","event_id":null}"#;

/// Time of the first token and number of deltas of a call with these outputs one after the other.
#[track_caller]
fn check(data: &[&str], ttft_ms: Option<f64>, deltas: u64) {
    let mut messages = vec![starts("a")];
    messages.extend(data.iter().map(|data| outputs("a", data)));
    messages.extend([end("a", ""), CLOSE.to_owned()]);
    let report = report_of(&messages);
    assert_eq!((report.ttft_ms, u64::from(report.deltas)), (ttft_ms, deltas), "{data:?}");
    assert_eq!(report.outcome, Outcome::Complete);
    assert_eq!(report.defects.iter().count(), 0, "{data:?}");
}

#[test]
fn the_users_own_message_is_no_text() {
    let asked = r#"[{"role":"assistant","content":"Welcome"},{"role":"user","content":"How far?"}]"#;
    check(&[asked], None, 0);
    check(&[asked, r#"[["add",[2],{"role":"assistant","content":""}]]"#], None, 0);
    check(&[asked, r#"[["add",[2],{"role":"assistant","content":"Far"}]]"#], Some(300.0), 1);
    check(&[asked, r#"[["append",[1,"content"],"!"]]"#], None, 0);
    check(&[asked, r#"[["replace",[0,"metadata"],{"title":"Greeting"}]]"#], None, 0);
}

#[test]
fn answers_in_pairs_are_text() {
    check(&[r#"[["Hello","Hi"],["How far?",null]]"#], None, 0);
    check(&[r#"[["How far?",""]]"#, r#"[["append",[0,1],"Far"]]"#], Some(300.0), 1);
    check(&[r#"[["How far?",null]]"#, r#"[["replace",[0,1],"Far"]]"#], Some(300.0), 1);
    check(&[r#"[["How far?","Fa"]]"#, r#"[["append",[0,1],"r"]]"#], Some(200.0), 2);
    check(&[r#"[["How far?",null]]"#, r#"[["append",[0,0],"?"]]"#], None, 0);
}

#[test]
fn a_string_is_text_once_it_goes_on() {
    check(&[r#""""#, r#"[["append",[],"The"]]"#, r#"[["append",[]," moon"]]"#], Some(300.0), 2);
    check(&[r#""Loading""#, r#"[["replace",[],"Ready"]]"#, "[]"], None, 0);
    check(&[r#""Loading""#, r#"[["replace",[],"The"]]"#, r#"[["append",[]," moon"]]"#], Some(300.0), 2);
    check(&[r#"{"value":"The","__type__":"update"}"#, r#"[["append",["value"]," moon"]]"#], Some(200.0), 2);
    check(&[r#"{"label":"The","__type__":"update"}"#, r#"[["append",["label"]," moon"]]"#], None, 0);
}

#[test]
fn a_string_beside_a_chat_is_no_text() {
    let asked = r#""The",[{"role":"user","content":"How far?"}]"#;
    check(&[asked, r#"[["append",[]," moon"]],[]"#], None, 0);
    let answer = r#"[["append",[]," is"]],[["add",[1],{"role":"assistant","content":"Far"}]]"#;
    check(&[asked, r#"[["append",[]," moon"]],[]"#, answer], Some(400.0), 1);
}

#[test]
fn tables_files_and_numbers_are_no_text() {
    check(&["[[1,2],[3,4]]", r#"[["replace",[0,1],5]]"#], None, 0);
    check(&[r#"{"headers":["a"],"data":[["b","c"]]}"#, r#"[["add",["data",1],["d","e"]]]"#], None, 0);
    check(&[r#"[{"path":"a","meta":{"_type":"gradio.FileData"}}]"#], None, 0);
    check(&["3", r#"[["replace",[],4]]"#], None, 0);
    let file = r#"[{"role":"assistant","content":[{"file":{"path":"a"},"type":"file"}]}]"#;
    check(&[file, r#"[["append",[0,"content",0,"type"],"x"]]"#], None, 0);
}

#[test]
fn a_call_without_text_does_not_keep_the_stream_open() {
    let answer = outputs("a", r#"[{"role":"assistant","content":"Far"}]"#);
    let open = |last: &[String]| {
        let timer = [starts("timer"), starts("a"), answer.clone()];
        report_of(&[&timer[..], last].concat()).outcome
    };
    assert_eq!(open(&[]), Outcome::Truncated);
    assert_eq!(open(&[outputs("timer", "1")]), Outcome::Truncated);
    assert_eq!(open(&[end("timer", "1")]), Outcome::Truncated);
    assert_eq!(open(&[end("a", ""), outputs("timer", "1")]), Outcome::Complete);
}

#[test]
fn later_text_of_another_call_revokes_the_end() {
    let answer = |call: &str| outputs(call, r#"[{"role":"assistant","content":"Far"}]"#);
    let first = [starts("a"), answer("a"), end("a", ""), starts("b")];
    let with = |last: &[String]| report_of(&[&first[..], last].concat());
    assert_eq!(with(&[]).outcome, Outcome::Complete);
    assert_eq!(with(&[answer("b")]).outcome, Outcome::Truncated);
    let both = with(&[answer("b"), end("b", "")]);
    assert_eq!((both.outcome, both.deltas), (Outcome::Complete, 2));
    assert_eq!(both.response_id.as_deref(), Some("a"));
}

/// The report of one call of a queue, or without an id of the first.
fn report_of_call(call: &str, messages: &[String]) -> StreamReport {
    let mut meter = Meter::new("", Timestamp::from_ms(0.0));
    meter.on_formats(format!("call:{call}").as_bytes());
    for (index, message) in messages.iter().enumerate() {
        let at = Timestamp::from_ms(100.0 * (index + 1) as f64);
        meter.on_chunk(at, format!("data: {message}\n\n").as_bytes());
        if meter.progress().ended {
            meter.on_end(at, End::Closed);
        }
    }
    meter.report()
}

#[test]
fn each_call_of_a_shared_queue_has_its_own_report() {
    let answer = |call: &str| outputs(call, r#"[{"role":"assistant","content":"Far"}]"#);
    let more = |call: &str| outputs(call, r#"[["append",[0,"content"]," away"]]"#);
    let failed = r#"{"msg":"process_completed","event_id":"b","output":{},"success":false}"#.to_owned();
    let [a, b] = ["a", "b"].map(starts);
    let messages =
        [a, b, answer("b"), answer("a"), more("a"), more("b"), end("a", ""), more("b"), failed, CLOSE.into()];
    for first in ["", "a"] {
        let first = report_of_call(first, &messages);
        assert_eq!((first.outcome, first.deltas, first.ttft_ms), (Outcome::Complete, 2, Some(400.0)));
        assert_eq!((first.e2e_ms, first.close_ms), (Some(500.0), Some(700.0)));
        assert_eq!(first.response_id.as_deref(), Some("a"));
    }
    let second = report_of_call("b", &messages);
    assert_eq!((second.outcome, second.deltas, second.ttft_ms), (Outcome::ProviderError, 3, Some(300.0)));
    assert_eq!(second.response_id.as_deref(), Some("b"));
}

#[test]
fn a_closed_queue_ends_the_stream_of_a_call() {
    let answer = outputs("a", r#"[{"role":"assistant","content":"Far"}]"#);
    let report = report_of_call("", &[starts("a"), answer, CLOSE.into()]);
    assert_eq!((report.outcome, report.close_ms), (Outcome::Complete, Some(300.0)));
}

#[test]
fn a_call_stopped_by_the_user_is_aborted() {
    let stop = r#"{"msg":"process_completed","event_id":"a","output":{},"success":true}"#;
    let report = report_of(&[starts("a"), stop.to_owned(), CLOSE.to_owned()]);
    assert_eq!(report.outcome, Outcome::Aborted);
}

#[test]
fn times_of_a_middleware_that_took_no_text_are_left_out() {
    let mut meter = Meter::new("", Timestamp::from_ms(0.0));
    let answer = outputs("a", r#"[{"role":"assistant","content":"Far"}]"#);
    let comment = ": llm-rum {\"queue_ms\":2,\"ttft_ms\":5}";
    let body = format!("{comment}\n\ndata: {}\n\ndata: {answer}\n\n", starts("a"));
    meter.on_chunk(Timestamp::from_ms(9.0), body.as_bytes());
    let server = meter.report().server.expect("the queue's time is kept");
    assert_eq!((server.queue_ms, server.ttft_ms), (Some(2.0), None));
}

#[test]
fn a_hostile_queue_is_read_within_limits() {
    let calls = (0..1000).map(|call| {
        let chats = vec![r#"[{"role":"assistant","content":"Far"}]"#; 100].join(",");
        outputs(&call.to_string(), &format!(r#"{chats},[["add",[4000000000],{{"role":"user"}}]]"#))
    });
    let mut messages = vec![starts("a")];
    messages.extend(calls);
    let report = report_of(&messages);
    assert_eq!((report.deltas, report.outcome), (1000, Outcome::Truncated));
}
