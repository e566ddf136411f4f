//! Values that only the app knows, and how a call of [`mark`] finds the stream that it belongs to.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::stream_end::{Listener, Marked, StreamEnd, whole_microseconds};

/// The marked values of one response. All clones belong to the same response.
///
/// [`Marks::current`] gives those of the current request. A task that the handler spawns has no current request: move
/// the value into it. Each request's extensions have the value, too.
#[derive(Debug, Clone, Default)]
pub struct Marks(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    marked: Marked,
    /// The end of a stream whose client left, until [`Marks::tokens_after_gone`] is called.
    gone: Option<(StreamEnd, Listener)>,
}

/// Adds values to the next comment of the current request.
///
/// `queue_ms` is the part of the time to first token in which the request waited in a queue. `output_tokens` is the
/// number of generated tokens. Call it before the event that ends the stream is sent.
///
/// The current request is known while its handler or the stream of its body is polled. Outside, and for clients that
/// are no browsers, the call does nothing. `None` leaves a value as it was, and so does a negative or infinite one.
pub fn mark(queue_ms: Option<f64>, output_tokens: Option<u64>) {
    if let Some(marks) = Marks::current() {
        marks.mark(queue_ms, output_tokens);
    }
}

impl Marks {
    /// Those of the request whose handler or body is being polled. `None` outside, and if the client is no browser.
    #[must_use]
    pub fn current() -> Option<Self> {
        // A thread that ends has no current request.
        CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
    }

    /// As [`mark`], for this response.
    pub fn mark(&self, queue_ms: Option<f64>, output_tokens: Option<u64>) {
        let is_amount = |ms: &f64| ms.is_finite() && *ms >= 0.0;
        let marked = &mut self.lock().marked;
        marked.queue_ms = queue_ms.map(whole_microseconds).filter(is_amount).or(marked.queue_ms);
        marked.output_tokens = output_tokens.or(marked.output_tokens);
    }

    /// Says how many tokens were generated after the client had left. It counts once, and only if the client did.
    ///
    /// For an app that reads its upstream to the end in a task of its own. Mark `output_tokens` before. Where
    /// [`on_end`](crate::LlmRumLayer::on_end) has already told the app that the client left, it tells it again, with
    /// these values.
    pub fn tokens_after_gone(&self, tokens: u64) {
        let mut state = self.lock();
        state.marked.tokens_after_gone.get_or_insert(tokens);
        let (marked, gone) = (state.marked, state.gone.take());
        // The listener may mark, too.
        drop(state);
        if let Some((end, listener)) = gone {
            listener.tell(StreamEnd { marked, ..end });
        }
    }

    /// Waits for [`Self::tokens_after_gone`], after the listener was told this end.
    pub(crate) fn client_left(&self, end: StreamEnd, listener: Listener) {
        let mut state = self.lock();
        let marked = state.marked;
        if marked.tokens_after_gone.is_none() {
            state.gone = Some((end, listener));
        } else if end.marked.tokens_after_gone.is_none() {
            // It was called while the listener ran.
            drop(state);
            listener.tell(StreamEnd { marked, ..end });
        }
    }

    pub(crate) fn get(&self) -> Marked {
        self.lock().marked
    }

    /// Calls `call`, in which these are the current marks.
    pub(crate) fn scope<T>(&self, call: impl FnOnce() -> T) -> T {
        let outer = CURRENT.try_with(|current| current.replace(Some(self.clone())));
        // Dropped also when the app panics.
        let _restore = outer.ok().map(Restore);
        call()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the outer marks the current ones again.
struct Restore(Option<Marks>);

impl Drop for Restore {
    fn drop(&mut self) {
        let outer = self.0.take();
        let _ended = CURRENT.try_with(|current| current.replace(outer));
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Marks>> = const { RefCell::new(None) };
}
