//! One import: a file uses what another file defines.

use std::fmt;
use std::path::PathBuf;

/// Files are named from the root of the project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    /// The file that imports.
    pub from: PathBuf,
    /// The file that defines what is imported.
    pub to: PathBuf,
    /// Where it stands in `from`.
    pub line: usize,
    /// How it reads there.
    pub text: String,
}

impl fmt::Display for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.from.display(), self.line, self.text)
    }
}
