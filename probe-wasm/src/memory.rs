//! The allocator of the compiled probe: blocks of powers of two, with a list of free blocks for each size.
//!
//! Memory that was never used begins after the module's constants. The standard allocator would add 7 kB to every
//! page's download.

use core::alloc::{GlobalAlloc, Layout};
use core::arch::wasm32::{memory_grow, memory_size};
use core::cell::Cell;
use core::ptr;

/// Free blocks by their sizes, and memory that was never used.
pub(crate) struct Blocks {
    /// Each free block begins with the address of the next of its size.
    free: [Cell<*mut u8>; usize::BITS as usize],
    rest: Cell<*mut u8>,
}

impl Blocks {
    /// All memory after the module's stack and constants.
    pub(crate) const fn new() -> Self {
        Self {
            free: [const { Cell::new(ptr::null_mut()) }; _],
            rest: Cell::new((&raw const __heap_base).cast_mut()),
        }
    }

    fn of(&self, layout: Layout) -> (&Cell<*mut u8>, usize) {
        let bits = ((layout.size() - 1) | (SMALLEST - 1)).ilog2() + 1;
        (&self.free[bits as usize], 1 << bits)
    }
}

// SAFETY: the module has no shared memory, so only the page's own thread runs in it.
unsafe impl Sync for Blocks {}

// SAFETY: a block is in one list or in use, never both. Every block begins at a multiple of `SMALLEST`, as the rest
// does from the beginning on, and no type here needs a larger alignment.
unsafe impl GlobalAlloc for Blocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (free, size) = self.of(layout);
        let block = free.get();
        if !block.is_null() {
            // SAFETY: a free block begins with an address, and is aligned.
            free.set(unsafe { block.cast::<*mut u8>().read() });
            return block;
        }
        let block = self.rest.get();
        let end = block.addr() + size;
        if memory_grow(0, (end / PAGE + 1).saturating_sub(memory_size(0))) == usize::MAX {
            return ptr::null_mut();
        }
        self.rest.set(block.wrapping_add(size));
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let (free, _) = self.of(layout);
        // SAFETY: the block is not in use any longer, and it is long enough.
        unsafe { block.cast::<*mut u8>().write(free.get()) };
        free.set(block);
    }
}

unsafe extern "C" {
    /// The beginning of free memory by the linker, at a multiple of 16.
    static __heap_base: u8;
}

const SMALLEST: usize = 16;
const PAGE: usize = 65_536;
