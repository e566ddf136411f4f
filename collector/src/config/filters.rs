//! Configuration of the beacons that a site does not count.

use serde::Deserialize;

/// Beacons that a site does not count.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filters {
    /// Crawlers, monitors, headless browsers and programs, by their user agent. Default true.
    pub bots: bool,
    /// Pages that a browser renders before a user opens them. Default true.
    pub prerender: bool,
    /// Parts of the user agents of the operator's own tests. Default none.
    pub own_tests: Vec<String>,
}

impl Default for Filters {
    fn default() -> Self {
        Self { bots: true, prerender: true, own_tests: Vec::new() }
    }
}

impl Filters {
    /// No filters, for pages on this machine: their developers are their only users.
    pub(crate) const fn none() -> Self {
        Self { bots: false, prerender: false, own_tests: Vec::new() }
    }
}
