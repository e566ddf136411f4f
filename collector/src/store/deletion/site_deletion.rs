//! Which streams a deletion deletes.

/// Which streams are deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SiteDeletion {
    pub(crate) site: String,
    /// Only streams whose latest report arrived before this time, the beginning of a day (UTC). All rollups and samples are of
    /// one day or less, so none is divided. `None`: all streams.
    pub(crate) before_ms: Option<i64>,
}

impl SiteDeletion {
    /// Whether a stream of a site, or a report of it, is deleted.
    pub(super) fn selects(&self, site: &str, received_ms: i64) -> bool {
        self.site == site && received_ms < self.end_ms()
    }

    /// First moment whose streams stay.
    pub(in crate::store) fn end_ms(&self) -> i64 {
        self.before_ms.unwrap_or(i64::MAX)
    }
}
