//! Reads a database of networks and their countries.

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

/// Why a country file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CountryError {
    /// It cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// It is a folder or a device, or larger than any country file.
    #[error("{0} is not a file of at most 512 MiB")]
    NoFile(PathBuf),
    /// It can be read, but is not a valid country file.
    #[error("{path} is not a valid MaxMind DB file: {source}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// The problem with it.
        source: MaxMindDbError,
    },
}

/// The file with cities works too, as it contains countries, and takes 60 MB.
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
