use beacon::{Outcome, StreamReport};

use super::*;

const SSE: &str = "text/event-stream";
const FIRST: &[u8] = b"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n";
const LAST: &[u8] = b"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const CLOSED: u8 = 0;
const CANCELLED: u8 = 2;
const PAGE_GONE: u8 = 4;
const UNSEEN: u8 = 5;

fn session() -> Session {
    let options = Options { use_case: Some("chat"), release: Some("1.2"), ..Options::default() };
    let device = Device { browser: Some("chrome"), ..Device::default() };
    Session::new(options, device, Some(0.1), true)
}

fn open(session: &mut Session, key: u32) {
    let place = Place { route: "/chat".into(), connection: None };
    let model = Some("m".into());
    session.open(key, Opening { id: format!("{key:032}"), request: 0.0, submit: f64::NAN, model, place });
}

fn begin(session: &mut Session, key: u32) {
    open(session, key);
    session.headers(key, 10.0, 200, SSE);
}

fn report(session: &mut Session, key: u32) -> StreamReport {
    serde_json::from_str(&session.report(key)).unwrap()
}

fn ended(session: &mut Session, key: u32, how: u8) -> Outcome {
    session.end(key, 500.0, how);
    report(session, key).outcome
}

#[test]
fn each_report_is_a_revision_with_what_the_page_said() {
    let mut session = session();
    begin(&mut session, 1);
    assert_eq!(session.chunk(1, 100.0, FIRST), 0b011, "the first token, to be read");
    assert_eq!(session.chunk(1, 120.0, FIRST), 0b011);
    let first = report(&mut session, 1);
    assert_eq!((first.rev, first.open, first.ttft_ms), (0, true, Some(100.0)));

    assert_eq!(session.chunk(1, 1_200.0, LAST), 0b111, "the end marker, too");
    session.end(1, 1_201.0, CLOSED);
    let last = report(&mut session, 1);
    assert_eq!((last.rev, last.open, last.outcome), (1, false, Outcome::Complete));
    assert_eq!((last.model.as_deref(), last.use_case.as_deref()), (Some("m"), Some("chat")));
    assert_eq!((last.clock_resolution_ms, last.submit_delay_ms), (Some(0.1), None));
    let page = Page {
        browser: Some("chrome".into()),
        visibility: Some("visible".into()),
        release: Some("1.2".into()),
        route: Some("/chat".into()),
        ..Page::default()
    };
    assert_eq!(last.page, Some(page));
}

#[test]
fn what_the_answer_proves_goes_before_what_the_page_said() {
    let options = Options { provider: Some("mine"), ..Options::default() };
    let mut session = Session::new(options, Device::default(), None, true);
    begin(&mut session, 1);
    assert_eq!(report(&mut session, 1).provider.as_deref(), Some("mine"));
    let timing =
        br#"data: {"choices":[],"time_info":{"queue_time":0.1,"prompt_time":0.2,"completion_time":0.3}}"#;
    session.chunk(1, 50.0, &[timing, &b"\n\n"[..]].concat());
    assert_eq!(report(&mut session, 1).provider.as_deref(), Some("cerebras"));
}

#[test]
fn the_way_it_ended_decides_only_where_the_content_does_not() {
    for (how, cut, whole) in [
        (CLOSED, Outcome::Truncated, Outcome::Complete),
        (CANCELLED, Outcome::Aborted, Outcome::Complete),
        (PAGE_GONE, Outcome::Abandoned, Outcome::Complete),
        (UNSEEN, Outcome::Unobserved, Outcome::Complete),
    ] {
        let mut session = session();
        for key in [1, 2] {
            begin(&mut session, key);
            session.chunk(key, 100.0, FIRST);
        }
        session.chunk(2, 200.0, LAST);
        assert_eq!((ended(&mut session, 1, how), ended(&mut session, 2, how)), (cut, whole), "{how}");
    }
}

#[test]
fn a_refusal_that_was_never_read_is_an_http_error() {
    let mut session = session();
    open(&mut session, 1);
    session.headers(1, 10.0, 429, "application/json");
    assert_eq!(ended(&mut session, 1, UNSEEN), Outcome::HttpError);
}

#[test]
fn visibility_is_that_of_the_whole_stream() {
    let mut session = session();
    begin(&mut session, 1);
    session.set_visible(false);
    begin(&mut session, 2);
    let seen = |session: &mut Session, key| report(session, key).page.unwrap().visibility.unwrap();
    assert_eq!((seen(&mut session, 1), seen(&mut session, 2)), ("mixed".into(), "hidden".into()));
    session.set_visible(true);
    assert_eq!((seen(&mut session, 1), seen(&mut session, 2)), ("mixed".into(), "mixed".into()));
}

#[test]
fn what_is_not_open_is_ignored() {
    let mut session = session();
    open(&mut session, 1);
    session.forget(1);
    assert_eq!(session.chunk(1, 1.0, FIRST), 0);
    session.end(1, 2.0, CLOSED);
    assert_eq!(session.report(1), "");
}
