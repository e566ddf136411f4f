//! State that all handlers of the demo site share.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName};

use crate::log::Log;
use crate::page::Page;
use crate::timings::{SiteTimings, Timings};
use crate::upstream::Upstream;

/// Names the site that a stream of the simulated traffic belongs to. Without it, it is the page's.
pub(crate) const SITE_HEADER: HeaderName = HeaderName::from_static("x-demo-site");

/// State that all handlers share.
pub struct Site {
    /// Record of all writes.
    pub log: Arc<Log>,
    /// Base seed: the seed of a request is this plus its number.
    pub seed: u64,
    /// Server to relay instead of playing scenarios, if one is configured.
    pub upstream: Option<Upstream>,
    /// Takes the timings of the scripted backend to the collector, if it wants them.
    pub timings: Option<Timings>,
    /// The chat page.
    pub page: Page,
}

impl Site {
    /// For the timings of a stream with these request headers.
    pub(crate) fn timings_of(&self, headers: &HeaderMap) -> Option<SiteTimings> {
        let named = headers.get(SITE_HEADER).and_then(|site| site.to_str().ok());
        self.timings.clone().map(|timings| timings.of_site(named.unwrap_or(self.page.site())))
    }

    /// For the timings of a stream of the chat page.
    pub(crate) fn timings_of_page(&self) -> Option<SiteTimings> {
        self.timings_of(&HeaderMap::new())
    }
}
