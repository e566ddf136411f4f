//! The memory budget of the process. The allocator counts what is in use, and the parts that grow with what clients send
//! give way before the budget is reached.

mod allocator;
mod limit;

pub use allocator::CountingAllocator;

use crate::config::{Config, LEAST_MEMORY_BYTES};

/// Memory that the whole process may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryBudget {
    bytes: usize,
}

/// The budget of a collector whose configuration names none.
pub(crate) fn budget_of_system() -> Option<usize> {
    let detected = limit::detected_bytes()?;
    if detected < LEAST_MEMORY_BYTES {
        tracing::warn!(
            "The system allows {detected} bytes of memory, and a collector needs {LEAST_MEMORY_BYTES}: raise the limit"
        );
    }
    Some(detected.max(LEAST_MEMORY_BYTES))
}

/// Turns huge pages off for this process. The allocator asks for them, and a page of 2 MB stays in memory while one byte
/// of it is in use, so with them the process exceeds its budget (`docs/capacity-memory.md`).
pub fn turn_off_huge_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::warn!(%error, "Cannot turn off huge pages: the process may exceed its memory budget");
    }
}

impl MemoryBudget {
    /// The configured budget. Without one, nothing gives way.
    pub(crate) fn of(config: &Config) -> Self {
        Self { bytes: config.memory_bytes.unwrap_or(usize::MAX) }
    }

    pub(crate) const fn bytes(self) -> usize {
        self.bytes
    }

    /// Memory that is allocated now, without what [`RESERVED_BYTES`] is for.
    pub(crate) fn used_bytes(self) -> usize {
        allocator::allocated_bytes()
    }

    /// Little memory is left: windows are flushed and evicted, and queries are refused.
    pub(crate) fn is_short(self) -> bool {
        self.used_bytes() >= self.part(SHORT)
    }

    /// Beacons are refused. Memory beyond this is for requests and flushes that have begun.
    pub(crate) fn is_exhausted(self) -> bool {
        self.used_bytes() >= self.part(EXHAUSTED)
    }

    /// Limit for windows and cumulative statistics. A beacon of 100 reports adds at most 17 MB.
    pub(crate) fn window_bytes(self) -> usize {
        self.part(WINDOWS).min(MOST_WINDOW_BYTES)
    }

    /// If more of them remains after a flush, everything is evicted. Ten thousand series of chats take less.
    pub(crate) fn kept_window_bytes(self) -> usize {
        self.part(KEPT_WINDOWS).min(MOST_KEPT_WINDOW_BYTES)
    }

    /// Windows and cumulative statistics below this are not worth an early flush.
    pub(crate) fn least_flushed_bytes(self) -> usize {
        self.kept_window_bytes() / 4
    }

    /// Limit for bodies that are being read.
    pub(crate) fn body_bytes(self) -> usize {
        self.part(BODIES)
    }

    /// Limit for the pages of all of SQLite's connections. `None` without a budget.
    pub(crate) fn sqlite_bytes(self) -> Option<usize> {
        (self.bytes < usize::MAX).then_some(self.bytes / SQLITE_PART)
    }

    /// A part of what the allocator may give out.
    const fn part(self, sixteenths: usize) -> usize {
        self.bytes.saturating_sub(RESERVED_BYTES) / 4 * 3 / 16 * sixteenths
    }
}

/// Memory that the allocator does not count: SQLite, stacks, and what mimalloc keeps for each thread. A quarter of the
/// rest is for free parts of pages, and for pages that were freed less than a second ago.
const RESERVED_BYTES: usize = 64 * 1024 * 1024;

/// Sixteenths of the rest.
const EXHAUSTED: usize = 16;
const SHORT: usize = 12;
const WINDOWS: usize = 8;
const KEPT_WINDOWS: usize = 6;
const BODIES: usize = 3;

/// One part in this many of the budget.
const SQLITE_PART: usize = 16;

const MOST_WINDOW_BYTES: usize = 192 * 1024 * 1024;
const MOST_KEPT_WINDOW_BYTES: usize = 128 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(memory_bytes: Option<usize>) -> MemoryBudget {
        MemoryBudget::of(&Config { memory_bytes, ..Config::default() })
    }

    #[test]
    fn each_part_gives_way_before_beacons_are_refused() {
        for bytes in [LEAST_MEMORY_BYTES, 256 << 20, 512 << 20, 1 << 33] {
            let budget = budget(Some(bytes));
            let (short, exhausted) = (budget.part(SHORT), budget.part(EXHAUSTED));
            assert!(budget.least_flushed_bytes() < budget.kept_window_bytes(), "{bytes}");
            assert!(budget.kept_window_bytes() < budget.window_bytes(), "{bytes}");
            assert!(budget.window_bytes() < short && short < exhausted, "{bytes}");
            let sqlite = budget.sqlite_bytes().unwrap();
            assert!(exhausted + sqlite + RESERVED_BYTES / 2 < bytes, "{bytes}");
        }
    }

    #[test]
    fn without_a_budget_only_windows_are_limited() {
        let budget = budget(None);
        assert_eq!(budget.window_bytes(), MOST_WINDOW_BYTES);
        assert_eq!(budget.sqlite_bytes(), None);
        assert!(!budget.is_short() && !budget.is_exhausted());
    }
}
