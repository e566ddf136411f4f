//! Memory for what the probe holds: sizes come in, blocks go out.
//!
//! A block is as long as a power of two. One that is given back is for the next of its size, and what was never
//! given out begins where the memory's other contents end. The standard allocator is 7 kB of what every page
//! downloads.

use core::alloc::{GlobalAlloc, Layout};
use core::arch::wasm32::{memory_grow, memory_size};
use core::cell::Cell;
use core::ptr;

/// Blocks that were given back, by their sizes, and what was never given out.
pub(crate) struct Blocks {
    /// Each begins with the address of the next of its size.
    free: [Cell<*mut u8>; usize::BITS as usize],
    rest: Cell<*mut u8>,
}

impl Blocks {
    /// All that lies behind the module's stack and constants.
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

// SAFETY: the module has no shared memory, so only the page's own thread ever runs in it.
unsafe impl Sync for Blocks {}

// SAFETY: a block is in one list or in use, never both. Every block begins at a multiple of `SMALLEST`, as the rest
// does from the beginning on, and nothing here is aligned to more.
unsafe impl GlobalAlloc for Blocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (free, size) = self.of(layout);
        let block = free.get();
        if !block.is_null() {
            // SAFETY: the first bytes of a block that is free are an address, and aligned.
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
        // SAFETY: nobody uses it any longer, and it is long enough.
        unsafe { block.cast::<*mut u8>().write(free.get()) };
        free.set(block);
    }
}

unsafe extern "C" {
    /// Where the linker lets free memory begin, at a multiple of 16.
    static __heap_base: u8;
}

const SMALLEST: usize = 16;
const PAGE: usize = 65_536;
