//! The event stream rules of the HTML standard, case by case, each at every split.

use std::collections::BTreeSet;

use probe_core::framing::{Frame, Framing, MAX_EVENT_BYTES, Sse};
use serde::Deserialize;

/// Event name, data, id in force, reconnection time in force.
type Dispatched = (String, String, String, Option<u64>);

/// All results of a parser for a body in the given chunks.
#[derive(Debug, Default, PartialEq)]
struct Heard {
    events: Vec<Dispatched>,
    comments: Vec<String>,
    oversize: usize,
    html: usize,
    /// Pending bytes at the end, and the data of the unfinished event.
    pending: (usize, Option<String>),
}

fn listen<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Heard {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (mut sse, mut heard) = (Sse::default(), Heard::default());
    for mut chunk in chunks {
        while let Some(frame) = sse.next(&mut chunk) {
            match frame {
                Frame::Event(event) => {
                    let name = if event.name.is_empty() { b"message" } else { event.name };
                    heard.events.push((text(name), text(event.data), text(event.id), event.retry));
                }
                Frame::Comment(comment) => heard.comments.push(text(comment)),
                Frame::Oversize => heard.oversize += 1,
                Frame::Html => heard.html += 1,
                Frame::Text { .. } => panic!("not of this framing"),
            }
        }
    }
    let pending = sse.finish();
    heard.pending = (pending.bytes, pending.event.map(|event| text(event.data)));
    heard
}

/// Parses a body as a whole, and checks that every split into two and single bytes give the same.
fn hear(body: &[u8]) -> Heard {
    let whole = listen([body]);
    for at in 0..=body.len() {
        let (left, right) = body.split_at(at);
        assert_eq!(listen([left, right]), whole, "split at {at} of {:?}", String::from_utf8_lossy(body));
    }
    assert_eq!(listen(body.chunks(1)), whole, "byte by byte");
    whole
}

fn data(body: impl AsRef<[u8]>) -> Vec<String> {
    hear(body.as_ref()).events.into_iter().map(|(_, data, _, _)| data).collect()
}

fn named(body: &str) -> Vec<(String, String)> {
    hear(body.as_bytes()).events.into_iter().map(|(name, data, _, _)| (name, data)).collect()
}

fn with_ids(body: &str) -> Vec<(String, String)> {
    hear(body.as_bytes()).events.into_iter().map(|(_, data, id, _)| (data, id)).collect()
}

fn retry_in_force(body: &str) -> Option<u64> {
    hear(body.as_bytes()).events.last().unwrap().3
}

fn pair(left: &str, right: &str) -> (String, String) {
    (left.to_owned(), right.to_owned())
}

/// A case of `tests/fixtures/eventsource.json`: from web-platform-tests, by its name there, or an example of the
/// standard.
#[derive(Deserialize)]
struct Case {
    name: String,
    /// The content type of the response, if it matters.
    #[serde(default)]
    content_type: String,
    body: String,
    /// The dispatched events.
    events: Vec<Expected>,
    /// Reconnection time in force at the end.
    retry: Option<u64>,
}

#[derive(Deserialize)]
struct Expected {
    event: String,
    data: String,
    #[serde(default)]
    id: String,
}

/// All files `eventsource/format-*` of web-platform-tests, the other file about parsing, and the standard.
const PUBLISHED: [&str; 25] = [
    "event-data",
    "format-bom",
    "format-bom-2",
    "format-comments",
    "format-data-before-final-empty-line",
    "format-field-data",
    "format-field-event",
    "format-field-event-empty",
    "format-field-id",
    "format-field-id-2",
    "format-field-id-3",
    "format-field-id-null",
    "format-field-parsing",
    "format-field-retry",
    "format-field-retry-bogus",
    "format-field-retry-empty",
    "format-field-unknown",
    "format-leading-space",
    "format-mime-bogus",
    "format-mime-trailing-semicolon",
    "format-mime-valid-bogus",
    "format-newlines",
    "format-null-character",
    "format-utf-8",
    "standard",
];

#[test]
fn the_published_cases_hold_at_every_split() {
    let text = include_str!("../../tests/fixtures/eventsource.json");
    let cases: Vec<Case> = serde_json::from_str(text).unwrap();
    let names: BTreeSet<_> = cases.iter().map(|case| case.name.split(',').next().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(PUBLISHED));
    for Case { name, content_type, body, events, retry } in cases {
        let framing = Framing::of(content_type.as_str(), body.as_bytes());
        assert!(matches!(framing, Some(Framing::Sse(_))), "{name}: {framing:?}");
        let heard = hear(body.as_bytes()).events;
        assert_eq!(heard.last().unwrap().3, retry, "{name}");
        let heard: Vec<_> = heard.into_iter().map(|(event, data, id, _)| (event, data, id)).collect();
        let events: Vec<_> = events.into_iter().map(|it| (it.event, it.data, it.id)).collect();
        assert_eq!(heard, events, "{name}");
    }
}

#[test]
fn line_ends_of_all_three_kinds_are_the_same() {
    for end in ["\n", "\r", "\r\n"] {
        let body = ["event: a", "data: 1", "data: 2", "", "data: 3", "", ""].join(end);
        assert_eq!(named(&body), [pair("a", "1\n2"), pair("message", "3")], "{end:?}");
    }
    assert_eq!(data("data: 1\r\r\ndata: 2\n\r\n"), ["1", "2"]);
}

#[test]
fn an_event_name_holds_for_one_event() {
    let body = "event: a\ndata: 1\n\ndata: 2\n\nevent: b\n\ndata: 3\n\nevent: c\nevent: d\ndata: 4\n\n";
    let expected = [pair("a", "1"), pair("message", "2"), pair("message", "3"), pair("d", "4")];
    assert_eq!(named(body), expected);
}

#[test]
fn an_id_stays_until_another_comes() {
    let body = "id: 1\ndata: a\n\ndata: b\n\nid: 2\n\ndata: c\n\nid\ndata: d\n\n";
    assert_eq!(with_ids(body), [pair("a", "1"), pair("b", "1"), pair("c", "2"), pair("d", "")]);
}

#[test]
fn an_id_with_nul_is_no_id() {
    assert_eq!(with_ids("id: 1\nid: 2\0\ndata: a\n\n"), [pair("a", "1")]);
}

#[test]
fn a_retry_is_digits_and_nothing_else() {
    assert_eq!(retry_in_force("retry: 1500\ndata: a\n\ndata: b\n\n"), Some(1500));
    for bad in
        ["retry", "retry:", "retry:+5", "retry: -5", "retry: 5 ", "retry:  5", "retry: 1e3", "retry: 5x"]
    {
        assert_eq!(retry_in_force(&format!("retry:7\n{bad}\ndata: a\n\n")), Some(7), "{bad}");
    }
    assert_eq!(retry_in_force(&format!("retry:{}\ndata: a\n\n", "9".repeat(40))), Some(u64::MAX));
}

#[test]
fn comments_are_reported_when_their_line_ends() {
    let heard = hear(b": one\n:\ndata: a\n:two\ndata: b\n\n: three\r\n");
    assert_eq!(heard.comments, [" one", "", "two", " three"]);
    assert_eq!(heard.events.len(), 1);
    assert_eq!(heard.events[0].1, "a\nb");
    assert_eq!(heard.pending, (0, None));
}

#[test]
fn pending_data_at_the_end_is_reported() {
    for (body, bytes, event) in [
        ("data: a\n\n", 0, None),
        ("data: a\n\ndata: [DONE]", 12, Some("[DONE]")),
        ("data: a\n\ndata: [DONE]\n", 12, Some("[DONE]")),
        ("data: a\n\ndat", 3, None),
        ("data: a\n\nid: 5\nevent: x\n", 13, None),
        ("data: a\n\n: a comment", 0, None),
        ("data: 1\ndata: 2", 14, Some("1\n2")),
        ("\u{feff}", 0, None),
    ] {
        assert_eq!(hear(body.as_bytes()).pending, (bytes, event.map(str::to_owned)), "{body:?}");
    }
}

#[test]
fn bytes_that_are_not_utf8_stay_in_place() {
    assert_eq!(data(b"data: a\xFFb\n\ndata: \xE6\x97\n\ndata: c\n\n"), ["a\u{fffd}b", "\u{fffd}", "c"]);
    assert_eq!(data(b"\xEF\xBBdata: a\n\ndata: b\n\n"), ["b"]);
}

#[test]
fn a_web_page_between_events_is_detected() {
    let heard = hear(b"data: a\n\n<html>\n<p>502</p>\n\ndata: b\n\n");
    assert_eq!((heard.html, heard.events.len()), (2, 2));
}

#[test]
fn an_event_over_the_cap_is_skipped_and_the_next_is_read() {
    let fits = "x".repeat(MAX_EVENT_BYTES - "data: ".len());
    let cases = [
        (format!("data: {fits}\n\ndata: b\n\n"), 0, 2),
        (format!("data: {fits}x\n\ndata: b\n\n"), 1, 1),
        (format!("data: a\n\ndata: {fits}\ndata: y\r\nid: 4\r\n\r\ndata: b\n\n"), 1, 2),
        (format!(": a comment\ndata: {fits}\n\n"), 0, 1),
        (format!("data: {fits}{fits}"), 1, 0),
        (format!("{}data: b\n\n", "id: 1\n".repeat(MAX_EVENT_BYTES / 4)), 1, 0),
    ];
    for (body, oversize, events) in cases {
        let body = body.as_bytes();
        for bytes in [usize::MAX, 1, 7, 4096, MAX_EVENT_BYTES - 1, MAX_EVENT_BYTES, MAX_EVENT_BYTES + 1] {
            let heard = listen(body.chunks(bytes));
            assert_eq!((heard.oversize, heard.events.len()), (oversize, events), "{bytes} at a time");
        }
    }
}

#[test]
fn a_usual_event_is_borrowed_from_its_chunk() {
    let body = b"event: a\ndata: {}\n\n".to_vec();
    let (mut sse, mut input) = (Sse::default(), &body[..]);
    let Some(Frame::Event(event)) = sse.next(&mut input) else { panic!("one event") };
    let inside = body.as_ptr_range();
    assert!(inside.contains(&event.data.as_ptr()) && inside.contains(&event.name.as_ptr()));
}

/// Not in the standard: servers report a failure by it.
#[test]
fn an_error_field_with_an_object_is_an_event_named_error() {
    for (body, events) in [
        ("error: {\"code\":500}\n\n", &[("error", "{\"code\":500}")][..]),
        ("error:{}\r\n\r\n", &[("error", "{}")]),
        ("data: a\nerror: {}\n\ndata: b\n\n", &[("error", "a\n{}"), ("message", "b")]),
        ("error: null\ndata: a\n\n", &[("message", "a")]),
        ("errors: {}\n\nerror\n\nerror: \n\n", &[]),
    ] {
        let expected: Vec<_> = events.iter().map(|&(name, data)| pair(name, data)).collect();
        assert_eq!(named(body), expected, "{body:?}");
    }
}
