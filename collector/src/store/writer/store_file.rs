//! Identity of the store's file. A file that is deleted or moved stays open, and takes writes that no start finds again.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::store::error::StoreError;

/// The file that the writer has opened.
pub(super) struct StoreFile {
    path: PathBuf,
    opened: Identity,
}

#[derive(PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl StoreFile {
    /// Call it when SQLite has the file open.
    pub(super) fn opened(path: PathBuf) -> Result<Self, StoreError> {
        match identity(&path) {
            Ok(opened) => Ok(Self { path, opened }),
            Err(_) => Err(StoreError::Moved(path)),
        }
    }

    /// Checks that the path still leads to the open file.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match identity(&self.path) {
            Ok(found) if found == self.opened => Ok(()),
            // A path that cannot be read is no better: the next start would not find the file either.
            _ => Err(StoreError::Moved(self.path.clone())),
        }
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    let found = fs::metadata(path)?;
    Ok(Identity { device: found.dev(), inode: found.ino() })
}
