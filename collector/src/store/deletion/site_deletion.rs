//! Which streams a deletion deletes.

use crate::time::minute_of;

/// Which streams are deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SiteDeletion {
    pub(crate) site: String,
    /// Only streams whose latest report arrived at this time or later, the beginning of a minute. `None`: from the
    /// first on.
    pub(crate) from_ms: Option<i64>,
    /// Only streams whose latest report arrived before this time. Without `from_ms` it is the beginning of a day (UTC):
    /// all rollups and samples are of one day or less, so none is divided. `None`: to the last.
    pub(crate) before_ms: Option<i64>,
}

impl SiteDeletion {
    /// Whether a stream of a site, or a report of it, is deleted.
    pub(super) fn selects(&self, site: &str, received_ms: i64) -> bool {
        self.site == site && self.contains(received_ms)
    }

    pub(super) fn contains(&self, received_ms: i64) -> bool {
        (self.begin_ms()..self.end_ms()).contains(&received_ms)
    }

    /// First moment whose streams are deleted.
    pub(super) fn begin_ms(&self) -> i64 {
        self.from_ms.unwrap_or(i64::MIN)
    }

    /// First moment whose streams stay.
    pub(in crate::store) fn end_ms(&self) -> i64 {
        self.before_ms.unwrap_or(i64::MAX)
    }

    /// First minute, and the minute after the last.
    pub(super) fn minutes(&self) -> (i64, i64) {
        (minute_of(self.begin_ms()), minute_of(self.end_ms()))
    }

    /// Markers are no fakes: a deletion of some minutes leaves them.
    pub(super) const fn includes_markers(&self) -> bool {
        self.from_ms.is_none()
    }

    /// Counters and notifications have no time: only a deletion of everything includes them.
    pub(crate) const fn is_whole_site(&self) -> bool {
        self.from_ms.is_none() && self.before_ms.is_none()
    }
}
