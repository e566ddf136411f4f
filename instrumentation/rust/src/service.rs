//! The layer, the service that it makes, and the future of a response.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use http::{Request, Response, header};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::body::{Clock, CommentedBody, Watch};
use crate::eligibility::{can_carry_comments, is_from_browser};
use crate::marks::Marks;
use crate::stream_end::{Listener, StreamEnd};

/// Writes the server's time into streams of server-sent events that browsers read.
///
/// The time to first token runs from the call of the service. Put the layer outermost, so that the time in other
/// layers counts, but inside of compression: compressed bodies get no comments.
#[derive(Debug, Clone)]
pub struct LlmRumLayer {
    clock: Clock,
    listener: Option<Listener>,
}

impl LlmRumLayer {
    /// The layer, which only writes comments.
    #[must_use]
    pub fn new() -> Self {
        Self { clock: Instant::now, listener: None }
    }

    /// Calls `listener` for each stream with comments that is over, once. The app sends what it gets to the collector
    /// ([`StreamEnd::json_of`]), by the HTTP client that it has. The listener must return at once: let it put the
    /// value into a bounded channel.
    ///
    /// The first comment of each stream then has a random id.
    #[must_use]
    pub fn on_end(mut self, listener: impl Fn(StreamEnd) + Send + Sync + 'static) -> Self {
        self.listener = Some(Listener(Arc::new(listener)));
        self
    }

    #[cfg(test)]
    pub(crate) fn with_clock(clock: Clock) -> Self {
        Self { clock, listener: None }
    }
}

impl Default for LlmRumLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for LlmRumLayer {
    type Service = LlmRum<S>;

    fn layer(&self, inner: S) -> LlmRum<S> {
        LlmRum { inner, clock: self.clock, listener: self.listener.clone() }
    }
}

/// A service whose responses get comments. [`LlmRumLayer`] makes it.
#[derive(Debug, Clone)]
pub struct LlmRum<S> {
    inner: S,
    clock: Clock,
    listener: Option<Listener>,
}

impl<S, RequestBody, ResponseBody> Service<Request<RequestBody>> for LlmRum<S>
where
    S: Service<Request<RequestBody>, Response = Response<ResponseBody>>,
    ResponseBody: Body,
{
    type Response = Response<CommentedBody<ResponseBody>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<RequestBody>) -> Self::Future {
        let marks = Marks::default();
        // For each client, so that a handler can rely on it.
        request.extensions_mut().insert(marks.clone());
        if !is_from_browser(request.method(), request.headers()) {
            return ResponseFuture { inner: self.inner.call(request), watch: None };
        }
        let watch = Watch::new(marks, self.clock, self.listener.clone());
        let inner = watch.marks().scope(|| self.inner.call(request));
        ResponseFuture { inner, watch: Some(watch) }
    }
}

pin_project! {
    /// The response of the inner service, with comments if it can carry them.
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        inner: F,
        // `None` if the client is no browser.
        watch: Option<Watch>,
    }
}

impl<F, B, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: Body,
{
    type Output = Result<Response<CommentedBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut response = match &*this.watch {
            Some(watch) => ready!(watch.marks().scope(|| this.inner.poll(context)))?,
            None => ready!(this.inner.poll(context))?,
        };
        let watch = this.watch.take().filter(|_| can_carry_comments(response.status(), response.headers()));
        if watch.is_some() {
            response.headers_mut().remove(header::CONTENT_LENGTH);
        }
        Poll::Ready(Ok(response.map(|body| CommentedBody::new(body, watch))))
    }
}
