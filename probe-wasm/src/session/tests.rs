use super::*;

const SSE: &str = "text/event-stream";
const FIRST: &[u8] = b"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n";
const LAST: &[u8] = b"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const CLOSED: How = How::Meter(End::Closed);

fn session() -> Session {
    let options = Options { use_case: Some("chat".into()), ..Options::default() };
    Session::new(options, Page::default(), Some(0.1), true)
}

fn open(session: &mut Session, key: u32, request: f64) {
    let page = Page { route: Some("/chat".into()), ..Page::default() };
    let model = Some("m".into());
    session.open(key, Opening { id: format!("{key:032}"), request, submit: None, model, page });
}

fn begin(session: &mut Session, key: u32, request: f64) {
    open(session, key, request);
    session.headers(key, request + 10.0, 200, SSE);
    session.read(key);
}

fn report(json: Option<String>) -> StreamReport {
    serde_json::from_str(&json.unwrap()).unwrap()
}

fn reports(body: Option<String>) -> Vec<StreamReport> {
    body.map_or_else(Vec::new, |body| serde_json::from_str::<beacon::Batch>(&body).unwrap().reports)
}

#[test]
fn a_stream_is_told_at_its_first_token_and_at_its_end() {
    let mut session = session();
    begin(&mut session, 1, 0.0);
    assert!(session.chunk(1, 100.0, FIRST));
    assert!(!session.chunk(1, 120.0, FIRST));
    assert_eq!(session.due(), Some(1_100.0));
    let first = reports(session.batch(1_100.0));
    assert_eq!((first.len(), first[0].rev, first[0].open, first[0].ttft_ms), (1, 0, true, Some(100.0)));

    session.answered(1_110.0, Answer { status: 204, retry_after_ms: 0.0, spread: 0.0 });
    session.chunk(1, 1_200.0, LAST);
    let told = report(session.end(1, 1_201.0, CLOSED));
    assert_eq!(session.due(), Some(2_201.0));
    let last = reports(session.batch(2_201.0));
    assert_eq!(last, [told]);
    assert_eq!((last[0].rev, last[0].open, last[0].outcome), (1, false, Outcome::Complete));
    assert_eq!((last[0].model.as_deref(), last[0].use_case.as_deref()), (Some("m"), Some("chat")));
}

#[test]
fn a_stream_that_stays_open_is_told_every_15_seconds() {
    let mut session = session();
    begin(&mut session, 1, 0.0);
    assert_eq!(session.due(), Some(15_000.0));
    assert!(session.batch(14_999.0).is_none());
    assert_eq!(reports(session.batch(15_000.0)).len(), 1);
    assert_eq!(session.due(), None, "an answer is awaited");
    session.answered(15_010.0, Answer { status: 204, retry_after_ms: 0.0, spread: 0.0 });
    assert_eq!(session.due(), Some(30_000.0));
}

#[test]
fn a_page_that_may_go_away_tells_everything_once() {
    let mut session = session();
    begin(&mut session, 1, 0.0);
    begin(&mut session, 2, 0.0);
    session.end(2, 50.0, How::Meter(End::Cancelled));
    session.hurry(60.0);
    let told = reports(session.last_words(60.0));
    let seen: Vec<_> = told.iter().map(|report| (report.open, report.outcome)).collect();
    assert_eq!(seen, [(false, Outcome::Aborted), (true, Outcome::Abandoned)]);
    assert!(session.last_words(60.0).is_none());
}

#[test]
fn a_page_that_is_gone_leaves_its_streams_abandoned_for_good() {
    let mut session = session();
    begin(&mut session, 1, 0.0);
    session.chunk(1, 100.0, FIRST);
    session.page_gone(200.0);
    let told = reports(session.last_words(200.0));
    assert_eq!((told[0].open, told[0].outcome, told[0].close_ms), (false, Outcome::Abandoned, Some(200.0)));
}

#[test]
fn what_nobody_read_here_is_unobserved() {
    let mut session = session();
    for key in [1, 2] {
        open(&mut session, key, 0.0);
        session.headers(key, 10.0, 200, SSE);
    }
    assert_eq!(report(session.end(1, 20.0, How::Unseen)).outcome, Outcome::Unobserved);
    let told = reports(session.batch(60_011.0));
    assert!(told.iter().all(|report| !report.open && report.outcome == Outcome::Unobserved));
    assert_eq!(told.len(), 2);
}

#[test]
fn a_user_who_leaves_before_the_first_token_has_abandoned_it() {
    let mut session = session();
    begin(&mut session, 1, 0.0);
    assert_eq!(report(session.end(1, 500.0, How::Meter(End::PageGone))).outcome, Outcome::Abandoned);
}

#[test]
fn a_refusal_that_was_never_read_is_an_http_error() {
    let mut session = session();
    open(&mut session, 1, 0.0);
    session.headers(1, 10.0, 429, "application/json");
    assert_eq!(report(session.end(1, 10.0, CLOSED)).outcome, Outcome::HttpError);
}

#[test]
fn visibility_is_that_of_the_whole_stream() {
    let mut session = session();
    begin(&mut session, 1, 0.0);
    session.set_visible(false);
    begin(&mut session, 2, 0.0);
    let seen = |session: &Session, key| report(session.report(key)).page.unwrap().visibility.unwrap();
    assert_eq!((seen(&session, 1), seen(&session, 2)), ("mixed".into(), "hidden".into()));
    session.set_visible(true);
    assert_eq!((seen(&session, 1), seen(&session, 2)), ("mixed".into(), "mixed".into()));
}

#[test]
fn open_streams_are_bounded() {
    let mut session = session();
    for key in 0..MAX_OPEN as u32 + 5 {
        begin(&mut session, key, 0.0);
    }
    assert_eq!(session.streams.len(), MAX_OPEN);
    assert!(session.report(4).is_none() && session.report(5).is_some());
}

#[test]
fn what_is_not_open_is_ignored() {
    let mut session = session();
    open(&mut session, 1, 0.0);
    session.forget(1);
    assert!(!session.chunk(1, 1.0, FIRST));
    assert!(session.end(1, 2.0, CLOSED).is_none());
    assert!(session.batch(100_000.0).is_none());
}
