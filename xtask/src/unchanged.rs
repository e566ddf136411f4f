//! Cargo compiles anew what embeds a file of a later time. Folders that are about to be built come in; what
//! in them is built as it was gets the time back that it had.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files and folders as they were before a build.
pub(crate) struct Before(BTreeMap<PathBuf, (Vec<u8>, SystemTime)>);

impl Before {
    /// What `folders` hold now. One that is not there yet holds nothing.
    pub(crate) fn of(folders: impl IntoIterator<Item = PathBuf>) -> Result<Self> {
        let mut before = BTreeMap::new();
        folders.into_iter().try_for_each(|folder| collect(&folder, &mut before))?;
        Ok(Self(before))
    }

    /// To be called after the build.
    pub(crate) fn give_times_back(self) -> Result<()> {
        for (path, (content, time)) in self.0 {
            if content_of(&path).is_ok_and(|built| built == content) {
                File::open(&path)?.set_modified(time)?;
            }
        }
        Ok(())
    }
}

fn collect(path: &Path, before: &mut BTreeMap<PathBuf, (Vec<u8>, SystemTime)>) -> Result<()> {
    let content = match content_of(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        content => content?,
    };
    before.insert(path.to_owned(), (content, path.metadata()?.modified()?));
    if path.is_dir() {
        fs::read_dir(path)?.try_for_each(|entry| collect(&entry?.path(), before))?;
    }
    Ok(())
}

/// A file's bytes, or a folder's names.
fn content_of(path: &Path) -> Result<Vec<u8>> {
    if !path.is_dir() {
        return fs::read(path);
    }
    let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().into_encoded_bytes()));
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names.join(&b'/'))
}
