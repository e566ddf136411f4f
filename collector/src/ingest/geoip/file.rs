//! A country file in memory. It is reloaded when a new file replaces it. If the new file cannot be read, the
//! loaded one stays in use.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use maxminddb::{PathElement, Reader};

use crate::background_thread::Background;
use crate::config::country_database::{CountryError, read};
use crate::http::client_ip::ClientNetwork;
use crate::http::counters::RequestCounters;
use crate::report::country::Country;

/// A country file, read into memory.
pub(crate) struct CountryFile {
    path: PathBuf,
    networks: RwLock<Reader<Vec<u8>>>,
    /// Version that was last read or found unreadable; `None` if there was no file.
    seen: Mutex<Option<Version>>,
}

/// Metadata that differs between two versions of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    /// Inode number: a file that is renamed into place may have the age and the length of the previous one.
    number: u64,
    modified: SystemTime,
    bytes: u64,
}

impl CountryFile {
    pub(crate) fn open(path: &Path) -> Result<Self, CountryError> {
        // Taken before reading: a file that replaces this one meanwhile has another version.
        let seen = version(path);
        Ok(Self { networks: RwLock::new(read(path)?), path: path.into(), seen: Mutex::new(seen) })
    }

    /// Country of a network. `None` if the file does not have it, or is damaged at that place.
    pub(crate) fn country(&self, network: ClientNetwork) -> Option<Country> {
        let code = [PathElement::Key("country"), PathElement::Key("iso_code")];
        let networks = self.networks.read().unwrap_or_else(PoisonError::into_inner);
        let found = networks.lookup(network.first_address()?).ok()?.decode_path::<&str>(&code);
        Country::of_code(found.ok()??)
    }

    /// Reads the file again if it has changed. `None` if it has not changed since the last call.
    fn reload_if_changed(&self) -> Option<Result<(), CountryError>> {
        let found = version(&self.path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *seen, found) == found {
            return None;
        }
        Some(read(&self.path).map(|networks| {
            *self.networks.write().unwrap_or_else(PoisonError::into_inner) = networks;
        }))
    }
}

/// Checks for a new file until the result is dropped.
pub(super) fn watch(
    file: Arc<CountryFile>,
    every: Duration,
    counters: Arc<RequestCounters>,
) -> io::Result<Background> {
    Background::start("countries", move |stop| {
        while stop.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            if let Some(reread) = file.reload_if_changed() {
                counters.country_file(reread.is_ok());
                log(&file.path, reread);
            }
        }
    })
}

fn log(file: &Path, reread: Result<(), CountryError>) {
    match reread {
        Ok(()) => tracing::info!(file = %file.display(), "Loaded the new country file"),
        Err(error) => {
            tracing::warn!(%error, "Cannot load the new country file; the previous one stays in use: {error}");
        }
    }
}

/// `None` if there is no file.
fn version(path: &Path) -> Option<Version> {
    let found = fs::metadata(path).ok()?;
    Some(Version { number: found.ino(), modified: found.modified().ok()?, bytes: found.len() })
}

#[cfg(test)]
#[path = "../../../tests/it/countries/database.rs"]
mod database;

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::database::database;
    use super::*;

    #[test]
    fn a_replaced_country_file_is_read_unless_it_is_broken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("countries.mmdb");
        // The lengths differ: the file system's clock may not advance for some milliseconds.
        let of = |code| database(&[("192.0.2.0", 24, code), ("198.51.100.0", 24, code)]);
        let replace = |bytes: &[u8]| {
            let new = folder.path().join("new.mmdb");
            fs::write(&new, bytes).unwrap();
            fs::rename(new, &path).unwrap();
        };
        replace(&database(&[("192.0.2.0", 24, "NL")]));
        let (file, counters) =
            (Arc::new(CountryFile::open(&path).unwrap()), Arc::new(RequestCounters::default()));
        let every = Duration::from_millis(2);
        let watching = watch(file.clone(), every, counters.clone()).unwrap();
        let network = ClientNetwork::of("192.0.2.7".parse::<IpAddr>().unwrap());
        let country_code = || file.country(network).map(|country| country.as_str().to_owned());
        let mut reads = [0, 0];
        let mut until = |expected: [u64; 2], code: &str| {
            for _ in 0..2_000 {
                let [good, broken] = counters.take_country_files();
                reads = [reads[0] + good, reads[1] + broken];
                if reads == expected {
                    return assert_eq!(country_code().as_deref(), Some(code));
                }
                std::thread::sleep(every);
            }
            panic!("read {reads:?}, not {expected:?}");
        };
        until([0, 0], "NL");
        replace(&of("BR"));
        until([1, 0], "BR");
        let whole = database(&[("192.0.2.0", 24, "JP")]);
        replace(&whole[..whole.len() - 40]);
        until([1, 1], "BR");
        fs::remove_file(&path).unwrap();
        until([1, 2], "BR");
        replace(&whole);
        until([2, 2], "JP");
        drop(watching);
        assert_eq!(counters.take_country_files(), [0, 0], "each is told once");
    }
}
