//! File names in the data folder.

/// The SQLite file.
pub(crate) const STORE_FILE: &str = "llm-rum.sqlite";

/// The folder of the journal.
pub(crate) const JOURNAL_FOLDER: &str = "journal";

/// The folder of the files of streams.
pub(crate) const ROWS_FOLDER: &str = "streams";
