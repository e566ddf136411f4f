//! Replaces the random number of a tab by a keyed hash. The key lasts one day (UTC) and is then destroyed, so a hash leads
//! neither to a tab nor to the hash of another day.

pub(crate) mod shared;
mod upkeep;

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ring::hmac::{self, HMAC_SHA256};
use ring::rand::{SecureRandom, SystemRandom};
use tracing::warn;

use crate::report::visit::VisitHash;
use crate::time::day_of;

/// The key of the day. A file has it too, so that a restart does not split visits; backups do not copy that file.
pub(crate) struct VisitKey {
    path: PathBuf,
    keys: Mutex<Keys>,
}

#[derive(Default)]
struct Keys {
    /// `None` until a tab sends a number.
    current: Option<DayKey>,
    /// The key of the next day, if the collectors of a cluster have agreed on it.
    next: Option<DayKey>,
}

struct DayKey {
    day: i64,
    secret: Secret,
    key: hmac::Key,
    /// Whether all collectors of a cluster have it.
    is_agreed: bool,
}

/// The bytes of a key.
pub(crate) type Secret = [u8; KEY_BYTES];

impl VisitKey {
    /// Reads the key of the day, and destroys one of another day.
    pub(crate) fn open(data: &Path, now_ms: i64) -> Self {
        let path = data.join(VISIT_KEY_FILE);
        let stored = fs::read(&path).ok().and_then(|bytes| DayKey::read(&bytes));
        let current = stored.filter(|key| key.day == day_of(now_ms));
        let is_over = current.is_none();
        let key = Self { path, keys: Mutex::new(Keys { current, next: None }) };
        if is_over {
            key.destroy_file();
        }
        key
    }

    /// The hash of a tab's number for a site.
    pub(crate) fn hash(&self, site: &str, number: u64, now_ms: i64) -> VisitHash {
        let mut keys = self.lock();
        let today = day_of(now_ms);
        keys.current.take_if(|held| !held.is_for(today));
        let Keys { current, next } = &mut *keys;
        let DayKey { key, .. } = current.get_or_insert_with(|| {
            let key = next.take().filter(|next| next.day == today);
            let key = key.unwrap_or_else(|| DayKey::new(today, random_secret()));
            self.write_file(&key);
            key
        });
        let mut signing = hmac::Context::with_key(key);
        signing.update(&number.to_be_bytes());
        signing.update(site.as_bytes());
        let hash = signing.sign();
        VisitHash::from_be_bytes(*hash.as_ref().first_chunk().expect("a hash has 32 bytes"))
    }

    /// Destroys keys whose day is over.
    fn expire(&self, now_ms: i64) {
        let mut keys = self.lock();
        let today = day_of(now_ms);
        keys.next.take_if(|next| next.day < today);
        if keys.current.take_if(|held| !held.is_for(today)).is_some() {
            self.destroy_file();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_file(&self, DayKey { day, secret, .. }: &DayKey) {
        let bytes = [day.to_be_bytes().as_slice(), secret].concat();
        if let Err(error) = overwrite(&self.path, &bytes) {
            warn!(%error, path = %self.path.display(), "Cannot write the key of visits: a restart splits visits");
        }
    }

    fn destroy_file(&self) {
        let destroyed = match fs::metadata(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(_) => overwrite(&self.path, &[0; FILE_BYTES]).and_then(|()| fs::remove_file(&self.path)),
        };
        if let Err(error) = destroyed {
            warn!(%error, path = %self.path.display(), "Cannot destroy the key of visits");
        }
    }
}

impl DayKey {
    fn new(day: i64, secret: Secret) -> Self {
        Self { day, secret, key: hmac::Key::new(HMAC_SHA256, &secret), is_agreed: false }
    }

    /// `None` if the bytes are no key.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (day, secret) = bytes.split_first_chunk()?;
        Some(Self::new(i64::from_be_bytes(*day), secret.try_into().ok()?))
    }

    /// A request that arrived just before midnight may be hashed just after it.
    const fn is_for(&self, day: i64) -> bool {
        day == self.day || day + 1 == self.day
    }
}

fn random_secret() -> Secret {
    let mut secret = [0; KEY_BYTES];
    SystemRandom::new().fill(&mut secret).expect("the system has random numbers");
    secret
}

/// Writes over the same bytes of the disk, as far as the file system does so.
fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(false).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Name of the file in the data folder.
const VISIT_KEY_FILE: &str = "visits.key";
const KEY_BYTES: usize = 32;
/// The day and the key.
const FILE_BYTES: usize = 8 + KEY_BYTES;

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::time::DAY_MS;

    #[test]
    fn a_hash_lasts_over_a_restart_and_differs_by_site_and_day() {
        let folder = TempDir::new().unwrap();
        let key = VisitKey::open(folder.path(), 0);
        let hash = key.hash("shop", 7, 0);
        assert_eq!(key.hash("shop", 7, DAY_MS - 1), hash);
        assert_ne!(key.hash("shop", 8, 0), hash);
        assert_ne!(key.hash("blog", 7, 0), hash);
        drop(key);
        assert_eq!(VisitKey::open(folder.path(), 1).hash("shop", 7, 1), hash);
        assert_ne!(VisitKey::open(folder.path(), 2).hash("shop", 7, DAY_MS), hash, "the next day");
        assert_ne!(VisitKey::open(folder.path(), 3).hash("shop", 7, 3), hash, "its key is lost");
    }

    #[test]
    fn a_request_from_just_before_midnight_keeps_the_new_key() {
        let folder = TempDir::new().unwrap();
        let key = VisitKey::open(folder.path(), DAY_MS);
        let hash = key.hash("shop", 7, DAY_MS);
        assert_eq!(key.hash("shop", 7, DAY_MS - 1), hash);
        assert_eq!(key.hash("shop", 7, DAY_MS), hash);
    }

    #[test]
    fn a_key_is_destroyed_when_its_day_is_over() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join(VISIT_KEY_FILE);
        let key = VisitKey::open(folder.path(), 0);
        assert!(!file.exists(), "no tab has sent a number");
        key.hash("shop", 7, 0);
        key.expire(DAY_MS - 1);
        assert!(file.exists());
        key.expire(DAY_MS);
        assert!(!file.exists());

        key.hash("shop", 7, DAY_MS);
        drop(key);
        assert!(file.exists());
        VisitKey::open(folder.path(), 2 * DAY_MS);
        assert!(!file.exists(), "a collector that starts later destroys it");
    }

    #[test]
    fn a_damaged_key_is_replaced() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join(VISIT_KEY_FILE);
        for damaged in [&b""[..], &[0; FILE_BYTES - 1], &[0xff; FILE_BYTES + 1]] {
            fs::write(&file, damaged).unwrap();
            let key = VisitKey::open(folder.path(), 0);
            let hash = key.hash("shop", 7, 0);
            assert_eq!(VisitKey::open(folder.path(), 0).hash("shop", 7, 0), hash);
        }
    }
}
