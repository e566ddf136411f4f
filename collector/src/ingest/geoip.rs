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

/// What says which country a beacon comes from.
pub(crate) enum CountryLookup {
    /// Nothing is configured.
    Unasked,
    /// A header of the proxies in front.
    Header(HeaderName),
    /// A file of networks and their countries.
    File(Arc<CountryFile>),
}

impl CountryLookup {
    /// Reads the file, where one is configured.
    pub(crate) fn open(from: &CountryFrom) -> Result<Self, CountryError> {
        Ok(match (&from.header, &from.mmdb) {
            (Some(header), _) => Self::Header(header.clone()),
            (None, Some(path)) => Self::File(Arc::new(CountryFile::open(path)?)),
            (None, None) => Self::Unasked,
        })
    }

    /// Looks for a new file until dropped. `None` where no file is configured.
    pub(crate) fn watch(
        &self,
        every: Duration,
        counters: &Arc<RequestCounters>,
    ) -> io::Result<Option<Background>> {
        let Self::File(file) = self else { return Ok(None) };
        Ok(Some(file::watch(file.clone(), every, counters.clone())?))
    }

    /// The country that a request of this peer comes from. `None` where nobody who is believed knows.
    pub(crate) fn of(&self, peer: Peer, headers: &HeaderMap, limits: &Ingest) -> Option<Country> {
        match self {
            Self::Unasked => None,
            Self::Header(name) if peer == Peer::Proxy => {
                Country::of_code(headers.get(name)?.to_str().ok()?.trim())
            }
            Self::Header(_) => None,
            Self::File(file) => {
                file.country(peer.network(limits.client_header.as_ref(), headers, &limits.proxies)?)
            }
        }
    }
}
