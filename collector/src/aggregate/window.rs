//! One minute of one series, with its statistics.

use crate::aggregate::series::SeriesId;
use crate::aggregate::window_stats::WindowStats;
use crate::aggregate::write_back_cache::MemorySize;

/// Which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct WindowKey {
    /// Minutes since 1970 by the collector's clock, of the report's arrival.
    pub(crate) minute: i64,
    pub(crate) series: SeriesId,
}

/// What is counted in it.
#[derive(Default)]
pub(crate) struct Window {
    pub(crate) stats: WindowStats,
    /// Where the minutes of its hour are gone, and it is the sum over that: what that was. Of other minutes of the
    /// hour there may be more of them, and only what has changed in each goes into the store.
    pub(crate) before: Option<Box<WindowStats>>,
}

impl Window {
    /// One whose minutes are gone, as the store has it.
    pub(crate) fn of_hour(stats: WindowStats) -> Self {
        Self { before: Some(Box::new(stats.clone())), stats }
    }
}

impl MemorySize for Window {
    fn bytes(&self) -> usize {
        self.stats.bytes() + self.before.as_ref().map_or(0, |before| before.bytes())
    }
}
