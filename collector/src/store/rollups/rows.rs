//! Rows of the tables `labels` and `sums`.

use rusqlite::{Connection, params};

use super::key::{GroupByMask, span_start};
use crate::aggregate::series::Series;
use crate::store::dimension_columns::{insert_into, with_series};
use crate::store::error::StoreError;
use crate::time::HOUR_MINUTES;

/// Id of these labels; creates the row if it is missing.
pub(super) fn label(connection: &Connection, mask: GroupByMask, labels: &Series) -> rusqlite::Result<i64> {
    let mut statement = connection.prepare_cached(&format!(
        "{} ON CONFLICT DO UPDATE SET kept = kept RETURNING id",
        insert_into("labels", "kept")
    ))?;
    statement.query_row(with_series(&mask.bits(), labels), |row| row.get(0))
}

/// Writes an encoded rollup, replacing an earlier one.
pub(super) fn put(
    connection: &Connection,
    label: i64,
    length: i64,
    start: i64,
    sum: &[u8],
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT OR REPLACE INTO sums (labels, length, start, stats) VALUES (?1, ?2, ?3, ?4)",
    )?;
    statement.execute(params![label, length, start, sum])?;
    Ok(())
}

/// The oldest hour that has minutes.
pub(super) fn first_hour(connection: &Connection) -> Result<Option<i64>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT min(minute) FROM windows")?;
    let minute: Option<i64> = statement.query_row([], |row| row.get(0))?;
    Ok(minute.map(|minute| span_start(minute, HOUR_MINUTES)))
}

/// A transaction of this many rows takes some 10 ms.
pub(super) const ROWS_AT_A_TIME: usize = 500;
