//! Requests that wait for the commit of one group, and the outcome that they get.
//!
//! Waking a task of another thread costs a lock and a system call or two. So the writer wakes one task per thread, and
//! that task wakes the others.

use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};

use crate::http::error::Reason;

/// Result of writing a group.
pub(super) type Outcome = Result<(), Reason>;

/// Requests that wait for the same group.
#[derive(Default)]
pub(super) struct CommitWaiters(Mutex<State>);

#[derive(Default)]
struct State {
    outcome: Option<Outcome>,
    lanes: Vec<Lane>,
}

/// Requests that wait on the same thread.
struct Lane {
    thread: ThreadId,
    /// By slot; `None` for a request that was cancelled.
    wakers: Vec<Option<Waker>>,
}

/// Slot in which a request waits.
#[derive(Clone, Copy)]
struct WaiterSlot {
    lane: usize,
    waker: usize,
}

/// Resolves with the outcome of the group, for one request.
pub(super) struct CommitFuture {
    waiters: Arc<CommitWaiters>,
    /// Set by the first poll that finds no outcome.
    place: Option<WaiterSlot>,
}

impl CommitWaiters {
    /// Adds a waiting request.
    pub(super) fn join(self: &Arc<Self>) -> CommitFuture {
        CommitFuture { waiters: self.clone(), place: None }
    }

    /// Sets the outcome of the group. Only the first call has an effect.
    pub(super) fn resolve(&self, outcome: Outcome) {
        let mut state = self.state();
        if state.outcome.is_some() {
            return;
        }
        state.outcome = Some(outcome);
        let firsts = state.lanes.iter_mut().filter_map(|lane| lane.wakers.iter_mut().find_map(Option::take));
        let firsts: Vec<_> = firsts.collect();
        drop(state);
        firsts.into_iter().for_each(Waker::wake);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wait(&mut self, waker: Waker) -> WaiterSlot {
        let thread = thread::current().id();
        let lane = self.lanes.iter().position(|lane| lane.thread == thread).unwrap_or_else(|| {
            self.lanes.push(Lane { thread, wakers: Vec::new() });
            self.lanes.len() - 1
        });
        let wakers = &mut self.lanes[lane].wakers;
        wakers.push(Some(waker));
        WaiterSlot { lane, waker: wakers.len() - 1 }
    }
}

impl CommitFuture {
    /// Frees its slot. If the outcome is known, wakes the other requests of its thread.
    fn leave(place: Option<WaiterSlot>, mut state: MutexGuard<'_, State>) {
        let Some(WaiterSlot { lane, waker }) = place else { return };
        let resolved = state.outcome.is_some();
        let wakers = &mut state.lanes[lane].wakers;
        if let Some(mine) = wakers.get_mut(waker) {
            *mine = None;
        }
        if resolved {
            let others = mem::take(wakers);
            drop(state);
            others.into_iter().flatten().for_each(Waker::wake);
        }
    }
}

impl Future for CommitFuture {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let this = &mut *self;
        let mut state = this.waiters.state();
        if let Some(outcome) = state.outcome {
            Self::leave(this.place.take(), state);
            return Poll::Ready(outcome);
        }
        let waker = cx.waker().clone();
        match this.place {
            Some(place) => state.lanes[place.lane].wakers[place.waker] = Some(waker),
            None => this.place = Some(state.wait(waker)),
        }
        Poll::Pending
    }
}

/// The dropped future may be the one that was to wake the others.
impl Drop for CommitFuture {
    fn drop(&mut self) {
        if self.place.is_some() {
            Self::leave(self.place, self.waiters.state());
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::{JoinSet, yield_now};

    use super::*;

    #[tokio::test]
    async fn all_waiters_get_the_outcome_however_many_are_dropped() {
        for gone in 0..8 {
            let waiters = Arc::new(CommitWaiters::default());
            let mut waiting = JoinSet::new();
            let handles: Vec<_> = (0..8).map(|_| waiting.spawn(waiters.join())).collect();
            yield_now().await;
            assert_eq!(waiters.state().lanes[0].wakers.len(), 8, "all wait");
            let outside = waiters.clone();
            thread::spawn(move || outside.resolve(Err(Reason::Overloaded))).join().unwrap();
            // The first of them was woken, and is aborted before it runs.
            handles[..gone].iter().for_each(|handle| handle.abort());
            let mut resolved = 0;
            while let Some(outcome) = waiting.join_next().await {
                resolved += usize::from(outcome.is_ok_and(|outcome| outcome == Err(Reason::Overloaded)));
            }
            assert_eq!(resolved, 8 - gone);
        }
    }

    #[test]
    fn waiters_on_several_threads_all_get_the_outcome() {
        let waiters = Arc::new(CommitWaiters::default());
        let wait = |waiters: Arc<CommitWaiters>| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let mut waiting = JoinSet::new();
                (0..4).for_each(|_| _ = waiting.spawn(waiters.join()));
                waiting.join_all().await
            })
        };
        let threads: Vec<_> =
            (0..3).map(|_| waiters.clone()).map(|of| thread::spawn(move || wait(of))).collect();
        let all_wait = |state: &State| state.lanes.iter().map(|lane| lane.wakers.len()).sum::<usize>() == 12;
        while !all_wait(&waiters.state()) {
            thread::yield_now();
        }
        assert_eq!(waiters.state().lanes.len(), 3);
        waiters.resolve(Ok(()));
        for thread in threads {
            assert_eq!(thread.join().unwrap(), [Ok(()); 4]);
        }
    }

    #[tokio::test]
    async fn a_late_waiter_gets_the_first_outcome_at_once() {
        let waiters = Arc::new(CommitWaiters::default());
        waiters.resolve(Ok(()));
        waiters.resolve(Err(Reason::Overloaded));
        assert_eq!(waiters.join().await, Ok(()));
    }
}
