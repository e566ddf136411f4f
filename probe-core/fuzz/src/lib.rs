//! The allocator of all targets, which counts, so that no input makes memory grow.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts the allocated bytes, and their maximum.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(LIVE.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller keeps the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the same contract.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `work`, and checks that it has at most `most` bytes allocated at any time.
///
/// # Panics
/// When it has more.
pub fn bounded(most: usize, work: impl FnOnce()) {
    let before = LIVE.load(Relaxed);
    MOST.store(before, Relaxed);
    work();
    let held = MOST.load(Relaxed) - before;
    assert!(held <= most, "{held} bytes allocated at once, {most} allowed");
}
