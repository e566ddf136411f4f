//! Looks up the country of a beacon from a proxy's header or a file of networks. Neither the address nor the network
//! is stored.

mod file;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName};

use crate::background_thread::Background;
use crate::config::country_database::CountryError;
use crate::config::{CountryFrom, Ingest};
use crate::http::client_ip::Peer;
use crate::http::counters::RequestCounters;
use crate::report::country::Country;
use file::CountryFile;

/// Source of a beacon's country.
pub(crate) enum CountryLookup {
    /// No source is configured.
    Unasked,
    /// A header that the configured proxies set.
    Header(HeaderName),
    /// A file that maps networks to countries.
    File(Arc<CountryFile>),
}

impl CountryLookup {
    /// Reads the country file, if one is configured.
    pub(crate) fn open(from: &CountryFrom) -> Result<Self, CountryError> {
        Ok(match (&from.header, &from.mmdb) {
            (Some(header), _) => Self::Header(header.clone()),
            (None, Some(path)) => Self::File(Arc::new(CountryFile::open(path)?)),
            (None, None) => Self::Unasked,
        })
    }

    /// Checks for a new file until the result is dropped. `None` if no file is configured.
    pub(crate) fn watch(
        &self,
        every: Duration,
        counters: &Arc<RequestCounters>,
    ) -> io::Result<Option<Background>> {
        let Self::File(file) = self else { return Ok(None) };
        Ok(Some(file::watch(file.clone(), every, counters.clone())?))
    }

    /// Country that a request of this peer comes from. `None` if no trusted source knows it.
    pub(crate) fn of(&self, peer: Peer, headers: &HeaderMap, limits: &Ingest) -> Option<Country> {
        match self {
            Self::Unasked => None,
            Self::Header(name) if peer.is_proxy() => {
                Country::of_code(headers.get(name)?.to_str().ok()?.trim())
            }
            Self::Header(_) => None,
            Self::File(file) => file.country(peer.network(headers, limits)?),
        }
    }
}
