//! Who writes when: batches come in from the workers, one of them or the thread writes, and what was
//! written goes on in the same order. When counting falls behind, writing waits for it; when more waits
//! than may, it is refused.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use beacon::StreamReport;
use tokio::sync::oneshot;

use super::frame::{Frame, Span};
use super::{Kept, KeptReport};
use crate::config::Ingest;
use crate::error::Reason;
use crate::streams::StreamId;

/// Between the workers, the thread that writes and the thread that counts.
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Something waits to be written and may be.
    to_write: Condvar,
    /// Something was written.
    to_count: Condvar,
    /// Nothing more will come.
    to_end: Condvar,
    most_batches: usize,
    most_bytes: usize,
}

#[derive(Default)]
struct State {
    /// Somebody owns the end of the journal.
    writing: bool,
    waiting: Vec<(Job, Answer)>,
    written: Vec<(Kept, usize)>,
    /// Held by everything in `waiting`.
    waiting_bytes: usize,
    /// Held by what is being written, by everything in `written`, and by what is being counted.
    uncounted_bytes: usize,
    /// What was counted cannot be stored, and no more of it is to be held.
    stuck: bool,
    closed: bool,
}

/// One batch on its way into the journal.
pub(super) struct Job {
    pub(super) frame: Frame,
    received_ms: i64,
    reports: Vec<(StreamId, StreamReport, Span)>,
    held_bytes: usize,
}

type Answer = oneshot::Sender<Result<(), Reason>>;

/// What becomes of a batch that was brought.
pub(super) enum Entered {
    /// Whoever brought it writes it, and then calls [`Queue::wrote_one`].
    Writes(Job),
    /// The thread writes it.
    Waits(oneshot::Receiver<Result<(), Reason>>),
    Refused(Reason),
}

/// Batches to be counted, in the order of the journal.
pub(crate) struct Taken {
    pub(crate) kept: Vec<Kept>,
    /// Given back with [`Queue::counted`].
    pub(crate) held_bytes: usize,
    /// Nothing will come after these.
    pub(crate) last: bool,
}

impl Queue {
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

    pub(super) fn enter(
        &self,
        received_ms: i64,
        frame: Frame,
        reports: Vec<(StreamId, StreamReport, Span)>,
        may_write: bool,
    ) -> Entered {
        let held_bytes = frame.len() * BYTES_HELD_PER_BYTE;
        let mut state = self.state();
        if state.stuck || state.closed {
            return Entered::Refused(Reason::StorageUnavailable);
        }
        let job = Job { frame, received_ms, reports, held_bytes };
        if may_write && state.waiting.is_empty() && self.may_be_written(&state) {
            state.writing = true;
            state.uncounted_bytes += held_bytes;
            return Entered::Writes(job);
        }
        if state.waiting_bytes + held_bytes > self.most_bytes || state.waiting.len() >= self.most_batches {
            return Entered::Refused(Reason::Overloaded);
        }
        let (answer, answered) = oneshot::channel();
        state.waiting.push((job, answer));
        state.waiting_bytes += held_bytes;
        let wakes = state.waiting.len() == 1 && self.may_be_written(&state);
        drop(state);
        if wakes {
            self.to_write.notify_one();
        }
        Entered::Waits(answered)
    }

    /// The batch stands at `position`, or nowhere. Gives back whether it is kept.
    pub(super) fn wrote_one(&self, job: Job, position: Option<u64>) -> Option<()> {
        let held_bytes = job.held_bytes;
        let kept = position.map(|position| job.kept(position));
        let is_kept = kept.is_some();
        let mut state = self.state();
        let was_empty = state.written.is_empty();
        match kept {
            Some(kept) => state.written.push((kept, held_bytes)),
            None => state.uncounted_bytes -= held_bytes,
        }
        self.hand_on(state, was_empty);
        is_kept.then_some(())
    }

    /// Everything that waits, as soon as something does and may be written. `None` when nothing will come
    /// any more.
    pub(super) fn group(&self) -> Option<Group> {
        let mut state = self.state();
        while state.waiting.is_empty() || !self.may_be_written(&state) {
            if state.closed && state.waiting.is_empty() {
                return None;
            }
            state = self.to_write.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.writing = true;
        state.uncounted_bytes += mem::take(&mut state.waiting_bytes);
        Some(Group(mem::take(&mut state.waiting)))
    }

    /// The group stands from `position` on, or nowhere.
    pub(super) fn wrote(&self, Group(jobs): Group, position: Option<u64>) {
        let answer_all = if position.is_some() { Ok(()) } else { Err(Reason::StorageUnavailable) };
        let mut answers = Vec::with_capacity(jobs.len());
        let mut kept = Vec::with_capacity(jobs.len());
        let (mut at, mut freed) = (position, 0);
        for (job, answer) in jobs {
            answers.push(answer);
            match &mut at {
                Some(at) => {
                    let held_bytes = job.held_bytes;
                    let one = job.kept(*at);
                    *at = one.end;
                    kept.push((one, held_bytes));
                }
                None => freed += job.held_bytes,
            }
        }
        let mut state = self.state();
        let was_empty = state.written.is_empty();
        state.uncounted_bytes -= freed;
        state.written.append(&mut kept);
        self.hand_on(state, was_empty);
        for answer in answers {
            // Whoever waited for it may be gone; it is kept all the same.
            let _gone = answer.send(answer_all);
        }
    }

    /// Nobody writes any more; who waits for that is woken, and who counts if nothing was written before.
    fn hand_on(&self, mut state: MutexGuard<'_, State>, was_empty: bool) {
        state.writing = false;
        let write = !state.waiting.is_empty() || state.closed;
        drop(state);
        if write {
            self.to_write.notify_one();
        }
        if was_empty {
            self.to_count.notify_one();
        }
    }

    /// What was written since the last call. Waits for it until `until`.
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
        let held_bytes = written.iter().map(|(_, bytes)| bytes).sum();
        Taken { kept: written.into_iter().map(|(kept, _)| kept).collect(), held_bytes, last }
    }

    /// Lets batches come together for so long, or until nothing will come any more.
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

    /// So many bytes are no longer held. While `stuck`, no more are taken in.
    pub(crate) fn counted(&self, held_bytes: usize, stuck: bool) {
        let mut state = self.state();
        state.uncounted_bytes -= held_bytes;
        state.stuck = stuck;
        let wakes = !state.waiting.is_empty() && self.may_be_written(&state);
        drop(state);
        if wakes {
            self.to_write.notify_one();
        }
    }

    /// Nobody writes just now, and counting keeps up.
    const fn may_be_written(&self, state: &State) -> bool {
        !state.writing && state.uncounted_bytes <= self.most_bytes
    }

    /// Takes the end of the journal, if nobody writes there.
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

    /// Nothing will be counted any more: what waits is not written.
    pub(crate) fn give_up(&self) {
        self.state().waiting.clear();
        self.close();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is written together.
pub(super) struct Group(Vec<(Job, Answer)>);

impl Group {
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Job> {
        self.0.iter_mut().map(|(job, _)| job)
    }
}

impl State {
    /// Closed, and nothing is on its way any more.
    const fn is_over(&self) -> bool {
        self.closed && !self.writing && self.waiting.is_empty()
    }
}

impl Job {
    fn kept(self, position: u64) -> Kept {
        let end = position + self.frame.len() as u64;
        let of = |(id, report, span): (StreamId, StreamReport, Span)| KeptReport {
            id,
            report,
            at: span.at(position),
        };
        Kept { received_ms: self.received_ms, reports: self.reports.into_iter().map(of).collect(), end }
    }
}

/// A report in memory is about this much larger than its JSON.
const BYTES_HELD_PER_BYTE: usize = 3;
