//! The tables of the SQLite file, and the migrations of older files.

use std::path::Path;

use rusqlite::{Connection, Transaction};

use crate::aggregate::dimension::{Dimension, UNKNOWN, columns};
use crate::store::error::StoreError;
use crate::store::rollups::key::GroupByMask;

/// Migrates the file to the schema of this version, one step after the other, and then adds new dimensions.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > VERSION {
        return Err(StoreError::Newer { found, known: VERSION });
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
    let transaction = connection.transaction()?;
    add_dimensions(&transaction)?;
    Ok(transaction.commit()?)
}

/// Adds the dimensions of windows only that the file lacks. Their value is unknown in all existing series.
fn add_dimensions(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut has = transaction.prepare("SELECT 1 FROM pragma_table_info('series') WHERE name = ?1")?;
    let mut missing = Vec::new();
    for dimension in Dimension::window_only() {
        if !has.exists([dimension.name()])? {
            missing.push(dimension);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    for dimension in missing {
        let (name, alone) = (dimension.name(), GroupByMask::bit(dimension).bits());
        transaction.execute_batch(&format!(
            "ALTER TABLE series ADD COLUMN {name} TEXT NOT NULL DEFAULT '{UNKNOWN}';
             ALTER TABLE labels ADD COLUMN {name} TEXT NOT NULL DEFAULT '';
             UPDATE labels SET {name} = '{UNKNOWN}' WHERE kept = {all};
             INSERT INTO labels (kept, site, {name})
                 SELECT {alone}, site, '{UNKNOWN}' FROM labels WHERE kept = {none};
             INSERT INTO sums SELECT new.id, length, start, stats
                 FROM labels AS old JOIN labels AS new ON new.kept = {alone} AND new.site = old.site
                 JOIN sums ON sums.labels = old.id WHERE old.kept = {none};",
            all = GroupByMask::all().bits(),
            none = GroupByMask::NONE.bits(),
        ))?;
    }
    let columns = columns(Dimension::all());
    transaction.execute_batch(&format!(
        "DROP INDEX series_by_values;
         DROP INDEX labels_by_values;
         CREATE UNIQUE INDEX series_by_values ON series ({columns});
         CREATE UNIQUE INDEX labels_by_values ON labels (kept, {columns});"
    ))
}

/// Number of the schema of this version.
pub(super) const VERSION: i64 = FIRST + LAYOUTS.len() as i64 - 1;

/// Number of the first schema in [`LAYOUTS`]. Earlier ones were never released.
const FIRST: i64 = 10;

/// Each entry migrates from the schema before it. Entries are added, never changed.
const LAYOUTS: [&str; 18] = [
    "
    CREATE TABLE journal (applied INTEGER NOT NULL, remembered_from INTEGER NOT NULL);
    INSERT INTO journal VALUES (0, 0);
    CREATE TABLE series (
        id INTEGER PRIMARY KEY, site TEXT NOT NULL, use_case TEXT NOT NULL, provider TEXT NOT NULL,
        model TEXT NOT NULL, UNIQUE (site, use_case, provider, model));
    CREATE TABLE windows (
        minute INTEGER NOT NULL, series INTEGER NOT NULL, stats BLOB NOT NULL,
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
        labels INTEGER NOT NULL, length INTEGER NOT NULL, start INTEGER NOT NULL, stats BLOB NOT NULL,
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
    // Existing series get an unknown country. Mask 7 now also groups by country, and mask 8 groups by country
    // alone: see `GroupByMask`.
    "
    ALTER TABLE series RENAME TO series_before;
    CREATE TABLE series (
        id INTEGER PRIMARY KEY, site TEXT NOT NULL, use_case TEXT NOT NULL, provider TEXT NOT NULL,
        model TEXT NOT NULL, country TEXT NOT NULL, UNIQUE (site, use_case, provider, model, country));
    INSERT INTO series SELECT id, site, use_case, provider, model, 'unknown' FROM series_before;
    DROP TABLE series_before;
    ALTER TABLE labels RENAME TO labels_before;
    CREATE TABLE labels (
        id INTEGER PRIMARY KEY, kept INTEGER NOT NULL, site TEXT NOT NULL, use_case TEXT NOT NULL,
        provider TEXT NOT NULL, model TEXT NOT NULL, country TEXT NOT NULL,
        UNIQUE (kept, site, use_case, provider, model, country));
    INSERT INTO labels
        SELECT id, kept, site, use_case, provider, model, CASE kept WHEN 7 THEN 'unknown' ELSE '' END
        FROM labels_before;
    DROP TABLE labels_before;
    INSERT INTO labels (kept, site, use_case, provider, model, country)
        SELECT 8, site, '', '', '', 'unknown' FROM labels WHERE kept = 0;
    INSERT INTO sums
        SELECT countries.id, length, start, stats
        FROM labels AS site JOIN labels AS countries ON countries.kept = 8 AND countries.site = site.site
        JOIN sums ON labels = site.id WHERE site.kept = 0;
",
    // Existing rollups group by country only alone or with all labels: see `GroupByMask::pairs`.
    "
    ALTER TABLE spans ADD COLUMN countries INTEGER NOT NULL DEFAULT 0;
",
    // Last minute of the wall clock, and the minutes without deletions that remain: see `ClockJumpGuard`.
    "
    CREATE TABLE clock (minute INTEGER, held INTEGER NOT NULL);
    INSERT INTO clock SELECT max(minute), 0 FROM windows;
",
    // Unique indexes replace the constraints, which could not follow the dimensions. 8 is the bit of the country.
    "
    ALTER TABLE series RENAME TO series_before;
    CREATE TABLE series (
        id INTEGER PRIMARY KEY, site TEXT NOT NULL, use_case TEXT NOT NULL, provider TEXT NOT NULL,
        model TEXT NOT NULL, country TEXT NOT NULL);
    INSERT INTO series SELECT * FROM series_before;
    DROP TABLE series_before;
    CREATE UNIQUE INDEX series_by_values ON series (site, use_case, provider, model, country);
    ALTER TABLE labels RENAME TO labels_before;
    CREATE TABLE labels (
        id INTEGER PRIMARY KEY, kept INTEGER NOT NULL, site TEXT NOT NULL, use_case TEXT NOT NULL DEFAULT '',
        provider TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '', country TEXT NOT NULL DEFAULT '');
    INSERT INTO labels SELECT * FROM labels_before;
    DROP TABLE labels_before;
    CREATE UNIQUE INDEX labels_by_values ON labels (kept, site, use_case, provider, model, country);
    ALTER TABLE spans RENAME COLUMN countries TO window_only;
    UPDATE spans SET window_only = 8 * window_only;
",
    // Existing totals are of the first operation.
    "
    ALTER TABLE totals RENAME TO totals_before;
    CREATE TABLE totals (
        series INTEGER NOT NULL, operation INTEGER NOT NULL, total BLOB NOT NULL,
        PRIMARY KEY (series, operation));
    INSERT INTO totals SELECT series, 0, total FROM totals_before;
    DROP TABLE totals_before;
",
    // Files of streams: see `RowFile`.
    "
    CREATE TABLE row_files (
        first_seq INTEGER PRIMARY KEY, end_seq INTEGER NOT NULL, streams INTEGER NOT NULL, bytes INTEGER NOT NULL,
        first_ms INTEGER NOT NULL, first_minute INTEGER NOT NULL, end_minute INTEGER NOT NULL, gone BLOB NOT NULL);
",
    // Earlier files lack the judgement of their streams. `until_ms`: the latest stream of all files that retention deleted.
    "
    DROP TABLE row_files;
    CREATE TABLE row_files (
        first_seq INTEGER PRIMARY KEY, end_seq INTEGER NOT NULL, streams INTEGER NOT NULL, bytes INTEGER NOT NULL,
        first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL, gone BLOB NOT NULL);
    CREATE TABLE retired_row_files (until_ms INTEGER NOT NULL);
    INSERT INTO retired_row_files VALUES (0);
",
    // `number` rises with each post. `site` is empty for a marker of all sites. `published`: ClickHouse has it.
    "
    CREATE TABLE markers (
        number INTEGER PRIMARY KEY, site TEXT NOT NULL, id TEXT NOT NULL, timestamp_ms INTEGER NOT NULL,
        kind TEXT NOT NULL, title TEXT NOT NULL, url TEXT NOT NULL, published INTEGER NOT NULL DEFAULT 0,
        UNIQUE (site, id));
",
    // Deletions that are not complete: see `SiteDeletion`.
    "
    CREATE TABLE deletions (site TEXT NOT NULL, before_ms INTEGER);
",
    // Day of the last stream (UTC).
    "
    ALTER TABLE series ADD COLUMN used_day INTEGER NOT NULL DEFAULT 0;
",
    // `site` is empty for an engine of all sites. A figure is null where no scrape of the minute had it.
    "
    CREATE TABLE engine_minutes (
        minute INTEGER NOT NULL, engine TEXT NOT NULL, model TEXT NOT NULL, site TEXT NOT NULL,
        waiting_max REAL, waiting_mean REAL, waiting_scrapes INTEGER NOT NULL,
        running_max REAL, running_mean REAL, running_scrapes INTEGER NOT NULL, kv_usage_max REAL, preemptions REAL,
        cache_hits REAL, cache_queries REAL, drafted REAL, accepted REAL,
        PRIMARY KEY (minute, engine, model)) WITHOUT ROWID;
",
    // ClickHouse has the minutes of engines before this one.
    "
    ALTER TABLE collector ADD COLUMN engine_minutes_sent INTEGER NOT NULL DEFAULT 0;
",
    // Deletions of some minutes.
    "
    ALTER TABLE deletions ADD COLUMN from_ms INTEGER;
",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use beacon::StreamReport;
    use rusqlite::params;

    use super::super::reader::windows;
    use super::*;
    use crate::aggregate::judgement::Judgement;
    use crate::aggregate::metric::Metric;
    use crate::aggregate::window_stats::WindowStats;
    use crate::store::filter::Filter;
    use crate::store::query::WindowsQuery;

    /// Writes an hour in the schema before countries: its minutes are gone, and it has two models.
    fn hour_without_countries(connection: &Connection) {
        for layout in &LAYOUTS[..5] {
            connection.execute_batch(layout).unwrap();
        }
        connection.pragma_update(None, "user_version", FIRST + 4).unwrap();
        connection.execute("INSERT INTO spans VALUES (60, 0, 1, 1, 1, 0)", []).unwrap();
        let mut stats = WindowStats::default();
        for (streams, model) in ["m1", "m2"].into_iter().enumerate() {
            (0..=streams).for_each(|_| stats.add(&StreamReport::new("0"), Judgement::WITHIN_SLO));
            let mut of_model = WindowStats::default();
            (0..=streams).for_each(|_| of_model.add(&StreamReport::new("0"), Judgement::WITHIN_SLO));
            put(connection, 4, ["shop", "", "", model], &of_model);
            put(connection, 7, ["shop", "chat", "a", model], &of_model);
        }
        put(connection, 0, ["shop", "", "", ""], &stats);
    }

    fn put(
        connection: &Connection,
        mask: u8,
        [site, use_case, provider, model]: [&str; 4],
        stats: &WindowStats,
    ) {
        let label = "INSERT INTO labels (kept, site, use_case, provider, model) VALUES (?1, ?2, ?3, ?4, ?5)";
        connection.execute(label, params![mask, site, use_case, provider, model]).unwrap();
        let sum = "INSERT INTO sums VALUES (last_insert_rowid(), 60, 0, ?1)";
        connection.execute(sum, [stats.encode()]).unwrap();
    }

    #[test]
    fn rollups_of_a_schema_without_countries_become_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("test.sqlite");
        let mut connection = Connection::open(&file).unwrap();
        hour_without_countries(&connection);
        migrate(&mut connection, &file).unwrap();
        let ask = |filter: &Filter, dimension| {
            let mut groups = BTreeMap::new();
            let asked = WindowsQuery { filter, minutes: (0, 60), longest: 60, metrics: &Metric::ALL };
            windows(&connection, &asked, [dimension], |_, [value], stats| {
                *groups.entry(value.to_owned()).or_default() += stats.streams();
            })
            .unwrap();
            groups.into_iter().collect::<Vec<(String, u64)>>()
        };
        let (all, of) =
            (Filter::default(), |country: &str| Filter::default().with(Dimension::Country, country));
        let models = [("m1".to_owned(), 1), ("m2".to_owned(), 2)];
        assert_eq!(ask(&all, Dimension::Country), [("unknown".to_owned(), 3)]);
        assert_eq!(ask(&all, Dimension::Model), models);
        assert_eq!(ask(&of("unknown"), Dimension::Model), models);
        assert_eq!(ask(&of("DE"), Dimension::Model), []);
    }
}
