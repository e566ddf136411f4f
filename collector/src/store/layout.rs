//! The tables of the file, and how an older file comes to have them.

use std::path::Path;

use rusqlite::Connection;

use super::StoreError;

/// Brings the file to the layout of this version, one step after the other.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = FIRST + LAYOUTS.len() as i64 - 1;
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    if found != 0 && found < FIRST {
        return Err(StoreError::Older { found, path: path.into() });
    }
    let held = if found == 0 { 0 } else { found - FIRST + 1 };
    for (at, layout) in LAYOUTS.iter().enumerate().skip(held as usize) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(layout)?;
        transaction.pragma_update(None, "user_version", FIRST + at as i64)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Number of the first layout in [`LAYOUTS`]. Those before it were never released.
const FIRST: i64 = 2;

/// Each entry leads from the layout before it to its own; entries are added, never changed.
const LAYOUTS: [&str; 5] = [
    "
    CREATE TABLE journal (applied INTEGER NOT NULL, remembered_from INTEGER NOT NULL);
    INSERT INTO journal VALUES (0, 0);
    CREATE TABLE series (
        id INTEGER PRIMARY KEY, site TEXT NOT NULL, use_case TEXT NOT NULL, provider TEXT NOT NULL,
        model TEXT NOT NULL, UNIQUE (site, use_case, provider, model));
    CREATE TABLE windows (
        minute INTEGER NOT NULL, series INTEGER NOT NULL, tally BLOB NOT NULL,
        PRIMARY KEY (minute, series)) WITHOUT ROWID;
    CREATE TABLE totals (series INTEGER PRIMARY KEY, total BLOB NOT NULL);
    CREATE TABLE counts (
        kind TEXT NOT NULL, site TEXT NOT NULL, word TEXT NOT NULL, n INTEGER NOT NULL,
        PRIMARY KEY (kind, site, word)) WITHOUT ROWID;
    CREATE TABLE remembered (flush INTEGER PRIMARY KEY, newest INTEGER NOT NULL, revisions BLOB NOT NULL);
",
    "
    CREATE TABLE spans (
        length INTEGER NOT NULL, start INTEGER NOT NULL, changes INTEGER NOT NULL, summed INTEGER NOT NULL,
        frozen INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (length, start)) WITHOUT ROWID;
    INSERT INTO spans (length, start, changes, summed)
        SELECT DISTINCT 60, minute / 60 * 60, 1, 0 FROM windows;
    CREATE TABLE labels (
        id INTEGER PRIMARY KEY, kept INTEGER NOT NULL, site TEXT NOT NULL, use_case TEXT NOT NULL,
        provider TEXT NOT NULL, model TEXT NOT NULL, UNIQUE (kept, site, use_case, provider, model));
    CREATE TABLE sums (
        labels INTEGER NOT NULL, length INTEGER NOT NULL, start INTEGER NOT NULL, tally BLOB NOT NULL,
        PRIMARY KEY (labels, length, start)) WITHOUT ROWID;
",
    "
    INSERT OR IGNORE INTO spans (length, start, changes, summed)
        SELECT DISTINCT 5, minute / 5 * 5, 1, 0 FROM windows
        UNION SELECT DISTINCT 1440, minute / 1440 * 1440, 1, 0 FROM windows;
",
    "
    CREATE TABLE samples (
        day INTEGER NOT NULL, stream BLOB NOT NULL, series INTEGER NOT NULL, kinds INTEGER NOT NULL,
        outcome TEXT NOT NULL, waited_ms REAL, received_ms INTEGER NOT NULL, report TEXT NOT NULL,
        PRIMARY KEY (day, stream));
    CREATE INDEX samples_by_stream ON samples (stream);
",
    "
    CREATE TABLE collector (
        id TEXT NOT NULL, version INTEGER NOT NULL, flush INTEGER NOT NULL, stored INTEGER NOT NULL,
        sent INTEGER NOT NULL);
    INSERT INTO collector VALUES (lower(hex(randomblob(8))), 0, 0, 0, 0);
    CREATE TABLE outbox (
        minute INTEGER NOT NULL, series INTEGER NOT NULL, mark INTEGER NOT NULL,
        PRIMARY KEY (minute, series)) WITHOUT ROWID;
    CREATE TABLE outbox_samples (
        day INTEGER NOT NULL, stream BLOB NOT NULL, mark INTEGER NOT NULL, PRIMARY KEY (day, stream));
    ALTER TABLE spans ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
",
];
