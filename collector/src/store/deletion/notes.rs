//! Notes of deletions that were committed and are not complete.

use std::path::Path;

use rusqlite::{Connection, params};

use super::site_deletion::SiteDeletion;
use crate::store::error::{StoreError, in_file};
use crate::store::paths::STORE_FILE;
use crate::store::reader;

/// Deletions of a folder that were interrupted after their transaction.
pub(crate) fn interrupted(data: &Path) -> Result<Vec<SiteDeletion>, StoreError> {
    let file = data.join(STORE_FILE);
    let read = |connection: Connection| match connection.column_exists(None, "deletions", "from_ms")? {
        true => noted(&connection),
        // A store of an earlier version.
        false => Ok(Vec::new()),
    };
    reader::open(&file).and_then(read).map_err(in_file(&file))
}

pub(super) fn noted(connection: &Connection) -> Result<Vec<SiteDeletion>, StoreError> {
    let mut statement = connection.prepare("SELECT site, from_ms, before_ms FROM deletions")?;
    let noted = statement.query_map([], |row| {
        Ok(SiteDeletion { site: row.get(0)?, from_ms: row.get(1)?, before_ms: row.get(2)? })
    })?;
    Ok(noted.collect::<Result<_, _>>()?)
}

pub(super) fn add(connection: &Connection, deletion: &SiteDeletion) -> rusqlite::Result<()> {
    let note = "INSERT INTO deletions (site, from_ms, before_ms) VALUES (?1, ?2, ?3)";
    connection.execute(note, params![deletion.site, deletion.from_ms, deletion.before_ms]).map(|_| ())
}

pub(super) fn remove_all(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM deletions", []).map(|_| ())
}
