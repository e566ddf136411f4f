//! Frames, ends and faults of the body.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Body;
use proptest::prelude::*;
use tower::{Layer, Service, service_fn};

use super::scripted::{Act, Received, Script, Step, clock, context, receive, respond_by, sends};
use crate::marks::{Marks, mark};
use crate::stream_end::Marked;
use crate::{CommentedBody, Ended, LlmRumLayer, StreamEnd};

const BODY: [&str; 3] = ["data: A\n\n", "data: B\n\n", "data: [DONE]\n\n"];

fn browser() -> Request<()> {
    Request::builder().header("sec-fetch-site", "same-origin").body(()).unwrap()
}

fn event_stream() -> Response<()> {
    Response::builder().header("content-type", "text/event-stream").body(()).unwrap()
}

fn read(steps: &[Step]) -> Received {
    receive(respond_by(clock, browser(), event_stream(), steps), steps)
}

/// A response of an app, and the marks that its handler found in the request.
fn with_marks(request: Request<()>) -> (Response<CommentedBody<Script>>, Marks) {
    let marks = Arc::new(Mutex::new(None));
    let app = service_fn(async |request: Request<()>| {
        marks.lock().unwrap().clone_from(&request.extensions().get::<Marks>().cloned());
        Ok::<_, Infallible>(event_stream().map(|()| Script::new(sends(&BODY))))
    });
    let mut response = pin!(LlmRumLayer::with_clock(clock).layer(app).call(request));
    let Poll::Ready(Ok(response)) = response.as_mut().poll(&mut context()) else { panic!("no response") };
    let marks = marks.lock().unwrap().take();
    (response, marks.expect("the layer's marks"))
}

fn trailers() -> HeaderMap {
    HeaderMap::from_iter([(http::header::ETAG, HeaderValue::from_static("7"))])
}

#[test]
fn trailers_follow_the_last_comment() {
    let mut steps = sends(&BODY[..2]);
    steps.push(Step { at_ms: 30.0, act: Act::Trailers(trailers()) });
    let received = read(&steps);
    assert!(received.text().ends_with(": llm-rum {\"generation_ms\":10}\n\n"));
    assert_eq!(received.trailers, Some(trailers()));
}

#[test]
fn trailers_pass_without_a_comment_at_the_end() {
    let mut steps = sends(&BODY);
    steps.push(Step { at_ms: 40.0, act: Act::Trailers(trailers()) });
    let received = read(&steps);
    assert!(received.text().ends_with(BODY[2]));
    assert_eq!(received.trailers, Some(trailers()));
}

#[test]
fn the_end_comes_after_the_last_own_frame() {
    let steps = sends(&BODY[..2]);
    let mut body = pin!(respond_by(clock, browser(), event_stream(), &steps).into_body());
    for frames_left in [2, 1, 0] {
        // The app's body says after two frames that it is over, but one comment follows.
        assert!(!body.is_end_stream(), "{frames_left} frames left");
        assert!(matches!(body.as_mut().poll_frame(&mut context()), Poll::Ready(Some(Ok(_)))));
    }
    assert!(body.is_end_stream());
    assert!(matches!(body.as_mut().poll_frame(&mut context()), Poll::Ready(None)));
}

#[test]
fn the_size_is_known_only_without_comments() {
    let steps = sends(&BODY);
    let own: usize = BODY.iter().map(|text| text.len()).sum();
    let commented = respond_by(clock, browser(), event_stream(), &steps);
    assert_eq!((commented.size_hint().lower(), commented.size_hint().upper()), (0, None));
    let plain = respond_by(clock, Request::new(()), event_stream(), &steps);
    assert_eq!(plain.size_hint().exact(), Some(own as u64));
    let empty = respond_by(clock, Request::new(()), event_stream(), &[]);
    assert!(empty.is_end_stream());
}

#[test]
fn a_fault_of_the_layer_leaves_the_stream_unchanged() {
    thread_local! {
        static CALLS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    }
    fn faulty() -> Instant {
        CALLS.set(CALLS.get() + 1);
        // The first call is for the arrival.
        assert_eq!(CALLS.get(), 1, "a fault that the test makes");
        clock()
    }
    let steps = sends(&BODY);
    let received = receive(respond_by(faulty, browser(), event_stream(), &steps), &steps);
    assert_eq!(received.text(), BODY.concat());
    assert_eq!(CALLS.get(), 2);
}

#[test]
fn chunks_without_comments_are_not_copied() {
    let steps = sends(&BODY);
    let received = read(&steps);
    assert_eq!(received.chunks[1].as_ptr(), steps[1].sent().as_ptr());
}

#[test]
fn data_after_a_long_comment_is_text() {
    let comment = format!(": {}\ndata: A\n\n", "x".repeat(20_000));
    let steps = [Step { at_ms: 5.0, act: Act::Send(comment.into()) }];
    assert!(read(&steps).text().starts_with(": llm-rum {\"ttft_ms\":5}"));
}

#[test]
fn a_long_event_without_data_is_no_text() {
    let comment = format!(": {}\nevent: a\n\n", "x".repeat(20_000));
    let steps = [Step { at_ms: 5.0, act: Act::Send(comment.into()) }];
    assert_eq!(read(&steps).text().as_bytes(), steps[0].sent());
}

#[test]
fn marks_from_another_thread_are_in_the_next_comment() {
    let (commented, marks) = with_marks(browser());
    assert!(Marks::current().is_none());
    mark(Some(9.0), Some(9));
    std::thread::spawn(move || marks.mark(Some(40.0), None)).join().unwrap();
    let text = receive(commented, &sends(&BODY)).text();
    assert!(text.starts_with(": llm-rum {\"ttft_ms\":10,\"queue_ms\":40}\n\n"), "{text}");
    assert!(text.contains(": llm-rum {\"generation_ms\":10}\n\n"), "{text}");
}

#[test]
fn marks_for_other_clients_are_ignored() {
    let (plain, marks) = with_marks(Request::new(()));
    marks.mark(Some(40.0), Some(2));
    assert_eq!(receive(plain, &sends(&BODY)).text(), BODY.concat());
}

#[test]
fn values_that_are_no_amounts_are_ignored() {
    let marks = Marks::default();
    for wrong in [-1.0, f64::NAN, f64::INFINITY, f64::MAX] {
        marks.mark(Some(wrong), None);
    }
    assert_eq!(marks.get(), Marked::default());
    marks.mark(Some(1.000_49), Some(3));
    marks.mark(Some(-1.0), None);
    assert_eq!(marks.get(), Marked { queue_ms: Some(1.0), output_tokens: Some(3), ..Marked::default() });
}

proptest! {
    /// All bytes of the app come out, in their order, and at most two comments with them.
    #[test]
    fn any_bytes_come_out_with_at_most_two_comments(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "\n", "\r", "\r\n", "data:", "data: {", "\"type\":\"stop\"", "}", "id: 1", "event: end", "[DONE]",
                "\u{feff}", "retry:", " x", "é",
            ]),
            0..40,
        ),
        size in 1..9_usize,
    ) {
        let own = Bytes::from(parts.concat());
        let steps: Vec<_> = own
            .chunks(size)
            .map(|chunk| Step { at_ms: 1.0, act: Act::Send(Bytes::copy_from_slice(chunk)) })
            .collect();
        let text = read(&steps).chunks.concat();
        let mut rest = &text[..];
        let mut left = &own[..];
        let mut comments = 0;
        while !rest.is_empty() {
            if rest.starts_with(b": llm-rum {") {
                comments += 1;
                let after = memchr::memchr(b'}', rest).expect("the end of the comment") + 1;
                rest = &rest[after..];
                // One line end, or two.
                let ends = ["\r\n\r\n", "\n\n", "\r\r", "\r\n", "\n", "\r"];
                let end = ends.iter().find(|end| rest.starts_with(end.as_bytes())).expect("a line end");
                let own_rest = &rest[end.len()..];
                let half = &rest[end.len() / 2..];
                rest = if end.len() % 2 == 0 && own_rest != left && half.starts_with(left) { half } else { own_rest };
            } else {
                prop_assert_eq!(left.first(), rest.first());
                (left, rest) = (&left[1..], &rest[1..]);
            }
        }
        prop_assert!(left.is_empty());
        prop_assert!(comments <= 2);
    }
}

/// The ends that the layer tells, and the text that the client got.
fn ends_of(steps: &[Step]) -> (Vec<StreamEnd>, String) {
    ends_with(steps, |_| ())
}

/// As [`ends_of`], with what a task of the app does when the response is over.
fn ends_with(steps: &[Step], after: impl FnOnce(Marks)) -> (Vec<StreamEnd>, String) {
    let ends = Arc::new(Mutex::new(Vec::new()));
    let heard = ends.clone();
    let layer = LlmRumLayer::with_clock(clock).on_end(move |end| heard.lock().unwrap().push(end));
    let marks = OnceLock::new();
    let app = service_fn(async |_: Request<()>| {
        mark(Some(3.0), Some(2));
        marks.get_or_init(|| Marks::current().unwrap());
        Ok::<_, Infallible>(event_stream().map(|()| Script::new(steps.to_vec())))
    });
    let mut response = pin!(layer.layer(app).call(browser()));
    let Poll::Ready(Ok(response)) = response.as_mut().poll(&mut context()) else { panic!("no response") };
    let text = receive(response, steps).text();
    after(marks.get().unwrap().clone());
    let ends = std::mem::take(&mut *ends.lock().unwrap());
    (ends, text)
}

#[test]
fn a_stream_that_ends_is_told_once_with_its_times() {
    let (ends, text) = ends_of(&sends(&BODY));
    let [end] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!((end.ended, end.id.len()), (Ended::Complete, 32));
    assert_eq!(text.matches(&format!("\"id\":\"{}\"", end.id)).count(), 1, "{text}");
    let body: serde_json::Value = serde_json::from_str(&StreamEnd::json_of(&ends)).unwrap();
    let expected = serde_json::json!({ "facts": [{
        "id": end.id, "layer": "app", "source": "llm-rum-tower", "starts_from": "arrival", "ended": "complete",
        "duration_ms": 30.0, "ttft_ms": 10.0, "generation_ms": 10.0, "queue_ms": 3.0, "output_tokens": 2,
        "tokens_after_gone": null,
    }] });
    assert_eq!(body, expected);
}

#[test]
fn a_client_that_leaves_and_an_app_that_fails_are_told() {
    for (act, expected) in [(Act::ClientLeaves, Ended::ClientGone), (Act::Fail, Ended::Error)] {
        let mut steps = sends(&BODY[..1]);
        steps.push(Step { at_ms: 25.0, act });
        let (ends, _) = ends_of(&steps);
        assert_eq!(ends.iter().map(|end| end.ended).collect::<Vec<_>>(), [expected]);
    }
}

#[test]
fn tokens_after_the_client_left_are_told_once() {
    let mut steps = sends(&BODY[..1]);
    steps.push(Step { at_ms: 25.0, act: Act::ClientLeaves });
    let (ends, _) = ends_with(&steps, |marks| {
        marks.mark(None, Some(40));
        marks.tokens_after_gone(31);
        marks.tokens_after_gone(32);
    });
    let facts: serde_json::Value = serde_json::from_str(&StreamEnd::json_of(&ends)).unwrap();
    let mut expected = [facts["facts"][0].clone(), facts["facts"][0].clone()];
    assert_eq!(expected[0]["tokens_after_gone"], serde_json::Value::Null);
    expected[1]["output_tokens"] = 40.into();
    expected[1]["tokens_after_gone"] = 31.into();
    assert_eq!(facts["facts"], serde_json::json!(expected));
}

#[test]
fn tokens_after_gone_are_absent_from_a_whole_stream() {
    let (ends, _) = ends_with(&sends(&BODY), |marks| marks.tokens_after_gone(0));
    let [end] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!(end.ended, Ended::Complete);
    assert!(StreamEnd::json_of(&ends).contains("\"tokens_after_gone\":null"));
}

#[test]
fn a_listener_that_panics_leaves_the_response_alone() {
    let layer = LlmRumLayer::with_clock(clock).on_end(|_| panic!("in the listener"));
    let steps = sends(&BODY);
    let app = service_fn(async |_: Request<()>| {
        Ok::<_, Infallible>(event_stream().map(|()| Script::new(steps.clone())))
    });
    let mut response = pin!(layer.layer(app).call(browser()));
    let Poll::Ready(Ok(response)) = response.as_mut().poll(&mut context()) else { panic!("no response") };
    assert!(receive(response, &steps).text().contains("data: [DONE]"));
}
