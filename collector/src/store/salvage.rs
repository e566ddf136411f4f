//! Reads what is left of a damaged SQLite file, and adds it to the new store that `llm-rum repair` makes.
//!
//! Minutes and sealed hours are all that a new store cannot count again from the journal and the files of streams. A
//! sealed hour becomes the first minute of its hour: the collector builds the rollups from it, and seals it again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use serde::Serialize;

use super::dimension_columns::{self, insert_into, with_series};
use super::rollups::key::GroupByMask;
use super::{dedup_log, reader, rollups, schema};
use crate::aggregate::cumulative_stats::CumulativeStats;
use crate::aggregate::dimension::{Dimension, columns};
use crate::aggregate::series::{Series, SeriesId};
use crate::aggregate::window_stats::WindowStats;
use crate::store::error::StoreError;
use crate::time::{HOUR_MINUTES, MINUTE_MS, rfc3339};

/// What a damaged file still had.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Salvaged {
    /// Minutes of a series that the new store did not have, or had with fewer streams.
    windows: u64,
    /// Hours whose minutes are deleted, or cannot be read.
    hours: u64,
    samples: u64,
    markers: u64,
    engine_minutes: u64,
    /// Tables of which a part cannot be read.
    unreadable: Vec<UnreadablePart>,
}

/// A part of a table that cannot be read.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct UnreadablePart {
    table: &'static str,
    /// The times before and after it. `None` if the table has none, or it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

impl Salvaged {
    /// Whether all of the file could be read.
    pub(crate) const fn is_complete(&self) -> bool {
        self.unreadable.is_empty()
    }
}

/// Whether a collector can work with the file.
///
/// # Errors
/// If another version wrote a damaged file.
pub(crate) fn is_whole(file: &Path) -> Result<bool, StoreError> {
    let Ok(connection) = reader::open(file) else { return Ok(false) };
    let found = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap_or(0);
    let is_whole = is_intact(&connection).unwrap_or(false);
    // 0 is the version of a file without tables.
    if !is_whole && found != 0 && found != schema::VERSION {
        return Err(StoreError::OtherVersion { found, known: schema::VERSION });
    }
    Ok(is_whole)
}

/// SQLite has no checksums: bytes that it takes for a window may be none.
fn is_intact(connection: &Connection) -> Result<bool, StoreError> {
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Ok(false);
    }
    let all = |table: &str, column: &str, is_valid: fn(&[u8]) -> bool| {
        let mut statement = connection.prepare(&format!("SELECT {column} FROM {table}"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if !row.get_ref(0)?.as_blob().is_ok_and(is_valid) {
                return Ok::<_, StoreError>(false);
            }
        }
        Ok(true)
    };
    let is_window: fn(&[u8]) -> bool = |bytes| WindowStats::decode(bytes).is_ok();
    Ok(all("windows", "stats", is_window)?
        && all("sums", "stats", is_window)?
        && all("totals", "total", |bytes| CumulativeStats::decode(bytes).is_ok())?
        && all("remembered", "revisions", |bytes| dedup_log::decode(bytes, &mut BTreeMap::new()).is_ok())?)
}

/// Adds what the file `damaged` has beyond the store, whose oldest stream arrived at `oldest_ms`. No process may be
/// using either.
pub(crate) fn add_history(
    damaged: &Path,
    store: &Path,
    oldest_ms: Option<i64>,
) -> Result<Salvaged, StoreError> {
    let mut salvaged = Salvaged::default();
    let mut store = Connection::open(store)?;
    let transaction = store.transaction()?;
    match reader::open(damaged) {
        Ok(damaged) => {
            let numbers = SeriesNumbers::load(&transaction)?;
            History { damaged: &damaged, store: &transaction, numbers, found: &mut salvaged }.add()?;
        }
        Err(_) => salvaged.unreadable.push(UnreadablePart { table: "all", from: None, to: None }),
    }
    // Earlier streams are in windows alone.
    let retire = "UPDATE retired_row_files SET until_ms = max(until_ms, ?1)";
    transaction.execute(retire, [oldest_ms.map_or(0, |oldest_ms| oldest_ms - 1)])?;
    transaction.commit()?;
    Ok(salvaged)
}

struct History<'a> {
    damaged: &'a Connection,
    store: &'a Connection,
    numbers: SeriesNumbers,
    found: &'a mut Salvaged,
}

impl History<'_> {
    fn add(mut self) -> Result<(), StoreError> {
        let series = self.series()?;
        self.windows(&series)?;
        self.hours()?;
        self.samples(&series)?;
        self.found.markers = self.copy("markers", "number")?;
        self.found.engine_minutes = self.copy("engine_minutes", "minute")?;
        // The next start completes a deletion that was interrupted.
        self.copy("deletions", "rowid")?;
        Ok(())
    }

    /// The number in the new store of each series in the damaged file.
    fn series(&mut self) -> Result<HashMap<SeriesId, SeriesId>, StoreError> {
        let mut found = HashMap::new();
        for (series, used_day, id) in self.named("series", "used_day")? {
            found.insert(id as SeriesId, self.numbers.of(self.store, series, used_day)?);
        }
        Ok(found)
    }

    /// The rows of `series` or `labels`: their values, another column, and their number. The index has the values too.
    fn named(&mut self, table: &'static str, other: &str) -> Result<Vec<(Series, i64, i64)>, StoreError> {
        let values = columns(Dimension::all());
        let mut all = HashMap::new();
        let is_whole = self.each_readable(table, &["id"], &format!("id, {other}, {values}"), |row| {
            all.insert(row.get::<_, i64>(0)?, (dimension_columns::series(row, 2)?, row.get(1)?));
            Ok(true)
        })?;
        if !is_whole {
            let index = format!("{table} INDEXED BY {table}_by_values");
            let (other, key) = if table == "labels" { ("kept", "kept, ") } else { ("0", "") };
            let order = format!("{key}{values}");
            let order: Vec<_> = order.split(", ").collect();
            read_both_ways(self.damaged, &index, &order, &format!("id, {other}, {values}"), |row| {
                let named = (dimension_columns::series(row, 2)?, row.get(1)?);
                all.entry(row.get::<_, i64>(0)?).or_insert(named);
                Ok(true)
            })?;
        }
        Ok(all.into_iter().map(|(id, (series, other))| (series, other, id)).collect())
    }

    fn windows(&mut self, numbers: &HashMap<SeriesId, SeriesId>) -> Result<(), StoreError> {
        let (store, mut added) = (self.store, 0);
        self.each_readable("windows", &["minute", "series"], "minute, series, stats", |row| {
            let Some(series) = numbers.get(&row.get(1)?) else { return Ok(false) };
            let Some(stats) = stats_of(row, 2) else { return Ok(false) };
            added += u64::from(put_larger(store, row.get(0)?, *series, &stats)?);
            Ok(true)
        })?;
        self.found.windows = added;
        Ok(())
    }

    /// Adds the hours that have more streams than their minutes.
    fn hours(&mut self) -> Result<(), StoreError> {
        let all = i64::from(GroupByMask::all().bits());
        let labels = self.named("labels", "kept")?.into_iter();
        let labels: HashMap<i64, Series> =
            labels.filter(|(_, kept, _)| *kept == all).map(|(series, _, id)| (id, series)).collect();
        let mut stale = HashSet::new();
        self.each_readable("spans", &["length", "start"], "start, length, changes - summed", |row| {
            if row.get::<_, i64>(1)? == HOUR_MINUTES && row.get::<_, i64>(2)? != 0 {
                stale.insert(row.get::<_, i64>(0)?);
            }
            Ok(true)
        })?;
        let columns = "labels, length, start, stats";
        let key = ["labels", "length", "start"];
        let mut streams: BTreeMap<i64, u64> = BTreeMap::new();
        let hour_of = |row: &Row<'_>| {
            let is_hour = row.get::<_, i64>(1)? == HOUR_MINUTES && labels.contains_key(&row.get(0)?);
            Ok::<_, StoreError>(if is_hour { Some(row.get::<_, i64>(2)?) } else { None })
        };
        self.each_readable("sums", &key, columns, |row| {
            let Some(hour) = hour_of(row)? else { return Ok(true) };
            let Some(stats) = stats_of(row, 3) else { return Ok(false) };
            *streams.entry(hour).or_default() += stats.streams();
            Ok(true)
        })?;
        for (hour, of_hour) in streams.clone() {
            let of_minutes = streams_of_minutes(self.store, hour)?;
            if of_hour > of_minutes && !(stale.contains(&hour) && of_minutes > 0) {
                let delete = "DELETE FROM windows WHERE minute >= ?1 AND minute < ?2";
                self.store.execute(delete, [hour, hour + HOUR_MINUTES])?;
            } else {
                streams.remove(&hour);
            }
        }
        let (store, numbers) = (self.store, &mut self.numbers);
        read_both_ways(self.damaged, "sums", &key, columns, |row| {
            let Some(hour) = hour_of(row)?.filter(|hour| streams.contains_key(hour)) else { return Ok(true) };
            let (Some(stats), label) = (stats_of(row, 3), row.get::<_, i64>(0)?) else { return Ok(true) };
            let series = numbers.of(store, labels[&label].clone(), hour / (24 * HOUR_MINUTES))?;
            put_larger(store, hour, series, &stats)?;
            Ok(true)
        })?;
        self.found.hours = streams.len() as u64;
        Ok(())
    }

    /// Adds the samples of days of which the store has none.
    fn samples(&mut self, numbers: &HashMap<SeriesId, SeriesId>) -> Result<(), StoreError> {
        let store = self.store;
        let mut days = store.prepare("SELECT DISTINCT day FROM samples")?;
        let days: HashSet<i64> = days.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let columns = "day, series, stream, kinds, outcome, waited_ms, received_ms, report";
        let mut added = 0;
        self.each_readable("samples", &["rowid"], columns, |row| {
            let Some(series) = numbers.get(&row.get(1)?) else { return Ok(false) };
            if days.contains(&row.get(0)?) {
                return Ok(true);
            }
            let mut values = values_of(row)?;
            values[1] = Value::Integer((*series).into());
            added += insert(store, "samples", columns, &values)?;
            Ok(true)
        })?;
        self.found.samples = added;
        Ok(())
    }

    /// Copies a table as it is.
    fn copy(&mut self, table: &'static str, key: &str) -> Result<u64, StoreError> {
        let store = self.store;
        let mut columns = store.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let columns = columns.query_map([table], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        let columns = columns.join(", ");
        let mut added = 0;
        self.each_readable(table, &[key], &columns, |row| {
            added += insert(store, table, &columns, &values_of(row)?)?;
            Ok(true)
        })?;
        Ok(added)
    }

    /// Reads a table as far as it can be read. `each` returns `false` for a row that it cannot use. Such a row, and a
    /// part that cannot be read, are noted. Returns whether there was none.
    fn each_readable(
        &mut self,
        table: &'static str,
        key: &[&str],
        columns: &str,
        each: impl FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        let ReadRows { gap, all_usable } = read_both_ways(self.damaged, table, key, columns, each)?;
        if gap.is_none() && all_usable {
            return Ok(true);
        }
        // These tables begin with a minute.
        let is_timed = matches!(table, "windows" | "engine_minutes");
        let time = |minute: Option<i64>| minute.filter(|_| is_timed).map(|at| rfc3339(at * MINUTE_MS));
        let Gap { from, to } = gap.unwrap_or_default();
        self.found.unreadable.push(UnreadablePart { table, from: time(from), to: time(to) });
        Ok(false)
    }
}

/// The numbers of the series in the new store.
struct SeriesNumbers {
    known: HashMap<Series, SeriesId>,
    next: SeriesId,
}

impl SeriesNumbers {
    fn load(store: &Connection) -> Result<Self, StoreError> {
        let mut statement =
            store.prepare(&format!("SELECT id, {} FROM series", columns(Dimension::all())))?;
        let rows = statement.query_map([], |row| Ok((dimension_columns::series(row, 1)?, row.get(0)?)))?;
        let known: HashMap<Series, SeriesId> = rows.collect::<Result<_, _>>()?;
        let next = known.values().max().map_or(0, |last| last + 1);
        Ok(Self { known, next })
    }

    /// The number of a series, which is added if the store does not have it.
    fn of(&mut self, store: &Connection, series: Series, used_day: i64) -> Result<SeriesId, StoreError> {
        if let Some(id) = self.known.get(&series) {
            return Ok(*id);
        }
        let id = self.next;
        self.next += 1;
        store.prepare_cached(&insert_into("series", "id"))?.execute(with_series(&id, &series))?;
        store
            .prepare_cached("UPDATE series SET used_day = ?2 WHERE id = ?1")?
            .execute(params![id, used_day])?;
        self.known.insert(series, id);
        Ok(id)
    }
}

/// What came of reading a table.
struct ReadRows {
    /// `None` if all rows could be read.
    gap: Option<Gap>,
    /// Each row that could be read has values of its columns.
    all_usable: bool,
}

/// The first column of the rows before and after a part that cannot be read.
#[derive(Default)]
struct Gap {
    from: Option<i64>,
    to: Option<i64>,
}

/// Calls `each` with the rows from the begin of a table to the first damage, and from its end back to the last. A row
/// may come twice. `each` returns `false`, or an error of a column, for a row that is not usable.
fn read_both_ways(
    damaged: &Connection,
    table: &str,
    key: &[&str],
    columns: &str,
    mut each: impl FnMut(&Row<'_>) -> Result<bool, StoreError>,
) -> Result<ReadRows, StoreError> {
    let (mut gap, mut all_usable) = (Gap::default(), true);
    for (direction, edge) in [("", &mut gap.from), (" DESC", &mut gap.to)] {
        let mut query = format!("SELECT {columns} FROM {table} ORDER BY ");
        for (at, column) in key.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(query, "{comma}{column}{direction}").expect("a string takes what is written to it");
        }
        let Ok(mut statement) = damaged.prepare(&query) else { continue };
        let Ok(mut rows) = statement.query([]) else { continue };
        loop {
            match rows.next() {
                Ok(Some(row)) => {
                    all_usable &= match each(row) {
                        // Of the new store.
                        Err(StoreError::Sqlite(error @ rusqlite::Error::SqliteFailure(..))) => {
                            return Err(error.into());
                        }
                        Err(StoreError::Sqlite(_)) => false,
                        usable => usable?,
                    };
                    *edge = row.get(0).ok().or(*edge);
                }
                Ok(None) => return Ok(ReadRows { gap: None, all_usable }),
                Err(_) => break,
            }
        }
    }
    Ok(ReadRows { gap: Some(gap), all_usable })
}

/// `None` if the column has no statistics.
fn stats_of(row: &Row<'_>, column: usize) -> Option<WindowStats> {
    WindowStats::decode(row.get_ref(column).ok()?.as_blob().ok()?).ok()
}

/// Replaces the window of a series, unless the store has as many streams in it. Both count the same streams.
fn put_larger(
    store: &Connection,
    minute: i64,
    series: SeriesId,
    stats: &WindowStats,
) -> Result<bool, StoreError> {
    let mut held = store.prepare_cached("SELECT stats FROM windows WHERE minute = ?1 AND series = ?2")?;
    let held = held.query_row([minute, series.into()], |row| Ok(stats_of(row, 0))).optional()?.flatten();
    if held.is_some_and(|held| held.streams() >= stats.streams()) {
        return Ok(false);
    }
    rollups::touch(store, minute)?;
    store
        .prepare_cached("INSERT OR REPLACE INTO windows (minute, series, stats) VALUES (?1, ?2, ?3)")?
        .execute(params![minute, series, stats.encode()])?;
    Ok(true)
}

fn streams_of_minutes(store: &Connection, hour: i64) -> Result<u64, StoreError> {
    let mut statement =
        store.prepare_cached("SELECT stats FROM windows WHERE minute >= ?1 AND minute < ?2")?;
    let streams = statement.query_map([hour, hour + HOUR_MINUTES], |row| {
        Ok(stats_of(row, 0).map_or(0, |stats| stats.streams()))
    })?;
    Ok(streams.sum::<Result<u64, _>>()?)
}

fn values_of(row: &Row<'_>) -> rusqlite::Result<Vec<Value>> {
    (0..row.as_ref().column_count()).map(|at| row.get(at)).collect()
}

/// Returns how many rows were added: none if the table has the row already, or does not allow it.
fn insert(store: &Connection, table: &str, columns: &str, values: &[Value]) -> rusqlite::Result<u64> {
    let places: Vec<_> = (1..=values.len()).map(|at| format!("?{at}")).collect();
    let insert = format!("INSERT OR IGNORE INTO {table} ({columns}) VALUES ({})", places.join(", "));
    Ok(store.prepare_cached(&insert)?.execute(params_from_iter(values))? as u64)
}

#[cfg(test)]
mod tests {
    use beacon::StreamReport;

    use super::*;
    use crate::aggregate::judgement::Judgement;

    const HOUR: i64 = 600;

    fn stats(streams: u32) -> WindowStats {
        let mut stats = WindowStats::default();
        (0..streams).for_each(|_| stats.add(&StreamReport::new("0"), Judgement::WITHIN_SLO));
        stats
    }

    fn series(model: &str) -> Series {
        let mut series = Series::new([const { String::new() }; Dimension::COUNT]);
        series[Dimension::Site] = "shop".to_owned();
        series[Dimension::Model] = model.to_owned();
        series
    }

    fn store(path: &Path, numbers: &[(SeriesId, &str)]) -> Connection {
        let mut connection = Connection::open(path).unwrap();
        schema::migrate(&mut connection, path).unwrap();
        for (id, model) in numbers {
            connection.execute(&insert_into("series", "id"), with_series(id, &series(model))).unwrap();
        }
        connection
    }

    /// A sealed hour with one sum for each model.
    fn seal(connection: &Connection, models: &[(&str, u32)]) {
        let span = "INSERT INTO spans (length, start, changes, summed, frozen) VALUES (60, ?1, 1, 1, 1)";
        connection.execute(span, [HOUR]).unwrap();
        for (model, streams) in models {
            let all = GroupByMask::all().bits();
            connection.execute(&insert_into("labels", "kept"), with_series(&all, &series(model))).unwrap();
            let sum = "INSERT INTO sums VALUES (last_insert_rowid(), 60, ?1, ?2)";
            connection.execute(sum, params![HOUR, stats(*streams).encode()]).unwrap();
        }
    }

    /// Streams by minute and model.
    fn windows(path: &Path) -> Vec<(i64, String, u64)> {
        let connection = Connection::open(path).unwrap();
        let query = "SELECT minute, model, stats FROM windows JOIN series ON id = series ORDER BY 1, 2";
        let mut statement = connection.prepare(query).unwrap();
        let rows = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, stats_of(row, 2).unwrap().streams())))
            .unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_sealed_hour_becomes_a_minute_under_the_same_names() {
        let folder = tempfile::tempdir().unwrap();
        let (damaged, new) = (folder.path().join("damaged"), folder.path().join("new"));
        seal(&store(&damaged, &[(0, "m1"), (1, "m2")]), &[("m1", 2), ("m2", 3)]);
        store(&new, &[(0, "m2")]);
        let salvaged = add_history(&damaged, &new, None).unwrap();
        assert_eq!((salvaged.hours, salvaged.is_complete()), (1, true), "{salvaged:?}");
        assert_eq!(windows(&new), [(HOUR, "m1".to_owned(), 2), (HOUR, "m2".to_owned(), 3)]);
    }

    #[test]
    fn what_the_new_store_has_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let (damaged, new) = (folder.path().join("damaged"), folder.path().join("new"));
        let of_damaged = store(&damaged, &[(7, "m1")]);
        seal(&of_damaged, &[("m1", 5)]);
        let later = HOUR + 2 * HOUR_MINUTES;
        for (minute, streams) in [(later, 4), (later + 1, 2)] {
            put_larger(&of_damaged, minute, 7, &stats(streams)).unwrap();
        }
        let of_new = store(&new, &[(0, "m1")]);
        for (minute, streams) in [(HOUR + 3, 5), (later, 3), (later + 1, 3)] {
            put_larger(&of_new, minute, 0, &stats(streams)).unwrap();
        }
        drop(of_new);
        for _ in 0..2 {
            add_history(&damaged, &new, None).unwrap();
            let expected = [(HOUR + 3, 5), (later, 4), (later + 1, 3)];
            assert_eq!(windows(&new), expected.map(|(minute, streams)| (minute, "m1".to_owned(), streams)));
        }
    }

    #[test]
    fn names_are_read_from_the_index_if_the_table_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let (damaged, new) = (folder.path().join("damaged"), folder.path().join("new"));
        let of_damaged = store(&damaged, &[(7, "m1")]);
        put_larger(&of_damaged, HOUR, 7, &stats(4)).unwrap();
        let number =
            |pragma| of_damaged.pragma_query_value(None, pragma, |row| row.get::<_, u32>(0)).unwrap();
        let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'series'";
        let root: u32 = of_damaged.query_row(root, [], |row| row.get(0)).unwrap();
        let page_bytes = number("page_size");
        drop(of_damaged);
        let file = std::fs::File::options().write(true).open(&damaged).unwrap();
        let zeros = vec![0; page_bytes as usize];
        std::os::unix::fs::FileExt::write_all_at(&file, &zeros, u64::from((root - 1) * page_bytes)).unwrap();
        store(&new, &[]);
        let salvaged = add_history(&damaged, &new, None).unwrap();
        assert_eq!(windows(&new), [(HOUR, "m1".to_owned(), 4)], "{salvaged:?}");
        assert_eq!(salvaged.unreadable.len(), 1, "{salvaged:?}");
    }
}
