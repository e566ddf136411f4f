//! Figures of engines by minute: the table in the SQLite file. A collector has those of its own scrapes; of a cluster, a
//! thread publishes them to ClickHouse.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Row, params};

use super::markers::{non_empty, stored_site};
use super::paths::STORE_FILE;
use crate::engine_metrics::minute::{Level, MinuteFigures};
use crate::store::error::StoreError;

/// Figures of one model of an engine in one minute.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EngineMinute {
    pub(crate) minute: i64,
    pub(crate) engine: String,
    pub(crate) model: String,
    /// `None` if readers of all sites see it.
    pub(crate) site: Option<String>,
    pub(crate) figures: MinuteFigures,
}

/// Writes the minutes of one engine.
pub(crate) struct EngineMinuteWriter {
    file: PathBuf,
    /// `None` until the first write, and after a failed one.
    connection: Option<Connection>,
}

impl EngineMinuteWriter {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { file: folder.join(STORE_FILE), connection: None }
    }

    /// Stores rows in place of earlier ones of the same minutes.
    pub(crate) fn put(&mut self, rows: &[EngineMinute]) -> Result<(), StoreError> {
        let mut connection = self.connection.take().map_or_else(|| open(&self.file), Ok)?;
        put(&mut connection, rows)?;
        self.connection = Some(connection);
        Ok(())
    }
}

fn open(file: &Path) -> Result<Connection, StoreError> {
    // In place of a file that was moved away, SQLite would make a new one, and delete the log of the old one.
    let connection = Connection::open_with_flags(file, OpenFlags::default() - OpenFlags::SQLITE_OPEN_CREATE)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    // A power cut may lose the last figures. They are no one's only proof.
    connection.pragma_update(None, "synchronous", "normal")?;
    Ok(connection)
}

fn put(connection: &mut Connection, rows: &[EngineMinute]) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    for EngineMinute { minute, engine, model, site, figures } in rows {
        let (waiting, running) = (figures.waiting, figures.running);
        let max = |level: Option<Level>| level.map(|level| level.max);
        let mean = |level: Option<Level>| level.map(|level| level.mean);
        transaction
            .prepare_cached(&format!(
                "INSERT OR REPLACE INTO engine_minutes ({COLUMNS})
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
            ))?
            .execute(params![
                minute,
                engine,
                model,
                stored_site(site),
                max(waiting),
                mean(waiting),
                waiting.map_or(0, |level| level.scrapes),
                max(running),
                mean(running),
                running.map_or(0, |level| level.scrapes),
                figures.kv_usage_max,
                figures.preemptions,
                figures.cache_hits,
                figures.cache_queries,
                figures.drafted,
                figures.accepted,
            ])?;
    }
    Ok(transaction.commit()?)
}

/// Calls `each` with the rows of a range of minutes, in the order of their times. The end is exclusive.
pub(crate) fn each(
    connection: &Connection,
    (from, to): (i64, i64),
    mut each: impl FnMut(EngineMinute),
) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM engine_minutes WHERE minute >= ?1 AND minute < ?2"
    ))?;
    for row in statement.query_map([from, to], stored)? {
        each(row?);
    }
    Ok(())
}

/// Deletes all minutes before this one.
pub(super) fn drop_before(connection: &Connection, minute: i64) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM engine_minutes WHERE minute < ?1")?.execute([minute])?;
    Ok(())
}

fn stored(row: &Row<'_>) -> rusqlite::Result<EngineMinute> {
    let level = |at: usize| {
        let (max, mean, scrapes) = (row.get(at)?, row.get(at + 1)?, row.get(at + 2)?);
        let level = |(max, mean)| Level { max, mean, scrapes };
        Ok::<_, rusqlite::Error>(Option::zip(max, mean).map(level))
    };
    let figures = MinuteFigures {
        waiting: level(4)?,
        running: level(7)?,
        kv_usage_max: row.get(10)?,
        preemptions: row.get(11)?,
        cache_hits: row.get(12)?,
        cache_queries: row.get(13)?,
        drafted: row.get(14)?,
        accepted: row.get(15)?,
    };
    Ok(EngineMinute {
        minute: row.get(0)?,
        engine: row.get(1)?,
        model: row.get(2)?,
        site: non_empty(row.get(3)?),
        figures,
    })
}

const COLUMNS: &str = "minute, engine, model, site, waiting_max, waiting_mean, waiting_scrapes, running_max, \
                       running_mean, running_scrapes, kv_usage_max, preemptions, cache_hits, cache_queries, drafted, \
                       accepted";

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    fn row(minute: i64, waiting: Option<Level>) -> EngineMinute {
        let figures = MinuteFigures { waiting, preemptions: Some(2.0), ..MinuteFigures::default() };
        EngineMinute { minute, engine: "gpu-1:8000".into(), model: "m".into(), site: None, figures }
    }

    #[test]
    fn a_minute_is_read_as_it_was_last_written() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection, Path::new("memory")).unwrap();
        let level = Level { max: 3.0, mean: 1.5, scrapes: 2 };
        put(&mut connection, &[row(1, None), row(2, None), row(3, None)]).unwrap();
        put(&mut connection, &[row(2, Some(level))]).unwrap();
        drop_before(&connection, 2).unwrap();
        let mut read = Vec::new();
        each(&connection, (0, 3), |row| read.push(row)).unwrap();
        assert_eq!(read, [row(2, Some(level))]);
    }
}
