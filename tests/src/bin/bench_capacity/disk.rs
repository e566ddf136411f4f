//! What files hold: a store comes in, goes out what each of its tables takes.

use std::path::Path;

use anyhow::Result;
use rusqlite::Connection;

/// A table with its pages.
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) rows: u64,
    /// Of its pages.
    pub(crate) bytes: u64,
    /// In its pages, without what is left free in them.
    pub(crate) payload: u64,
}

/// All tables that have rows, their indexes included, largest first.
pub(crate) fn tables(store: &Connection) -> Result<Vec<Table>> {
    let mut statement = store.prepare(
        "SELECT tbl_name, sum(pgsize), sum(payload)
         FROM dbstat JOIN sqlite_schema USING (name) GROUP BY tbl_name ORDER BY 2 DESC",
    )?;
    let tables = statement.query_map([], |row| {
        let name: String = row.get(0)?;
        let rows: i64 = store.query_row(&format!("SELECT count(*) FROM {name}"), [], |row| row.get(0))?;
        let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
        Ok(Table { name, rows: rows.cast_unsigned(), bytes: number(1)?, payload: number(2)? })
    })?;
    let mut tables = tables.collect::<Result<Vec<_>, _>>()?;
    tables.retain(|table| table.rows > 0);
    Ok(tables)
}

pub(crate) fn megabytes_in(folder: &Path) -> Result<f64> {
    let mut bytes = 0;
    for file in std::fs::read_dir(folder)? {
        bytes += file?.metadata()?.len();
    }
    Ok(bytes as f64 / 1e6)
}

/// Name of the store in the data folder.
pub(crate) const FILE: &str = "llm-rum.sqlite";
