//! Locks a data folder, so that no two processes use it.

use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::store::error::StoreError;

/// Locks the folder for this process; creates it if missing.
pub(crate) fn lock(folder: &Path) -> Result<File, StoreError> {
    let failed = |source| StoreError::Folder { path: folder.into(), source };
    fs::create_dir_all(folder).map_err(failed)?;
    let lock = File::create(folder.join("lock")).map_err(failed)?;
    // Retries for a second: a child process inherits the lock until it runs another program, and a stopping
    // collector needs a moment. A collector that keeps running still has the lock afterwards.
    let mut tries_left = 20;
    while lock.try_lock().is_err() {
        if tries_left == 0 {
            return Err(StoreError::InUse(folder.into()));
        }
        tries_left -= 1;
        thread::sleep(Duration::from_millis(50));
    }
    Ok(lock)
}
