//! A mistake in the configuration: what is wrong, where, and what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// One mistake in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Location of the mistake. `None` if the field is not set anywhere.
    pub place: Option<SourceLocation>,
    /// Name of the field, as in `sites[0].keys`. Empty if the text is not TOML.
    pub field: String,
    /// The problem with it.
    pub problem: String,
    /// How to fix it.
    pub remedy: String,
    /// Further fields that the mistake is about.
    pub(super) beside: Vec<String>,
}

/// Location of a mistake.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceLocation {
    /// Line of the file, from 1.
    Line(usize),
    /// An environment variable.
    Variable(String),
}

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}: check the path and the permissions of this user")]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// All mistakes, in the order of their locations.
    #[error("{}", list(path.as_ref(), mistakes))]
    Mistakes {
        /// The file. `None` if there is none.
        path: Option<PathBuf>,
        /// At least one.
        mistakes: Vec<Mistake>,
    },
}

fn list(path: Option<&PathBuf>, mistakes: &[Mistake]) -> String {
    let file = path.map_or_else(|| "configuration".to_owned(), |path| path.display().to_string());
    let lines = mistakes.iter().map(|mistake| match &mistake.place {
        Some(SourceLocation::Line(line)) => format!("{file}:{line}: {mistake}"),
        Some(SourceLocation::Variable(name)) => format!("{name}: {mistake}"),
        None => format!("{file}: {mistake}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "`{}` ", self.field)?;
        }
        write!(f, "{}: {}", self.problem, self.remedy)
    }
}
