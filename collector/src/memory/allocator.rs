//! An allocator that counts the bytes in use, for the memory budget.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

/// Counts the bytes that another allocator has given out.
#[derive(Debug)]
pub struct CountingAllocator<A>(pub A);

// SAFETY: each call goes to the inner allocator unchanged. Counting neither allocates nor panics.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the contract of the same method.
        let block = unsafe { self.0.alloc(layout) };
        count_new(block, layout.size());
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { self.0.alloc_zeroed(layout) };
        count_new(block, layout.size());
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.0.dealloc(block, layout) };
        count(-(layout.size() as isize));
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as above.
        let moved = unsafe { self.0.realloc(block, layout, new_size) };
        if !moved.is_null() {
            count(new_size as isize - layout.size() as isize);
        }
        moved
    }
}

#[inline]
fn count_new(block: *mut u8, bytes: usize) {
    if !block.is_null() {
        count(bytes as isize);
    }
}

#[inline]
fn count(bytes: isize) {
    // No destructor runs for the slot, so it can be read until the thread's end.
    let slot = SLOT.try_with(|slot| {
        if slot.get() == NO_SLOT {
            slot.set(NEXT_SLOT.fetch_add(1, Ordering::Relaxed).min(SHARED));
        }
        slot.get()
    });
    let slot = slot.unwrap_or(SHARED);
    let allocated = &ALLOCATED[slot].0;
    if slot == SHARED {
        allocated.fetch_add(bytes, Ordering::Relaxed);
    } else {
        // Only this thread writes the slot. An atomic addition would take several times as long.
        allocated.store(allocated.load(Ordering::Relaxed).wrapping_add(bytes), Ordering::Relaxed);
    }
}

/// Bytes in use. 0 if [`CountingAllocator`] is not the global allocator.
pub(super) fn allocated_bytes() -> usize {
    let sum: isize = ALLOCATED.iter().map(|slot| slot.0.load(Ordering::Relaxed)).sum();
    sum.max(0).cast_unsigned()
}

/// A count on a cache line of its own: threads would slow each other down on a shared one. A single slot may be negative,
/// because a block can be freed by another thread. A slot outlives its thread.
#[repr(align(128))]
struct Slot(AtomicIsize);

static ALLOCATED: [Slot; SLOTS] = [const { Slot(AtomicIsize::new(0)) }; SLOTS];
static NEXT_SLOT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SLOT: Cell<usize> = const { Cell::new(NO_SLOT) };
}

const SLOTS: usize = 32;
/// The slot of all threads that come after the first ones, which are those that run until the end.
const SHARED: usize = SLOTS - 1;
const NO_SLOT: usize = usize::MAX;

#[cfg(test)]
mod tests {
    use std::alloc::System;
    use std::thread;

    use super::*;

    /// No other test counts here: the tests' own allocator is the system's.
    #[test]
    fn bytes_are_counted_over_threads_and_sizes() {
        let allocator = CountingAllocator(System);
        let before = allocated_bytes();
        let layout = Layout::from_size_align(1_000, 8).unwrap();
        let larger = Layout::from_size_align(5_000, 8).unwrap();
        let block = thread::scope(|scope| {
            // SAFETY: the layout has a size.
            let allocate = || unsafe { allocator.alloc_zeroed(layout) } as usize;
            scope.spawn(allocate).join().unwrap()
        }) as *mut u8;
        assert_eq!(allocated_bytes() - before, 1_000);
        // SAFETY: the block is of this allocator and has this layout.
        let block = unsafe { allocator.realloc(block, layout, larger.size()) };
        assert_eq!(allocated_bytes() - before, 5_000);
        // SAFETY: as above, with the size that it has by now.
        unsafe { allocator.dealloc(block, larger) };
        assert_eq!(allocated_bytes(), before);

        // More threads than slots, at the same time.
        thread::scope(|scope| {
            for _ in 0..SLOTS * 2 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        // SAFETY: the layout has a size, and the block is of this allocator.
                        unsafe { allocator.dealloc(allocator.alloc(layout), layout) };
                    }
                    // SAFETY: the layout has a size.
                    let _kept = unsafe { allocator.alloc(layout) };
                });
            }
        });
        assert_eq!(allocated_bytes() - before, SLOTS * 2 * 1_000);
    }
}
