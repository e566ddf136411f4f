//! The number by which the streams of one visit belong together.

/// Keyed hash of the number that a tab sends. It differs by site and by day.
pub(crate) type VisitHash = u64;
