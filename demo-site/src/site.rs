//! State that all handlers of the demo site share.

use std::sync::Arc;

use crate::log::Log;
use crate::page::Page;
use crate::upstream::Upstream;

/// State that all handlers share.
pub struct Site {
    /// Record of all writes.
    pub log: Arc<Log>,
    /// Base seed: the seed of a request is this plus its number.
    pub seed: u64,
    /// Server to relay instead of playing scenarios, if one is configured.
    pub upstream: Option<Upstream>,
    /// The chat page.
    pub page: Page,
}
