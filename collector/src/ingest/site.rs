//! The configured sites with their aliases and limits, found by key.

use std::collections::HashMap;
use std::sync::Arc;

use crate::config::Site;
use crate::http::fair_share::{FairShare, FairShares};
use crate::http::rate_limit::RateLimit;
use crate::ingest::normalize::Aliases;
use crate::ingest::page_token::{self, SigningKey};

/// A configured site, with its aliases and limit.
pub(crate) struct IngestSite {
    pub(crate) site: Site,
    pub(crate) aliases: Arc<Aliases>,
    pub(crate) limit: SiteLimit,
    /// `None` if its pages need no token.
    pub(super) signing_key: Option<SigningKey>,
}

/// Limit of the reports of all pages of a site.
pub(crate) enum SiteLimit {
    /// The `rate` of the configuration.
    Rate(RateLimit),
    /// The default.
    FairShare(Arc<FairShare>),
}

/// All sites by their keys.
pub(super) struct Sites {
    sites: Vec<IngestSite>,
    /// From a key to its site's index in `sites`.
    keys: HashMap<String, usize>,
}

impl IngestSite {
    pub(crate) fn new(site: &Site, aliases: &Arc<Aliases>) -> Self {
        let limit = match site.rate {
            Some(rate) => SiteLimit::Rate(RateLimit::new(rate)),
            None => SiteLimit::FairShare(Arc::default()),
        };
        let signing_key = site.signing_key.as_ref().map(SigningKey::new);
        Self { site: site.clone(), aliases: aliases.clone(), limit, signing_key }
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

    /// The shares of each site without a `rate`, by its name.
    pub(super) fn fair_shares(&self) -> FairShares {
        let share = |open: &IngestSite| match &open.limit {
            SiteLimit::Rate(_) => None,
            SiteLimit::FairShare(share) => Some((open.site.name.clone(), share.clone())),
        };
        self.sites.iter().filter_map(share).collect()
    }

    /// The site of a parameter `site`: a key, or a token that begins with one.
    pub(super) fn by_parameter(&self, parameter: &str) -> Option<&IngestSite> {
        let of_token = || self.keys.get(page_token::site_key(parameter)?);
        self.keys.get(parameter).or_else(of_token).map(|&at| &self.sites[at])
    }
}
