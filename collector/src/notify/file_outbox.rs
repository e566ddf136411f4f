//! The outbox of a collector that is alone: a file in the data folder.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tracing::error;

use super::outbox::{Claim, Outbox, OutboxError, ReceiverStates, parsed, written};

/// The file.
pub(super) struct FileOutbox {
    folder: PathBuf,
    is_loaded: bool,
}

impl FileOutbox {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), is_loaded: false }
    }

    /// The stored states. Empty before the first write. A damaged file is kept under another name.
    fn load(&self) -> io::Result<ReceiverStates> {
        let path = self.folder.join(FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ReceiverStates::new()),
            Err(error) => return Err(error),
        };
        parsed(&bytes).or_else(|error| {
            let damaged = self.folder.join(DAMAGED_FILE);
            error!(
                %error,
                "Notifications: `{FILE}` is damaged and is now `{DAMAGED_FILE}`. Alerts that fire are sent again"
            );
            fs::rename(path, damaged)?;
            Ok(ReceiverStates::new())
        })
    }
}

impl Outbox for FileOutbox {
    fn claim(&mut self, _states: &ReceiverStates) -> Result<Claim, OutboxError> {
        if self.is_loaded {
            return Ok(Claim::Held);
        }
        let states = self.load()?;
        self.is_loaded = true;
        Ok(Claim::Taken(states))
    }

    /// Replaces the file. After a power cut, it has either the old or the new states.
    fn save(&mut self, states: &ReceiverStates) -> Result<(), OutboxError> {
        let new = self.folder.join(NEW_FILE);
        let mut file = File::create(&new)?;
        file.write_all(written(states).as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, self.folder.join(FILE))?;
        File::open(&self.folder)?.sync_all()?;
        Ok(())
    }
}

/// Number of stored alerts and messages about a site. A damaged file has none that can be read.
pub(crate) fn count_of_site(folder: &Path, site: &str) -> io::Result<u64> {
    let states = match fs::read(folder.join(FILE)) {
        Ok(bytes) => parsed(&bytes).unwrap_or_default(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    Ok(states.values().map(|state| state.count_of_site(site) as u64).sum())
}

/// Deletes the stored alerts and messages about a site, and files that a crash or damage left behind.
pub(crate) fn delete_site(folder: &Path, site: &str) -> Result<(), OutboxError> {
    if count_of_site(folder, site)? > 0 {
        let mut outbox = FileOutbox::new(folder);
        let mut states = outbox.load()?;
        states.values_mut().for_each(|state| state.delete_site(site));
        outbox.save(&states)?;
    }
    for left_behind in [NEW_FILE, DAMAGED_FILE] {
        match fs::remove_file(folder.join(left_behind)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

pub(crate) const FILE: &str = "notifications.json";
const NEW_FILE: &str = "notifications.json.new";
const DAMAGED_FILE: &str = "notifications.json.damaged";
