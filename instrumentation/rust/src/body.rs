//! The body of a response, with comments between its events if a browser reads it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::comment_writer::CommentWriter;
use crate::marks::Marks;
use crate::stream_end::{Ended, Listener, StreamEnd, random_id};

pub(crate) type Clock = fn() -> Instant;

pin_project! {
    /// The body of the inner service, frame by frame. Without comments it is the inner body.
    #[derive(Debug)]
    pub struct CommentedBody<B> {
        #[pin]
        inner: B,
        // `None` if the response gets no comments.
        comments: Option<Box<Comments>>,
    }
}

/// A request of a browser, from its arrival on.
#[derive(Debug)]
pub(crate) struct Watch {
    marks: Marks,
    arrived: Instant,
    clock: Clock,
    listener: Option<Listener>,
}

/// The comments of one response.
#[derive(Debug)]
struct Comments {
    watch: Watch,
    /// `None` after an internal fault.
    writer: Option<CommentWriter>,
    /// The inner body's, while the last comment goes before them.
    trailers: Option<HeaderMap>,
    /// The last frame is out.
    is_over: bool,
    /// The stream's id for the app's listener, until that has it.
    id: Option<String>,
}

impl<B> CommentedBody<B> {
    pub(crate) fn new(inner: B, watch: Option<Watch>) -> Self {
        let comments = watch.map(|watch| {
            let id = watch.listener.is_some().then(random_id);
            let writer = Some(CommentWriter::new(watch.marks.clone(), id.clone()));
            Box::new(Comments { watch, writer, trailers: None, is_over: false, id })
        });
        Self { inner, comments }
    }

    #[cfg(test)]
    pub(crate) const fn inner(&self) -> &B {
        &self.inner
    }
}

impl<B: Body> Body for CommentedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        let Some(comments) = this.comments else {
            return this.inner.poll_frame(context).map_ok(|frame| frame.map_data(bytes_of));
        };
        if let Some(trailers) = comments.trailers.take() {
            comments.over(Ended::Complete);
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        if comments.is_over {
            return Poll::Ready(None);
        }
        // The app's stream may call `mark` when it is asked for more.
        let polled = ready!(comments.watch.marks.scope(|| this.inner.poll_frame(context)));
        Poll::Ready(match polled {
            Some(Ok(frame)) => Some(Ok(comments.pass(frame.map_data(bytes_of)))),
            Some(Err(error)) => {
                comments.over(Ended::Error);
                Some(Err(error))
            }
            None => {
                comments.over(Ended::Complete);
                comments.end().map(|comment| Ok(Frame::data(comment)))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        match &self.comments {
            // A comment may follow the inner body's last frame.
            Some(comments) => comments.is_over,
            None => self.inner.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.comments {
            Some(_) => SizeHint::default(),
            None => self.inner.size_hint(),
        }
    }
}

impl Watch {
    pub(crate) fn new(marks: Marks, clock: Clock, listener: Option<Listener>) -> Self {
        Self { marks, arrived: clock(), clock, listener }
    }

    pub(crate) const fn marks(&self) -> &Marks {
        &self.marks
    }

    fn elapsed(&self) -> Duration {
        (self.clock)().saturating_duration_since(self.arrived)
    }
}

impl Comments {
    /// The frame that goes out for one of the inner body.
    fn pass(&mut self, frame: Frame<Bytes>) -> Frame<Bytes> {
        let frame = match frame.into_data() {
            Ok(chunk) => return Frame::data(self.feed(chunk)),
            Err(frame) => frame,
        };
        match frame.into_trailers() {
            Ok(trailers) => match self.end() {
                Some(comment) => {
                    self.trailers = Some(trailers);
                    Frame::data(comment)
                }
                None => {
                    self.over(Ended::Complete);
                    Frame::trailers(trailers)
                }
            },
            Err(unknown) => unknown,
        }
    }

    fn feed(&mut self, chunk: Bytes) -> Bytes {
        self.without_panic(|writer, watch| writer.feed(&chunk, watch.elapsed())).unwrap_or(chunk)
    }

    fn end(&mut self) -> Option<Bytes> {
        self.without_panic(|writer, _| writer.end())
    }

    fn over(&mut self, ended: Ended) {
        self.is_over = true;
        self.tell(ended);
    }

    /// Tells the app's listener, once.
    fn tell(&mut self, ended: Ended) {
        let (Some(id), Some(listener)) = (self.id.take(), &self.watch.listener) else { return };
        let (ttft, generation) = self.writer.as_ref().map(CommentWriter::times).unwrap_or_default();
        let (duration, marked) = (self.watch.elapsed(), self.watch.marks.get());
        let end = StreamEnd { id, ended, duration, ttft, generation, marked };
        listener.tell(end.clone());
        if ended == Ended::ClientGone {
            self.watch.marks.client_left(end, listener.clone());
        }
    }

    /// An internal fault ends the comments, and not the app's response. The panic hook logs it.
    fn without_panic(
        &mut self,
        call: impl FnOnce(&mut CommentWriter, &Watch) -> Option<Bytes>,
    ) -> Option<Bytes> {
        let writer = self.writer.as_mut()?;
        let result = catch_unwind(AssertUnwindSafe(|| call(writer, &self.watch)));
        if result.is_err() {
            self.writer = None;
        }
        result.ok().flatten()
    }
}

impl Drop for Comments {
    /// Of a stream that is not over, the server has dropped the body: its client left.
    fn drop(&mut self) {
        self.tell(Ended::ClientGone);
    }
}

/// Without a copy for a body of `Bytes`, as axum's is.
fn bytes_of(mut data: impl Buf) -> Bytes {
    data.copy_to_bytes(data.remaining())
}
