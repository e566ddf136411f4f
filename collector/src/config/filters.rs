//! Which beacons a site does not count, as the operator writes it.

use serde::Deserialize;

/// What a site does not want to be counted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filters {
    /// Crawlers, monitors, headless browsers and programs, by their user agent. Default true.
    pub bots: bool,
    /// Pages that a browser renders before anyone asks for them. Default true.
    pub prerender: bool,
    /// Parts of the user agents that the operator's own tests have. Default none.
    pub own_tests: Vec<String>,
}

impl Default for Filters {
    fn default() -> Self {
        Self { bots: true, prerender: true, own_tests: Vec::new() }
    }
}

impl Filters {
    /// None at all: for pages of this machine, where whoever develops them is the only user.
    pub(crate) const fn none() -> Self {
        Self { bots: false, prerender: false, own_tests: Vec::new() }
    }
}
