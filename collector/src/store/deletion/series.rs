//! Deletes the series that no stream is left of, with their names and cumulative statistics.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use super::site_deletion::SiteDeletion;
use crate::aggregate::cumulative_stats::CumulativeStats;
use crate::aggregate::dimension::{Dimension, UNKNOWN, columns};
use crate::aggregate::series::{Series, SeriesId};
use crate::store::dimension_columns::series;
use crate::store::error::StoreError;
use crate::store::rollups::key::GroupByMask;

pub(super) type SeriesIds = BTreeSet<SeriesId>;

/// The series of a site.
pub(super) fn of_site(connection: &Connection, site: &str) -> Result<BTreeMap<SeriesId, Series>, StoreError> {
    let query = format!("SELECT id, {} FROM series WHERE site = ?1", columns(Dimension::all()));
    let mut statement = connection.prepare_cached(&query)?;
    let found = statement.query_map([site], |row| Ok((row.get(0)?, series(row, 1)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Deletes the series of the site without a stream that stays. `stay`: series of single streams that stay. Returns the
/// number of streams in their cumulative statistics.
pub(super) fn delete(
    connection: &Connection,
    deletion: &SiteDeletion,
    stay: &SeriesIds,
) -> Result<u64, StoreError> {
    let mut streams = 0;
    for id in without_streams(connection, deletion, stay)? {
        let mut totals = connection.prepare_cached("SELECT total FROM totals WHERE series = ?1")?;
        let mut rows = totals.query([id])?;
        while let Some(row) = rows.next()? {
            let total = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
            streams += CumulativeStats::decode(total)?.requests();
        }
        connection.prepare_cached("DELETE FROM totals WHERE series = ?1")?.execute([id])?;
        connection.prepare_cached("DELETE FROM series WHERE id = ?1")?.execute([id])?;
    }
    Ok(streams)
}

/// Series of the site without a stream that stays.
pub(super) fn without_streams(
    connection: &Connection,
    deletion: &SiteDeletion,
    stay: &SeriesIds,
) -> Result<Vec<SeriesId>, StoreError> {
    let of_site = of_site(connection, &deletion.site)?;
    let in_tables = in_tables(connection, deletion)?;
    let used = stay.union(&in_tables).filter_map(|id| of_site.get(id));
    let used: BTreeSet<Series> = used.flat_map(wider).collect();
    Ok(of_site.into_iter().filter(|(_, series)| !used.contains(series)).map(|(id, _)| id).collect())
}

/// Series of the site in windows, rollups and samples that stay.
fn in_tables(connection: &Connection, deletion: &SiteDeletion) -> Result<SeriesIds, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT id FROM series WHERE site = ?1 AND (
             id IN (SELECT series FROM windows WHERE minute < ?2 OR minute >= ?3)
             OR id IN (SELECT series FROM samples WHERE received_ms < ?4 OR received_ms >= ?5))
         UNION SELECT series.id FROM series JOIN labels USING ({})
             WHERE site = ?1 AND kept = ?6
             AND EXISTS (SELECT 1 FROM sums WHERE sums.labels = labels.id AND (start + length <= ?2 OR start >= ?3))",
        columns(Dimension::all())
    ))?;
    let (begin_minute, end_minute) = deletion.minutes();
    let (begin_ms, end_ms) = (deletion.begin_ms(), deletion.end_ms());
    let all = GroupByMask::all().bits();
    let values = params![deletion.site, begin_minute, end_minute, begin_ms, end_ms, all];
    let ids = statement.query_map(values, |row| row.get(0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// The series itself, and those in which some of its dimensions of windows only are unknown. Its cumulative statistics
/// belong to one of these.
fn wider(series: &Series) -> Vec<Series> {
    let mut all = vec![series.clone()];
    for dimension in Dimension::window_only() {
        let unknown = all.clone().into_iter().map(|mut series| {
            UNKNOWN.clone_into(&mut series[dimension]);
            series
        });
        all.extend(unknown);
    }
    all
}
