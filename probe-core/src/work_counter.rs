//! Counts what the parsers look at, in words or bytes, so that tests can hold their work to the length
//! of what came in. Nothing is counted outside tests and fuzzing.

#[cfg(any(test, fuzzing))]
use std::cell::Cell;

#[cfg(any(test, fuzzing))]
thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts more steps.
#[inline(always)]
pub(crate) fn add(steps: usize) {
    #[cfg(any(test, fuzzing))]
    STEPS.set(STEPS.get() + steps as u64);
    #[cfg(not(any(test, fuzzing)))]
    let _ = steps;
}

/// The steps that `work` takes.
#[cfg(any(test, fuzzing))]
pub(crate) fn steps_of<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = STEPS.get();
    let result = work();
    (result, STEPS.get() - before)
}
