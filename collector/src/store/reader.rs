//! Reads windows, counters and cumulative statistics from SQLite. A read sees the last transaction, about a
//! second old, and never waits for the writer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::dimension_columns::{in_filter, series, with_filter};
use super::range_cover::range_cover;
use crate::aggregate::blob_encoding::UnreadableBlob;
use crate::aggregate::cumulative_stats::CumulativeStats;
use crate::aggregate::dimension::{Dimension, columns};
use crate::aggregate::internal_metrics::{CountKey, Counts, Kind};
use crate::aggregate::metric::Metric;
use crate::aggregate::operation::Operation;
use crate::aggregate::series::Series;
use crate::aggregate::window_stats::WindowStats;
use crate::store::error::StoreError;
use crate::store::query::{IngestTotals, MetricsSnapshot, SeriesSnapshot, SeriesTotal, WindowsQuery};
use crate::store::rollups::key::GroupByMask;

/// Opens a read-only connection.
pub(crate) fn open(file: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(Duration::from_secs(1))?;
    connection.pragma_update(None, "cache_size", -8_192)?;
    Ok(connection)
}

/// Calls `each` with the windows that cover the range: the first minute of each, and its values of the dimensions.
pub(crate) fn windows<const N: usize>(
    connection: &Connection,
    WindowsQuery { filter, minutes, longest, metrics }: &WindowsQuery<'_>,
    by: [Dimension; N],
    mut each: impl FnMut(i64, [&str; N], &WindowStats),
) -> Result<(), StoreError> {
    // One snapshot, because the rollup thread completes hours and deletes minutes concurrently.
    let snapshot = connection.unchecked_transaction()?;
    let values: String = by.iter().map(|dimension| format!(", {}", dimension.name())).collect();
    let in_filter = in_filter(4, filter);
    let minutes_of = format!(
        "SELECT minute, stats{values} FROM windows CROSS JOIN series ON series.id = windows.series
         WHERE ?1 IS NOT NULL AND ?2 = 1 AND minute >= ?3 AND minute < ?4 AND {in_filter}"
    );
    let sums_of = format!(
        "SELECT start, stats{values} FROM labels CROSS JOIN sums ON sums.labels = labels.id
         WHERE kept = ?1 AND length = ?2 AND start >= ?3 AND start < ?4 AND {in_filter}"
    );
    let mask = GroupByMask::of(filter, &by);
    for piece in range_cover(&snapshot, *minutes, *longest)? {
        let query = if piece.length == 1 { &minutes_of } else { &sums_of };
        let mut statement = snapshot.prepare_cached(query)?;
        let mask = mask.in_file(piece.window_only).bits();
        let mut rows =
            statement.query(with_filter(&[&mask, &piece.length, &piece.from, &piece.to], filter))?;
        while let Some(row) = rows.next()? {
            let stats =
                WindowStats::decode_only(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?, metrics)?;
            let mut values = [""; N];
            for (at, value) in values.iter_mut().enumerate() {
                *value = row.get_ref(at + 2)?.as_str().map_err(rusqlite::Error::from)?;
            }
            each(row.get(0)?, values, &stats);
        }
    }
    Ok(())
}

/// Position in the journal up to which everything is counted.
pub(super) fn counted_up_to(connection: &Connection) -> Result<i64, StoreError> {
    let mut statement = connection.prepare_cached("SELECT applied FROM journal")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// All counters since the store was created.
pub(crate) fn counts(connection: &Connection) -> Result<Counts, StoreError> {
    let mut statement = connection.prepare_cached("SELECT kind, site, word, n FROM counts")?;
    let rows = statement.query_map([], |row| {
        let kind: String = row.get(0)?;
        let kind = Kind::ALL.into_iter().find(|known| known.as_str() == kind);
        Ok((kind, row.get(1)?, row.get(2)?, row.get::<_, i64>(3)?.cast_unsigned()))
    })?;
    let mut counts = BTreeMap::new();
    for row in rows {
        let (kind, site, word, n) = row?;
        // Skips kinds that only a later version knows.
        if let Some(kind) = kind {
            counts.insert(CountKey { kind, site, word }, n);
        }
    }
    Ok(Counts::new(counts))
}

/// Counters and the number of finalized streams, from one snapshot.
pub(super) fn ingest_totals(connection: &Connection) -> Result<IngestTotals, StoreError> {
    let transaction = connection.unchecked_transaction()?;
    let mut counted = 0;
    each_total(&transaction, i64::MIN, |_| true, |SeriesTotal { total, .. }| counted += total.requests())?;
    Ok(IngestTotals { counts: counts(&transaction)?, counted })
}

/// All data for the Prometheus endpoint: of the `most_series` with the most streams. `from` is the first minute that
/// counts for the mean time per output token.
pub(crate) fn snapshot(
    connection: &Connection,
    from: i64,
    used_since: i64,
    most_series: usize,
) -> Result<MetricsSnapshot, StoreError> {
    let connection = &connection.unchecked_transaction()?;
    let means = mean_tpots(connection, from)?;
    let least_used = least_used(connection, used_since, most_series)?;
    let mut series: Vec<SeriesSnapshot> = Vec::new();
    let is_shown = |series: &Series| !least_used.contains(&series.labels_only());
    each_total(connection, used_since, is_shown, |SeriesTotal { series: found, total, .. }| {
        let labels = found.labels_only();
        match series.last_mut() {
            // Statistics by response model and operation follow each other.
            Some(last) if last.series == labels => last.total.merge(&total),
            _ => series.push(SeriesSnapshot {
                mean_tpot_ms: means.get(&labels).copied(),
                series: labels,
                total,
            }),
        }
    })?;
    Ok(MetricsSnapshot { series, omitted: least_used.len(), counts: counts(connection)? })
}

/// Labels beyond the `most` with the most streams. They are found without holding the statistics of all: those of
/// thousands of series can take more memory than a collector has.
fn least_used(connection: &Connection, used_since: i64, most: usize) -> Result<HashSet<Series>, StoreError> {
    let count = "SELECT count(*) FROM series WHERE used_day >= ?1";
    let all: i64 = connection.prepare_cached(count)?.query_row([used_since], |row| row.get(0))?;
    if usize::try_from(all).is_ok_and(|all| all <= most) {
        return Ok(HashSet::new());
    }
    let mut requests: BTreeMap<Series, u64> = BTreeMap::new();
    each_total(
        connection,
        used_since,
        |_| true,
        |SeriesTotal { series, total, .. }| {
            *requests.entry(series.labels_only()).or_default() += total.requests();
        },
    )?;
    let mut by_requests: Vec<_> = requests.into_iter().collect();
    by_requests.sort_by_key(|(_, requests)| Reverse(*requests));
    Ok(by_requests.into_iter().skip(most).map(|(series, _)| series).collect())
}

/// All cumulative statistics, by response model and operation as far as they are split.
pub(crate) fn totals(connection: &Connection) -> Result<Vec<SeriesTotal>, StoreError> {
    let mut totals = Vec::new();
    each_total(connection, i64::MIN, |_| true, |total| totals.push(total))?;
    Ok(totals)
}

/// Calls `each` with the wanted statistics of series in use since a day, one after the other.
fn each_total(
    connection: &Connection,
    used_since: i64,
    is_wanted: impl Fn(&Series) -> bool,
    mut each: impl FnMut(SeriesTotal),
) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT operation, total, {} FROM totals JOIN series ON series.id = totals.series
         WHERE used_day >= ?1 ORDER BY {}",
        columns(Dimension::all()),
        columns(Dimension::labels())
    ))?;
    let mut rows = statement.query([used_since])?;
    while let Some(row) = rows.next()? {
        let series = series(row, 2)?;
        if !is_wanted(&series) {
            continue;
        }
        let total = CumulativeStats::decode(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
        let operation = Operation::of_stored(row.get(0)?).ok_or(UnreadableBlob)?;
        each(SeriesTotal { series, operation, total });
    }
    Ok(())
}

/// Mean time per output token, by labels.
fn mean_tpots(connection: &Connection, from: i64) -> Result<HashMap<Series, f64>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT stats, {} FROM windows JOIN series ON series.id = windows.series WHERE minute >= ?1",
        columns(Dimension::all())
    ))?;
    let mut rows = statement.query([from])?;
    let mut sums: HashMap<Series, (f64, u64)> = HashMap::new();
    while let Some(row) = rows.next()? {
        let stats = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
        let stats = WindowStats::decode_only(stats, &[Metric::Tpot])?;
        let tpot = stats.histogram(Metric::Tpot);
        let (sum, count) = sums.entry(series(row, 1)?.labels_only()).or_default();
        *sum += tpot.sum();
        *count += tpot.count();
    }
    let known = sums.into_iter().filter(|(_, (_, count))| *count > 0);
    Ok(known.map(|(series, (sum, count))| (series, sum / count as f64)).collect())
}
