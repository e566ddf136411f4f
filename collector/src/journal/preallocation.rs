//! Preallocated segments: files that are no longer needed are reused, and a new one is made before it is needed. A
//! disk syncs allocated blocks faster than new ones.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files whose content is no longer needed.
pub(super) struct PreallocatedSegments {
    files: Mutex<Vec<PathBuf>>,
    /// A file could not be created, probably for lack of space.
    cramped: AtomicBool,
}

impl PreallocatedSegments {
    pub(super) const fn new(files: Vec<PathBuf>) -> Self {
        Self { files: Mutex::new(files), cramped: AtomicBool::new(false) }
    }

    /// Removes one file, which then belongs to the caller.
    pub(super) fn take(&self) -> Option<PathBuf> {
        self.files().pop()
    }

    /// Adds a file under another name, or deletes it if there are enough.
    pub(super) fn add(&self, path: &Path) -> io::Result<()> {
        let mut files = self.files();
        if files.len() >= MOST {
            return fs::remove_file(path);
        }
        let spare = path.with_extension(EXTENSION);
        fs::rename(path, &spare)?;
        files.push(spare);
        Ok(())
    }

    /// Creates a file of `bytes` bytes if there is none. After a failure it creates none any more: other
    /// files may need the space.
    pub(super) fn make(&self, folder: &Path, bytes: u64) -> io::Result<()> {
        if !self.files().is_empty() || self.cramped.load(Ordering::Relaxed) {
            return Ok(());
        }
        let part = folder.join("new.part");
        let made = fill(&part, bytes).and_then(|()| self.add(&part));
        if made.is_err() {
            self.cramped.store(true, Ordering::Relaxed);
            // The caller needs the reason for the failure, not that there may be no file to remove.
            let _removed = fs::remove_file(&part);
        }
        made
    }

    fn files(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a file with all its blocks allocated and zeroed.
fn fill(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = File::create(path)?;
    let nothing = vec![0; PIECE_BYTES];
    for _ in 0..bytes.div_ceil(PIECE_BYTES as u64) {
        file.write_all(&nothing)?;
    }
    file.sync_all()
}

/// Extension of preallocated files.
pub(super) const EXTENSION: &str = "spare";

/// As many files as become free between two flushes under full load.
const MOST: usize = 8;

const PIECE_BYTES: usize = 256 * 1024;
