//! Those who wait for one group of batches: what became of it comes in from whoever wrote it, and every
//! request goes on with it.
//!
//! To wake a task from outside the runtime costs a lock and a system call or two. So the writer wakes one,
//! and that one wakes the others from inside.

use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::error::Reason;

/// What became of a group.
pub(super) type Outcome = Result<(), Reason>;

/// Requests that wait for the same group.
#[derive(Default)]
pub(super) struct Waiters(Mutex<State>);

#[derive(Default)]
struct State {
    outcome: Option<Outcome>,
    /// By place; `None` for one that has gone away.
    wakers: Vec<Option<Waker>>,
}

/// What one request waits for.
pub(super) struct Answer {
    waiters: Arc<Waiters>,
    /// In [`State::wakers`], once it was asked and there was no answer.
    place: Option<usize>,
}

impl Waiters {
    /// One more that waits.
    pub(super) fn join(self: &Arc<Self>) -> Answer {
        Answer { waiters: self.clone(), place: None }
    }

    /// Says what became of the group. The first word counts.
    pub(super) fn settle(&self, outcome: Outcome) {
        let mut state = self.state();
        if state.outcome.is_none() {
            state.outcome = Some(outcome);
            let first = state.wakers.iter_mut().find_map(Option::take);
            drop(state);
            if let Some(first) = first {
                first.wake();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answer {
    /// Leaves its place, and wakes the others if there is something to tell them.
    fn leave(place: Option<usize>, mut state: MutexGuard<'_, State>) {
        if let Some(mine) = place.and_then(|place| state.wakers.get_mut(place)) {
            *mine = None;
        }
        if state.outcome.is_some() {
            let others = mem::take(&mut state.wakers);
            drop(state);
            others.into_iter().flatten().for_each(Waker::wake);
        }
    }
}

impl Future for Answer {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let this = &mut *self;
        let mut state = this.waiters.state();
        if let Some(outcome) = state.outcome {
            Self::leave(this.place.take(), state);
            return Poll::Ready(outcome);
        }
        let waker = Some(cx.waker().clone());
        match this.place {
            Some(place) => state.wakers[place] = waker,
            None => {
                this.place = Some(state.wakers.len());
                state.wakers.push(waker);
            }
        }
        Poll::Pending
    }
}

/// Who goes away may be the one that was to wake the others.
impl Drop for Answer {
    fn drop(&mut self) {
        if self.place.is_some() {
            Self::leave(self.place, self.waiters.state());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tokio::task::{JoinSet, yield_now};

    use super::*;

    #[tokio::test]
    async fn all_learn_what_became_of_the_group_however_many_go_away() {
        for gone in 0..8 {
            let waiters = Arc::new(Waiters::default());
            let mut waiting = JoinSet::new();
            let handles: Vec<_> = (0..8).map(|_| waiting.spawn(waiters.join())).collect();
            yield_now().await;
            assert_eq!(waiters.state().wakers.len(), 8, "all wait");
            let outside = waiters.clone();
            thread::spawn(move || outside.settle(Err(Reason::Overloaded))).join().unwrap();
            // The first of them was woken, and goes away before it runs.
            handles[..gone].iter().for_each(|handle| handle.abort());
            let mut told = 0;
            while let Some(outcome) = waiting.join_next().await {
                told += usize::from(outcome.is_ok_and(|outcome| outcome == Err(Reason::Overloaded)));
            }
            assert_eq!(told, 8 - gone);
        }
    }

    #[tokio::test]
    async fn who_comes_late_is_told_at_once_and_the_first_word_counts() {
        let waiters = Arc::new(Waiters::default());
        waiters.settle(Ok(()));
        waiters.settle(Err(Reason::Overloaded));
        assert_eq!(waiters.join().await, Ok(()));
    }
}
