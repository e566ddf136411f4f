//! Which responses get comments, beyond the cases of the contract.

use http::{Request, Response};

use super::scripted::{receive, respond, sends};

fn gets_comments(request: http::request::Builder, response: http::response::Builder) -> bool {
    let steps = sends(&["data: A\n\n"]);
    let response = respond(request.body(()).unwrap(), response.body(()).unwrap(), &steps);
    receive(response, &steps).text().starts_with(": llm-rum ")
}

fn event_stream() -> http::response::Builder {
    Response::builder().header("content-type", "text/event-stream")
}

fn browser() -> http::request::Builder {
    Request::builder().header("origin", "https://chat.example")
}

#[test]
fn each_of_several_content_codings_counts() {
    assert!(gets_comments(browser(), event_stream().header("content-encoding", " Identity ")));
    let coded = event_stream().header("content-encoding", "identity").header("content-encoding", "br");
    assert!(!gets_comments(browser(), coded));
    let both = event_stream().header("content-encoding", "identity, gzip");
    assert!(!gets_comments(browser(), both));
}

#[test]
fn an_unreadable_content_type_gets_no_comments() {
    let unreadable = Response::builder().header("content-type", &b"text/event-stream\xff"[..]);
    assert!(!gets_comments(browser(), unreadable));
}

#[test]
fn fetch_of_node_is_no_browser() {
    assert!(!gets_comments(Request::builder().header("sec-fetch-mode", "cors"), event_stream()));
    assert!(gets_comments(Request::builder().header("sec-fetch-site", "none"), event_stream()));
}
