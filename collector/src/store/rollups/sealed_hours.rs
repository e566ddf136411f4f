//! Sealed hours: their minutes are deleted. A late report changes the rollups of the hour itself.

use rusqlite::{Connection, OptionalExtension, params};

use crate::aggregate::dimension::{Dimension, columns};
use crate::aggregate::window::WindowKey;
use crate::aggregate::window_stats::WindowStats;
use crate::store::dimension_columns::series_of;
use crate::store::error::StoreError;
use crate::store::rollups::key::{GroupByMask, span_start};
use crate::store::rollups::rows::{first_hour, label, put};
use crate::time::{DAY_MINUTES, HOUR_MINUTES};

/// Seals the hours before this minute that are built and have nothing left to publish; their minutes are
/// deleted later. Late reports then change the hour itself. Only the writer of windows may seal, and only
/// without pending changes: each change is meant either for a minute or for its hour.
pub(in crate::store) fn seal(connection: &Connection, before: i64) -> Result<(), StoreError> {
    let Some(first) = first_hour(connection)? else { return Ok(()) };
    let seal = "UPDATE spans SET frozen = 1
        WHERE length = ?1 AND start >= ?2 AND start < ?3 AND NOT frozen AND summed = changes
          AND NOT EXISTS (SELECT 1 FROM outbox WHERE minute >= start AND minute < start + length)";
    connection.prepare_cached(seal)?.execute([HOUR_MINUTES, first, before])?;
    Ok(())
}

/// Statistics of a series in the sealed hour of a minute; `None` if the hour is not sealed.
pub(in crate::store) fn sealed_hour(
    connection: &Connection,
    WindowKey { minute, series }: WindowKey,
) -> Result<Option<WindowStats>, StoreError> {
    let hour = span_start(minute, HOUR_MINUTES);
    if !is_sealed(connection, hour)? {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached(&format!(
        "SELECT stats FROM series JOIN labels USING ({}) JOIN sums ON sums.labels = labels.id
         WHERE series.id = ?1 AND kept = ?2 AND length = ?3 AND start = ?4",
        columns(Dimension::all())
    ))?;
    let sum = statement
        .query_row(params![series, GroupByMask::all().bits(), HOUR_MINUTES, hour], |row| row.get(0))
        .optional()?;
    Ok(Some(sum.map_or_else(|| Ok(WindowStats::default()), |bytes: Vec<u8>| WindowStats::decode(&bytes))?))
}

/// Replaces `before` by `now` for a series in all rollups of a sealed hour. The hour stays complete, and its
/// day is built again.
pub(in crate::store) fn change_sealed_hour(
    connection: &Connection,
    WindowKey { minute, series }: WindowKey,
    before: &WindowStats,
    now: &WindowStats,
) -> Result<(), StoreError> {
    let hour = span_start(minute, HOUR_MINUTES);
    let mut change = connection.prepare_cached(
        "UPDATE spans SET changes = changes + 1, summed = changes + 1
         WHERE length = ?1 AND start = ?2 AND frozen RETURNING window_only",
    )?;
    let window_only = change.query_row([HOUR_MINUTES, hour], |row| row.get(0)).optional()?;
    // The hour has expired since it was read, and this change with it.
    let Some(window_only) = window_only else { return Ok(()) };
    connection
        .prepare_cached("UPDATE spans SET changes = changes + 1 WHERE length = ?1 AND start = ?2")?
        .execute([DAY_MINUTES, span_start(minute, DAY_MINUTES)])?;
    let series = series_of(connection, series)?;
    let mut sum = connection
        .prepare_cached("SELECT stats FROM sums WHERE labels = ?1 AND length = ?2 AND start = ?3")?;
    for mask in GroupByMask::each().chain(GroupByMask::pairs(window_only)) {
        let id = label(connection, mask, &mask.values(&series))?;
        let held = sum.query_row([id, HOUR_MINUTES, hour], |row| row.get(0)).optional()?;
        let held =
            held.map_or_else(|| Ok(WindowStats::default()), |bytes: Vec<u8>| WindowStats::decode(&bytes))?;
        match held.with_changed(before, now) {
            Some(changed) => put(connection, id, HOUR_MINUTES, hour, &changed.encode())?,
            None => tracing::error!(hour, "A rollup of hour {hour} lacks the values to subtract from it"),
        }
    }
    Ok(())
}

/// End of the latest sealed hour that began by this minute; 0 if there is none.
pub(in crate::store) fn end_of_sealed(connection: &Connection, minute: i64) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT max(start) FROM spans WHERE length = ?1 AND frozen AND start <= ?2")?
        .query_row([HOUR_MINUTES, minute], |row| row.get::<_, Option<i64>>(0))
        .map(|start| start.map_or(0, |start| start + HOUR_MINUTES))
}

pub(super) fn is_sealed(connection: &Connection, hour: i64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM spans WHERE length = ?1 AND start = ?2 AND frozen")?
        .exists([HOUR_MINUTES, hour])
}
