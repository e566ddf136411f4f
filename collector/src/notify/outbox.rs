//! The file with what each receiver knows of and has yet to get. It is written before a message is sent.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::state::ReceiverState;

/// States by the receivers' ids.
pub(super) type ReceiverStates = BTreeMap<String, ReceiverState>;

/// The file in the data folder.
pub(super) struct Outbox {
    folder: PathBuf,
}

impl Outbox {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The stored states. Empty before the first write.
    pub(super) fn load(&self) -> io::Result<ReceiverStates> {
        match fs::read(self.folder.join(FILE)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(ReceiverStates::new()),
            Err(error) => Err(error),
        }
    }

    /// Replaces the file. After a power cut, it has either the old or the new states.
    pub(super) fn save(&self, states: &ReceiverStates) -> io::Result<()> {
        let new = self.folder.join(NEW_FILE);
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(states)?)?;
        file.sync_all()?;
        fs::rename(&new, self.folder.join(FILE))?;
        File::open(&self.folder)?.sync_all()
    }
}

const FILE: &str = "notifications.json";
const NEW_FILE: &str = "notifications.json.new";
