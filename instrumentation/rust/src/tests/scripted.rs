//! An app that takes steps at times by a clock of the test, and a client that polls its response.

use std::cell::Cell;
use std::convert::Infallible;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use tower::{Layer, Service, service_fn};

use crate::{CommentedBody, LlmRumLayer, mark};

/// One action of the app, at a time since the request arrived.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub at_ms: f64,
    pub act: Act,
}

#[derive(Debug, Clone)]
pub(super) enum Act {
    Send(Bytes),
    Mark {
        queue_ms: Option<f64>,
        output_tokens: Option<u64>,
    },
    Trailers(HeaderMap),
    Fail,
    /// The app waits for its source, and the client leaves.
    ClientLeaves,
}

impl Step {
    pub(super) const fn chunk(&self) -> Option<&Bytes> {
        match &self.act {
            Act::Send(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The bytes of the chunk, if it is one.
    pub(super) fn sent(&self) -> &[u8] {
        self.chunk().map_or(&[], |bytes| bytes)
    }
}

/// Steps that send these texts, 10 ms apart.
pub(super) fn sends(texts: &[&'static str]) -> Vec<Step> {
    let times = (1..).map(|count| f64::from(count) * 10.0);
    let send = |(&text, at_ms): (&&'static str, f64)| Step {
        at_ms,
        act: Act::Send(Bytes::from_static(text.as_bytes())),
    };
    texts.iter().zip(times).map(send).collect()
}

thread_local! {
    static NOW_MS: Cell<f64> = const { Cell::new(0.0) };
}

/// The clock of the test: it stands still between two steps.
pub(super) fn clock() -> Instant {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    *START + Duration::from_secs_f64(NOW_MS.get() / 1e3)
}

/// The body of the app.
#[derive(Debug)]
pub(super) struct Script {
    steps: std::vec::IntoIter<Step>,
    is_dropped: Arc<AtomicBool>,
}

/// The app's source failed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the source failed")
    }
}

impl std::error::Error for Failure {}

impl Script {
    pub(super) fn new(steps: Vec<Step>) -> Self {
        Self { steps: steps.into_iter(), is_dropped: Arc::default() }
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        loop {
            let Some(Step { at_ms, act }) = self.steps.next() else { return Poll::Ready(None) };
            NOW_MS.set(at_ms);
            match act {
                Act::Send(bytes) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Act::Trailers(trailers) => return Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
                Act::Fail => return Poll::Ready(Some(Err(Failure))),
                Act::ClientLeaves => return Poll::Pending,
                Act::Mark { queue_ms, output_tokens } => {
                    mark(queue_ms, output_tokens);
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.steps.len() == 0
    }

    fn size_hint(&self) -> SizeHint {
        let sizes = self.steps.as_slice().iter().map(|step| step.sent().len() as u64);
        SizeHint::with_exact(sizes.sum())
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.is_dropped.store(true, Ordering::Relaxed);
    }
}

/// What a client got.
#[derive(Debug, Default)]
pub(super) struct Received {
    pub status: u64,
    /// Names in lower case, with their values, sorted.
    pub headers: Vec<(String, String)>,
    pub chunks: Vec<Bytes>,
    pub has_failed: bool,
    pub trailers: Option<HeaderMap>,
}

impl Received {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.chunks.concat()).unwrap()
    }
}

/// Calls an app behind the layer. The app takes the steps while the client reads.
pub(super) fn respond(
    request: Request<()>,
    head: Response<()>,
    steps: &[Step],
) -> Response<CommentedBody<Script>> {
    respond_by(clock, request, head, steps)
}

pub(super) fn respond_by(
    clock: fn() -> Instant,
    request: Request<()>,
    head: Response<()>,
    steps: &[Step],
) -> Response<CommentedBody<Script>> {
    respond_with(&LlmRumLayer::with_clock(clock), request, head, steps)
}

pub(super) fn respond_with(
    layer: &LlmRumLayer,
    request: Request<()>,
    head: Response<()>,
    steps: &[Step],
) -> Response<CommentedBody<Script>> {
    NOW_MS.set(0.0);
    let head = std::sync::Mutex::new(Some(head));
    let app = service_fn(|_| {
        let body = Script::new(steps.to_vec());
        let head = head.lock().unwrap().take().expect("one request");
        std::future::ready(Ok::<_, Infallible>(head.map(|()| body)))
    });
    let response = layer.layer(app).call(request);
    match pin!(response).poll(&mut context()) {
        Poll::Ready(Ok(response)) => response,
        Poll::Pending => panic!("the app responds at once"),
    }
}

/// Reads a response to its end, or until the app waits. Each frame of the app must come out when it was asked for, and
/// at most one frame more at the end.
pub(super) fn receive(response: Response<CommentedBody<Script>>, steps: &[Step]) -> Received {
    let (head, body) = response.into_parts();
    let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let mut headers: Vec<_> = head.headers.iter().map(header).collect();
    headers.sort();
    let status = u64::from(head.status.as_u16());
    let mut received = Received { status, headers, ..Received::default() };
    let mut body = Box::pin(body);
    let is_dropped = body.inner().is_dropped.clone();
    let own = steps.iter().filter(|step| step.chunk().is_some()).count();
    loop {
        match body.as_mut().poll_frame(&mut context()) {
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(bytes) => received.chunks.push(bytes),
                Err(frame) => received.trailers = Some(frame.into_trailers().unwrap()),
            },
            Poll::Ready(Some(Err(Failure))) => received.has_failed = true,
            Poll::Ready(None) => break,
            Poll::Pending => {
                assert!(matches!(steps.last(), Some(Step { act: Act::ClientLeaves, .. })));
                assert!(!is_dropped.load(Ordering::Relaxed));
                drop(body);
                assert!(is_dropped.load(Ordering::Relaxed), "the app's body outlived the client");
                return check_frames(received, own);
            }
        }
        let is_last = body.inner().steps.len() == 0;
        assert!(!is_last || received.chunks.len() >= own, "the layer held a frame back");
    }
    assert!(body.is_end_stream());
    check_frames(received, own)
}

fn check_frames(received: Received, own: usize) -> Received {
    assert!((own..=own + 1).contains(&received.chunks.len()), "{} frames of {own}", received.chunks.len());
    received
}

pub(super) fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}
