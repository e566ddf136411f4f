//! The configured sites with their aliases and rate limits, found by key.

use std::collections::HashMap;
use std::sync::Arc;

use crate::config::Site;
use crate::http::rate_limit::RateLimit;
use crate::ingest::normalize::Aliases;

/// A configured site, with its aliases and rate limit.
pub(crate) struct IngestSite {
    pub(crate) site: Site,
    pub(crate) aliases: Arc<Aliases>,
    /// `None` if the configuration sets no rate.
    pub(crate) rate_limit: Option<RateLimit>,
}

/// All sites by their keys.
pub(super) struct Sites {
    sites: Vec<IngestSite>,
    /// From a key to its site's index in `sites`.
    keys: HashMap<String, usize>,
}

impl IngestSite {
    pub(crate) fn new(site: &Site, aliases: &Arc<Aliases>) -> Self {
        Self { site: site.clone(), aliases: aliases.clone(), rate_limit: site.rate.map(RateLimit::new) }
    }
}

impl Sites {
    pub(super) fn new(configured: &[Site], aliases: &Arc<Aliases>) -> Self {
        let indexes = configured.iter().enumerate();
        let keys = indexes.flat_map(|(at, site)| site.keys.iter().map(move |key| (key.clone(), at)));
        Self {
            keys: keys.collect(),
            sites: configured.iter().map(|site| IngestSite::new(site, aliases)).collect(),
        }
    }

    pub(super) fn by_key(&self, key: &str) -> Option<&IngestSite> {
        self.keys.get(key).map(|&at| &self.sites[at])
    }
}
