//! Deletes the streams from the tables of the SQLite file.

use rusqlite::{Transaction, params};

use super::dedup::RecentStreams;
use super::series;
use super::series::SeriesIds;
use super::site_deletion::SiteDeletion;
use crate::aggregate::internal_metrics::{DELETED_STREAMS, Kind};
use crate::store::error::StoreError;

/// Deletes all rows of the streams, in the transaction of the caller. `in_files`: series of the streams that stay in files.
///
/// Every rollup is of one site. Those that begin before the deleted time or end after it are deleted too, and the
/// collector builds them again from the minutes and hours that stay. All others stay exact sums.
///
/// Cumulative statistics cannot be divided by time: those of a series stay while one stream of the series does.
pub(super) fn delete(
    transaction: &Transaction<'_>,
    deletion: &SiteDeletion,
    in_files: &SeriesIds,
) -> Result<(), StoreError> {
    let (site, times) = (&deletion.site, (deletion.begin_ms(), deletion.end_ms()));
    let minutes = deletion.minutes();
    let of_site = "series IN (SELECT id FROM series WHERE site = ?1)";
    for rows in [
        &*format!("DELETE FROM windows WHERE minute >= ?2 AND minute < ?3 AND {of_site}"),
        &*format!("DELETE FROM outbox WHERE minute >= ?2 AND minute < ?3 AND {of_site}"),
        "DELETE FROM sums WHERE start + length > ?2 AND start < ?3
             AND labels IN (SELECT id FROM labels WHERE site = ?1)",
    ] {
        transaction.execute(rows, params![site, minutes.0, minutes.1])?;
    }
    let divided = "UPDATE spans SET changes = changes + 1 WHERE start + length > ?1 AND start < ?2
                       AND NOT (start >= ?1 AND start + length <= ?2)";
    transaction.execute(divided, [minutes.0, minutes.1])?;
    let unused = "DELETE FROM labels WHERE site = ?1 AND id NOT IN (SELECT labels FROM sums)";
    transaction.execute(unused, [site])?;
    let sampled = format!("received_ms >= ?2 AND received_ms < ?3 AND {of_site}");
    for rows in [
        &format!(
            "DELETE FROM outbox_samples WHERE (day, stream) IN (SELECT day, stream FROM samples WHERE {sampled})"
        ),
        &format!("DELETE FROM samples WHERE {sampled}"),
    ] {
        transaction.execute(rows, params![site, times.0, times.1])?;
    }
    if deletion.includes_markers() {
        let markers = "DELETE FROM markers WHERE timestamp_ms >= ?2 AND timestamp_ms < ?3 AND site = ?1";
        transaction.execute(markers, params![site, times.0, times.1])?;
    }
    let recent = RecentStreams::read(transaction, deletion)?;
    recent.delete(transaction)?;
    let stay = in_files.union(&recent.series_that_stay()).copied().collect();
    let in_totals = series::delete(transaction, deletion, &stay)?;
    if deletion.is_whole_site() {
        transaction.execute("DELETE FROM counts WHERE site = ?1", [site])?;
    }
    let deleted = (in_totals + recent.never_counted()).cast_signed();
    let count = "INSERT INTO counts (kind, site, word, n) SELECT ?1, '', ?2, ?3 WHERE ?3 > 0
                 ON CONFLICT DO UPDATE SET n = n + excluded.n";
    transaction.execute(count, params![Kind::Deleted.as_str(), DELETED_STREAMS, deleted])?;
    Ok(())
}
