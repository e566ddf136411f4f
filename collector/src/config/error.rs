//! A mistake in the configuration: what is wrong, where, and what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// One thing that cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where it stands. `None` where nothing is written about it.
    pub place: Option<SourceLocation>,
    /// Which field, as `sites[0].keys`. Empty where the text is no TOML.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
    /// What to do.
    pub remedy: String,
    /// Other fields that it is about as well.
    pub(super) beside: Vec<String>,
}

/// Where a mistake stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceLocation {
    /// Line of the file, from 1.
    Line(usize),
    /// A variable of the environment.
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
        /// What the system said.
        source: io::Error,
    },
    /// All mistakes there are, in the order of their places.
    #[error("{}", list(path.as_ref(), mistakes))]
    Mistakes {
        /// The file. `None` when there is none.
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
