//! The connections that read: filters and time ranges come in, tallies and stored reports go out.
//! They see what the last transaction left, about a second behind, and never wait for the writer.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, named_params};
use tokio::sync::Semaphore;

use super::sqlite::{FILE, load_counts};
use super::{StoreError, StreamId};
use crate::counts::Counts;
use crate::series::{Series, SeriesId};
use crate::tally::{Metric, Tally};
use crate::totals::Total;

/// A small pool of reading connections.
pub(crate) struct Reader {
    file: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

/// Which series a query is about. `None` is all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) site: Option<String>,
    pub(crate) use_case: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
}

/// Which stored reports are asked for.
pub(crate) struct StreamsAsked {
    pub(crate) filter: Filter,
    pub(crate) outcome: Option<&'static str>,
    /// Latest revision arrived from the first up to, not including, the second.
    pub(crate) received_ms: (i64, i64),
    /// Cursor of the page before.
    pub(crate) before: i64,
    pub(crate) limit: usize,
}

/// One stored report.
pub(crate) struct StoredStream {
    pub(crate) json: String,
    pub(crate) received_ms: i64,
}

/// Some stored reports, newest first, and where the next ones begin.
pub(crate) struct Page {
    pub(crate) streams: Vec<StoredStream>,
    pub(crate) next: Option<i64>,
}

/// Everything that Prometheus is told.
pub(crate) struct Snapshot {
    pub(crate) series: Vec<SeriesSnapshot>,
    pub(crate) counts: Counts,
}

/// What Prometheus is told of one series.
pub(crate) struct SeriesSnapshot {
    pub(crate) series: Series,
    pub(crate) total: Total,
    /// Mean time per output token of the newest windows. `None` when none of their streams had one.
    pub(crate) mean_tpot_ms: Option<f64>,
}

impl Reader {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            file: folder.join(FILE),
            idle: Arc::default(),
            permits: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
        }
    }

    /// Runs a query on a thread where it may block.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = self.permits.clone().acquire_owned().await.expect("the semaphore is never closed");
        let (file, idle) = (self.file.clone(), self.idle.clone());
        let answer = tokio::task::spawn_blocking(move || {
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = kept.map_or_else(|| open(&file), Ok)?;
            let answer = query(&connection);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            drop(permit);
            answer
        });
        answer.await.expect("a query neither panics nor is cancelled")
    }
}

fn open(file: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(Duration::from_secs(1))?;
    connection.pragma_update(None, "cache_size", -8_192)?;
    Ok(connection)
}

/// Hands out every window of `filter` from minute `from` up to, not including, `to`.
pub(crate) fn windows(
    connection: &Connection,
    filter: &Filter,
    (from, to): (i64, i64),
    mut each: impl FnMut(i64, &Tally),
) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT minute, tally FROM windows CROSS JOIN series ON series.id = windows.series
         WHERE minute >= :from AND minute < :to AND {IN_FILTER}"
    ))?;
    let mut rows = statement.query(named_params! {
        ":from": from, ":to": to,
        ":site": filter.site, ":use_case": filter.use_case,
        ":provider": filter.provider, ":model": filter.model,
    })?;
    while let Some(row) = rows.next()? {
        let tally = Tally::decode(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
        each(row.get(0)?, &tally);
    }
    Ok(())
}

/// How many streams of `filter` have neither ended nor been settled.
pub(crate) fn open_streams(connection: &Connection, filter: &Filter) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT count(*) FROM streams INDEXED BY streams_open CROSS JOIN series ON series.id = streams.series
         WHERE minute IS NULL AND {IN_FILTER}"
    ))?;
    let count: i64 = statement.query_row(
        named_params! {
            ":site": filter.site, ":use_case": filter.use_case,
            ":provider": filter.provider, ":model": filter.model,
        },
        |row| row.get(0),
    )?;
    Ok(count.cast_unsigned())
}

/// Stored reports, newest first.
pub(crate) fn streams(connection: &Connection, asked: &StreamsAsked) -> Result<Page, StoreError> {
    let StreamsAsked { filter, outcome, received_ms, before, limit } = asked;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT reports.report, streams.received_ms, place
         FROM streams CROSS JOIN series ON series.id = streams.series
           CROSS JOIN reports ON reports.seq = streams.report
         WHERE place < :before AND streams.received_ms >= :from AND streams.received_ms < :to
           AND (:outcome IS NULL OR outcome = :outcome) AND {IN_FILTER}
         ORDER BY place DESC LIMIT :limit"
    ))?;
    let rows = statement.query_map(
        named_params! {
            ":before": before, ":from": received_ms.0, ":to": received_ms.1, ":outcome": outcome,
            ":limit": *limit as i64 + 1, ":site": filter.site, ":use_case": filter.use_case,
            ":provider": filter.provider, ":model": filter.model,
        },
        |row| Ok((stored_stream(row)?, row.get::<_, i64>(2)?)),
    )?;
    let mut found = rows.collect::<Result<Vec<_>, _>>()?;
    let more = found.len() > *limit;
    found.truncate(*limit);
    let next = found.last().filter(|_| more).map(|(_, place)| *place);
    Ok(Page { streams: found.into_iter().map(|(stream, _)| stream).collect(), next })
}

/// One stored report. Rows are narrow and few: looking through them takes milliseconds, and an index over
/// random ids would cost every flush more than all else it writes.
pub(crate) fn stream(connection: &Connection, id: StreamId) -> Result<Option<StoredStream>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT reports.report, streams.received_ms FROM streams JOIN reports ON reports.seq = streams.report
         WHERE streams.id = ?1 ORDER BY place DESC LIMIT 1",
    )?;
    Ok(statement.query_row([id.to_be_bytes()], stored_stream).optional()?)
}

/// All counts since ever.
pub(crate) fn counts(connection: &Connection) -> Result<Counts, StoreError> {
    load_counts(connection)
}

/// Everything that Prometheus is told; `from` is the first minute whose time per token still counts.
pub(crate) fn snapshot(connection: &Connection, from: i64) -> Result<Snapshot, StoreError> {
    let means = mean_tpots(connection, from)?;
    let mut statement = connection.prepare_cached(
        "SELECT site, use_case, provider, model, id, total
         FROM totals JOIN series ON series.id = totals.series ORDER BY site, use_case, provider, model",
    )?;
    let mut rows = statement.query([])?;
    let mut series = Vec::new();
    while let Some(row) = rows.next()? {
        series.push(SeriesSnapshot {
            series: Series {
                site: row.get(0)?,
                use_case: row.get(1)?,
                provider: row.get(2)?,
                model: row.get(3)?,
            },
            mean_tpot_ms: means.get(&row.get(4)?).copied(),
            total: Total::decode(row.get_ref(5)?.as_blob().map_err(rusqlite::Error::from)?)?,
        });
    }
    Ok(Snapshot { series, counts: counts(connection)? })
}

fn mean_tpots(connection: &Connection, from: i64) -> Result<HashMap<SeriesId, f64>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT series, tally FROM windows WHERE minute >= ?1")?;
    let mut rows = statement.query([from])?;
    let mut sums: HashMap<SeriesId, (f64, u64)> = HashMap::new();
    while let Some(row) = rows.next()? {
        let tally = Tally::decode(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
        let tpot = tally.histogram(Metric::Tpot);
        let (sum, count) = sums.entry(row.get(0)?).or_default();
        *sum += tpot.sum();
        *count += tpot.count();
    }
    let known = sums.into_iter().filter(|(_, (_, count))| *count > 0);
    Ok(known.map(|(series, (sum, count))| (series, sum / count as f64)).collect())
}

fn stored_stream(row: &Row<'_>) -> rusqlite::Result<StoredStream> {
    Ok(StoredStream { json: row.get(0)?, received_ms: row.get(1)? })
}

const IN_FILTER: &str = "(:site IS NULL OR site = :site) AND (:use_case IS NULL OR use_case = :use_case)
    AND (:provider IS NULL OR provider = :provider) AND (:model IS NULL OR model = :model)";

const MOST_CONNECTIONS: usize = 4;
