//! Tokens: what each may do, and with the data of which sites.

use std::sync::Arc;

use serde::Deserialize;

use super::secret::Secret;

/// A token that one reader or one program has.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Name of its owner, in the log and on the dashboard.
    pub name: String,
    /// The secret itself: at least 16 bytes of visible ASCII.
    pub token: Secret,
    /// What the token may do. Default `["read"]`.
    #[serde(default = "read")]
    pub scopes: Vec<Scope>,
    /// Sites that the token is limited to. Default all.
    #[serde(default)]
    pub sites: AllowedSites,
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The dashboard's data: the query routes below `/v1`.
    Read,
    /// `/metrics`, which covers all sites.
    Metrics,
    /// Posting and deleting markers.
    Markers,
    /// Sending timings of the backend.
    ServerTimings,
}

impl Scope {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Read, Self::Metrics, Self::Markers, Self::ServerTimings];

    /// Name in the configuration.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Metrics => "metrics",
            Self::Markers => "markers",
            Self::ServerTimings => "server_timings",
        }
    }
}

/// The sites whose data a reader may see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "Vec<String>")]
pub enum AllowedSites {
    /// All sites, those that only earlier configurations had included.
    #[default]
    All,
    /// These sites, sorted.
    Only(Arc<[String]>),
}

/// Proof that a reader may see all sites, for figures that cannot be told apart by site.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AllSites(());

impl AllowedSites {
    /// The proof, if all sites are allowed.
    pub(crate) fn all(&self) -> Option<AllSites> {
        (*self == Self::All).then_some(AllSites(()))
    }

    /// Whether data of the site may be seen.
    #[must_use]
    pub fn allows(&self, site: &str) -> bool {
        self.names().is_none_or(|names| names.iter().any(|name| name == site))
    }

    /// Names of the sites. `None` if all sites are allowed.
    #[must_use]
    pub fn names(&self) -> Option<&[String]> {
        match self {
            Self::All => None,
            Self::Only(names) => Some(names),
        }
    }
}

impl From<Vec<String>> for AllowedSites {
    fn from(mut names: Vec<String>) -> Self {
        names.sort_unstable();
        Self::Only(names.into())
    }
}

fn read() -> Vec<Scope> {
    vec![Scope::Read]
}
