//! Reads a database of client networks and their countries.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use maxminddb::{MaxMindDbError, Reader};

/// Reads the whole file into memory.
pub(crate) fn read(path: &Path) -> Result<Reader<Vec<u8>>, CountryError> {
    let unreadable = |source| CountryError::Unreadable { path: path.into(), source };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(CountryError::NoFile(path.into()));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    Reader::from_source(bytes).map_err(|source| CountryError::Broken { path: path.into(), source })
}

/// Why a file gives no countries.
#[derive(Debug, thiserror::Error)]
pub enum CountryError {
    /// It cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is a folder or a device, or larger than any such file.
    #[error("{0} is not a file of at most 512 MiB")]
    NoFile(PathBuf),
    /// It is read, and is not what it should be.
    #[error("{path} is not a valid MaxMind DB file: {source}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: MaxMindDbError,
    },
}

/// The file with cities, which has their countries too, takes 60 MB.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_tell_a_missing_file_from_a_broken_one() {
        let folder = tempfile::tempdir().unwrap();
        let error = |path: &Path| read(path).err().unwrap().to_string();
        let text = folder.path().join("text.mmdb");
        fs::write(&text, "no database").unwrap();
        assert!(error(&text).contains("text.mmdb is not a valid MaxMind DB file: "));
        let none = folder.path().join("none");
        assert!(error(&none).starts_with(&format!("cannot read {}: ", none.display())));
        assert!(error(folder.path()).ends_with(" is not a file of at most 512 MiB"));
        assert!(error(Path::new("/dev/zero")).ends_with(" is not a file of at most 512 MiB"));
    }
}
