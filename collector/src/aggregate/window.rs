//! One minute of one series, with its statistics.

use crate::aggregate::series::SeriesId;
use crate::aggregate::window_stats::WindowStats;
use crate::aggregate::write_back_cache::MemorySize;

/// Key of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct WindowKey {
    /// Minute in which the report arrived, since 1970 by the collector's clock.
    pub(crate) minute: i64,
    pub(crate) series: SeriesId,
}

/// Content of a window.
#[derive(Default)]
pub(crate) struct Window {
    pub(crate) stats: WindowStats,
    /// Set if the minutes of its hour are no longer stored: `stats` is then the sum of the hour, and this is
    /// that sum as it was loaded. Several minutes of the hour may have such windows, so only the change of
    /// each is stored.
    pub(crate) before: Option<Box<WindowStats>>,
}

impl Window {
    /// A window whose minutes are no longer stored, with the stored sum of its hour.
    pub(crate) fn of_hour(stats: WindowStats) -> Self {
        Self { before: Some(Box::new(stats.clone())), stats }
    }
}

impl MemorySize for Window {
    fn bytes(&self) -> usize {
        self.stats.bytes() + self.before.as_ref().map_or(0, |before| before.bytes())
    }
}
