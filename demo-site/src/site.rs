//! The state of the demo site, shared by every handler.

use std::sync::Arc;

use crate::log::Log;
use crate::page::Page;
use crate::upstream::Upstream;

/// What every handler shares.
pub struct Site {
    /// What was sent when.
    pub log: Arc<Log>,
    /// Every request's seed is this plus its number.
    pub seed: u64,
    /// Relayed to instead of playing scenarios, where one is given.
    pub upstream: Option<Upstream>,
    /// The chat page.
    pub page: Page,
}
