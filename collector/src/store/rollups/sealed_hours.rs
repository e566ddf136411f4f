//! Sealed hours: their minutes are deleted. A late report changes the rollups of the hour itself.

use rusqlite::{Connection, OptionalExtension, params};

use crate::aggregate::window::WindowKey;
use crate::aggregate::window_stats::WindowStats;
use crate::store::error::StoreError;
use crate::store::reader;
use crate::store::rollups::key::{GroupByMask, span_start};
use crate::store::rollups::rows::{first_hour, label, put};
use crate::time::{DAY_MINUTES, HOUR_MINUTES};

/// From now on hours before this minute stand for their minutes, which go: those that are summed, and of which
/// nothing has yet to be published. What comes late changes the hour itself. Whoever writes windows freezes hours,
/// and only while it holds no change of them: a change is made for a minute or for its hour.
pub(in crate::store) fn seal(connection: &Connection, before: i64) -> Result<(), StoreError> {
    let Some(first) = first_hour(connection)? else { return Ok(()) };
    let seal = "UPDATE spans SET frozen = 1
        WHERE length = ?1 AND start >= ?2 AND start < ?3 AND NOT frozen AND summed = changes
          AND NOT EXISTS (SELECT 1 FROM outbox WHERE minute >= start AND minute < start + length)";
    connection.prepare_cached(seal)?.execute([HOUR_MINUTES, first, before])?;
    Ok(())
}

/// The sum of a series over the hour of a minute, where that hour is frozen; `None` where it is not.
pub(in crate::store) fn sealed_hour(
    connection: &Connection,
    WindowKey { minute, series }: WindowKey,
) -> Result<Option<WindowStats>, StoreError> {
    let hour = span_start(minute, HOUR_MINUTES);
    if !is_sealed(connection, hour)? {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached(
        "SELECT tally FROM series JOIN labels USING (site, use_case, provider, model, country)
             JOIN sums ON sums.labels = labels.id
         WHERE series.id = ?1 AND kept = ?2 AND length = ?3 AND start = ?4",
    )?;
    let sum = statement
        .query_row(params![series, GroupByMask::ALL.bits(), HOUR_MINUTES, hour], |row| row.get(0))
        .optional()?;
    Ok(Some(sum.map_or_else(|| Ok(WindowStats::default()), |bytes: Vec<u8>| WindowStats::decode(&bytes))?))
}

/// Changes a frozen hour by what a series in it was and is: all sums over it, which stand before and after. Its
/// day is summed again.
pub(in crate::store) fn change_sealed_hour(
    connection: &Connection,
    WindowKey { minute, series }: WindowKey,
    before: &WindowStats,
    now: &WindowStats,
) -> Result<(), StoreError> {
    let hour = span_start(minute, HOUR_MINUTES);
    let mut change = connection.prepare_cached(
        "UPDATE spans SET changes = changes + 1, summed = changes + 1
         WHERE length = ?1 AND start = ?2 AND frozen RETURNING countries",
    )?;
    let countries = change.query_row([HOUR_MINUTES, hour], |row| row.get(0)).optional()?;
    // Since it was read it has become too old, and what changed in it with it.
    let Some(countries) = countries else { return Ok(()) };
    connection
        .prepare_cached("UPDATE spans SET changes = changes + 1 WHERE length = ?1 AND start = ?2")?
        .execute([DAY_MINUTES, span_start(minute, DAY_MINUTES)])?;
    let labels = "SELECT site, use_case, provider, model, country FROM series WHERE id = ?1";
    let labels = connection.prepare_cached(labels)?.query_row([series], |row| reader::series(row, 0))?;
    let and_one: &[GroupByMask] = if countries { &GroupByMask::COUNTRY_AND_ONE } else { &[] };
    let mut sum = connection
        .prepare_cached("SELECT tally FROM sums WHERE labels = ?1 AND length = ?2 AND start = ?3")?;
    for mask in GroupByMask::each().chain(and_one.iter().copied()) {
        let id = label(connection, mask, &mask.labels(&labels))?;
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

/// The end of the latest frozen hour that has begun by this minute; 0 where there is none.
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
