//! Group commit: workers enqueue batches, and one of them or the journal's thread writes a whole group. Written
//! batches go to the aggregation worker in the same order. Writing pauses while counting lags behind, and batches over
//! the limit are refused.
//!
//! The task that enqueues the first batch of a group leads it: no other writer takes the group until the leader has
//! let other ready tasks enqueue theirs.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::commit_waiters::{CommitFuture, CommitWaiters};
use super::frame::Frame;
use crate::config::Ingest;
use crate::http::error::Reason;
use crate::journal::batch::WrittenBatch;

/// Queue between the workers, the thread that writes and the thread that counts.
pub(crate) struct GroupQueue {
    state: Mutex<State>,
    /// Batches wait and may be written.
    to_write: Condvar,
    /// Batches were written.
    to_count: Condvar,
    /// The queue was closed.
    to_end: Condvar,
    most_batches: usize,
    most_bytes: usize,
}

#[derive(Default)]
struct State {
    /// A writer owns the end of the journal.
    writing: bool,
    waiting: Vec<Frame>,
    /// The leader of `waiting` lets other tasks enqueue first.
    led: bool,
    /// Requests whose batches are in `waiting`.
    waiters: Arc<CommitWaiters>,
    written: Vec<WrittenBatch>,
    /// Memory of the batches in `waiting`.
    waiting_bytes: usize,
    /// Memory of batches that are being written, are in `written`, or are being counted.
    uncounted_bytes: usize,
    /// Counted data cannot be stored, and its limit is reached: new batches are refused.
    stuck: bool,
    closed: bool,
}

/// Result of enqueueing a batch.
pub(super) enum Entered {
    /// It is the first of a group, and its task leads the group.
    Leads(CommitFuture),
    Waits(CommitFuture),
    Refused(Reason),
}

/// Batches to be counted, in the order of the journal.
pub(crate) struct Taken {
    /// [`GroupQueue::counted`] releases their memory.
    pub(crate) written: Vec<WrittenBatch>,
    /// No batches follow these.
    pub(crate) last: bool,
}

impl GroupQueue {
    pub(super) fn new(limits: &Ingest) -> Self {
        Self {
            state: Mutex::default(),
            to_write: Condvar::new(),
            to_count: Condvar::new(),
            to_end: Condvar::new(),
            most_batches: limits.queue_batches,
            most_bytes: limits.queue_bytes,
        }
    }

    /// Enqueues a batch. A caller that leads has to call [`lead`](Self::lead) or
    /// [`stop_leading`](Self::stop_leading).
    pub(super) fn enter(&self, frame: Frame) -> Entered {
        let memory_bytes = frame.memory_bytes();
        let mut state = self.state();
        if state.stuck || state.closed {
            return Entered::Refused(Reason::StorageUnavailable);
        }
        if state.waiting_bytes + memory_bytes > self.most_bytes || state.waiting.len() >= self.most_batches {
            return Entered::Refused(Reason::Overloaded);
        }
        let answer = state.waiters.join();
        let is_first = state.waiting.is_empty();
        state.waiting.push(frame);
        state.waiting_bytes += memory_bytes;
        state.led |= is_first;
        if is_first { Entered::Leads(answer) } else { Entered::Waits(answer) }
    }

    /// Takes the group that the caller leads, for writing. `None` if a writer is active or counting lags
    /// behind: then the group is left to another writer.
    pub(super) fn lead(&self) -> Option<Group> {
        let mut state = self.state();
        if state.waiting.is_empty() || !self.may_be_written(&state) {
            self.leave_to_others(state);
            return None;
        }
        Some(state.take_group())
    }

    /// Leaves the group that the caller leads to the journal's thread, or to the active writer.
    pub(super) fn stop_leading(&self) {
        self.leave_to_others(self.state());
    }

    fn leave_to_others(&self, mut state: MutexGuard<'_, State>) {
        state.led = false;
        let wakes = self.has_group(&state);
        drop(state);
        if wakes {
            self.to_write.notify_one();
        }
    }

    /// Waits until batches wait and may be written, and takes them all. `None` once the queue is closed and
    /// empty.
    pub(super) fn group(&self) -> Option<Group> {
        let mut state = self.state();
        while !self.has_group(&state) {
            if state.closed && state.waiting.is_empty() {
                return None;
            }
            state = self.to_write.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Some(state.take_group())
    }

    /// Ends the write of a group, which begins at `position` or was not written. Returns the next group if
    /// the same writer `goes_on`.
    pub(super) fn wrote(&self, mut group: Group, position: Option<u64>, goes_on: bool) -> Option<Group> {
        let next = self.put_down(mem::take(&mut group.frames), position, goes_on);
        group.waiters.resolve(position.map(drop).ok_or(Reason::StorageUnavailable));
        next
    }

    fn put_down(
        &self,
        frames: impl IntoIterator<Item = Frame>,
        mut position: Option<u64>,
        goes_on: bool,
    ) -> Option<Group> {
        let mut state = self.state();
        let was_empty = state.written.is_empty();
        for frame in frames {
            match position {
                None => state.uncounted_bytes -= frame.memory_bytes(),
                Some(at) => {
                    let written = WrittenBatch { frame, position: at };
                    position = Some(written.end());
                    state.written.push(written);
                }
            }
        }
        state.writing = false;
        if !goes_on || !self.has_group(&state) {
            self.hand_on(state, was_empty);
            return None;
        }
        let group = state.take_group();
        drop(state);
        if was_empty {
            self.to_count.notify_one();
        }
        Some(group)
    }

    /// Releases the end of the journal. Wakes the next writer, and the counting thread if nothing was written
    /// before.
    fn hand_on(&self, mut state: MutexGuard<'_, State>, was_empty: bool) {
        state.writing = false;
        let write = self.has_group(&state) || state.closed;
        drop(state);
        if write {
            self.to_write.notify_one();
        }
        if was_empty {
            self.to_count.notify_one();
        }
    }

    /// Batches that were written since the last call. Waits for them until `until`.
    pub(crate) fn take(&self, until: Instant) -> Taken {
        let mut state = self.state();
        while state.written.is_empty() && !state.is_over() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.to_count.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let written = mem::take(&mut state.written);
        let last = state.is_over();
        drop(state);
        Taken { written, last }
    }

    /// Lets batches accumulate for `length`, or until the queue is closed.
    pub(crate) fn gather(&self, length: Duration) {
        let until = Instant::now() + length;
        let mut state = self.state();
        while !state.closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.to_end.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Releases the memory of counted batches. While `stuck`, new batches are refused.
    pub(crate) fn counted(&self, memory_bytes: usize, stuck: bool) {
        let mut state = self.state();
        state.uncounted_bytes -= memory_bytes;
        state.stuck = stuck;
        let wakes = self.has_group(&state);
        drop(state);
        if wakes {
            self.to_write.notify_one();
        }
    }

    /// Batches wait, may be written, and have no leader. Once closed, their leader may never return, so it
    /// does not matter.
    const fn has_group(&self, state: &State) -> bool {
        !state.waiting.is_empty() && (!state.led || state.closed) && self.may_be_written(state)
    }

    /// No writer is active, and counting keeps up.
    const fn may_be_written(&self, state: &State) -> bool {
        !state.writing && state.uncounted_bytes <= self.most_bytes
    }

    /// Claims the end of the journal, unless a writer owns it.
    pub(super) fn begin_probe(&self) -> bool {
        !mem::replace(&mut self.state().writing, true)
    }

    pub(super) fn end_probe(&self) {
        self.hand_on(self.state(), false);
    }

    pub(super) fn close(&self) {
        self.state().closed = true;
        self.to_write.notify_one();
        self.to_count.notify_one();
        self.to_end.notify_one();
    }

    /// Counting has stopped: refuses all waiting batches, and writes none of them.
    pub(crate) fn abort(&self) {
        let mut state = self.state();
        state.closed = true;
        state.waiting.clear();
        state.waiting_bytes = 0;
        let waiters = mem::take(&mut state.waiters);
        drop(state);
        waiters.resolve(Err(Reason::StorageUnavailable));
        self.close();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Batches that are written together.
pub(super) struct Group {
    pub(super) frames: Vec<Frame>,
    waiters: Arc<CommitWaiters>,
}

/// A group that is dropped without an outcome has failed. No request waits forever.
impl Drop for Group {
    fn drop(&mut self) {
        self.waiters.resolve(Err(Reason::StorageUnavailable));
    }
}

impl State {
    /// Closed, and no batch waits or is being written.
    const fn is_over(&self) -> bool {
        self.closed && !self.writing && self.waiting.is_empty()
    }

    /// Takes all waiting batches, which are being written from now on.
    fn take_group(&mut self) -> Group {
        self.writing = true;
        self.led = false;
        self.uncounted_bytes += mem::take(&mut self.waiting_bytes);
        Group { frames: mem::take(&mut self.waiting), waiters: mem::take(&mut self.waiters) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> GroupQueue {
        GroupQueue::new(&Ingest::default())
    }

    fn enter(queue: &GroupQueue) -> Entered {
        let nothing: [(); 0] = [];
        queue.enter(Frame::pack(0, &nothing, |(), _| {}))
    }

    #[test]
    fn the_first_of_a_group_leads_and_writes_all_frames() {
        let queue = queue();
        assert!(matches!(enter(&queue), Entered::Leads(_)));
        assert!(matches!(enter(&queue), Entered::Waits(_)));
        let group = queue.lead().expect("no write is in progress");
        assert_eq!(group.frames.len(), 2);
        assert!(matches!(enter(&queue), Entered::Leads(_)), "the next group has a leader of its own");
        assert!(queue.wrote(group, Some(0), true).is_none(), "who has yet to let others go first");
        queue.stop_leading();
        assert_eq!(queue.group().map(|group| group.frames.len()), Some(1));
    }

    #[test]
    fn the_writer_continues_with_the_next_group() {
        let queue = queue();
        assert!(matches!(enter(&queue), Entered::Leads(_)));
        let group = queue.lead().expect("no write is in progress");
        assert!(matches!(enter(&queue), Entered::Leads(_)));
        assert!(queue.lead().is_none(), "a write is in progress");
        let next = queue.wrote(group, Some(0), true).expect("no other task leads");
        assert_eq!(next.frames.len(), 1);
        assert!(queue.wrote(next, Some(0), true).is_none());
        assert_eq!(queue.take(Instant::now()).written.len(), 2);
    }
}
