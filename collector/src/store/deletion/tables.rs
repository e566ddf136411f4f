//! Deletes the streams from the tables of the SQLite file.

use rusqlite::{Transaction, params};

use super::dedup::RecentStreams;
use super::series;
use super::series::SeriesIds;
use super::site_deletion::SiteDeletion;
use crate::aggregate::internal_metrics::{DELETED_STREAMS, Kind};
use crate::store::error::StoreError;
use crate::time::minute_of;

/// Deletes all rows of the streams, in the transaction of the caller. `in_files`: series of the streams that stay in files.
///
/// Every rollup is of one site, and ends before or begins after the deleted time, so all others stay exact sums.
/// Cumulative statistics cannot be divided by time: those of a series stay while one stream of the series does.
pub(super) fn delete(
    transaction: &Transaction<'_>,
    deletion: &SiteDeletion,
    in_files: &SeriesIds,
) -> Result<(), StoreError> {
    let (site, end_ms) = (&deletion.site, deletion.end_ms());
    let end_minute = minute_of(end_ms);
    for rows in [
        "DELETE FROM windows WHERE minute < ?2 AND series IN (SELECT id FROM series WHERE site = ?1)",
        "DELETE FROM outbox WHERE minute < ?2 AND series IN (SELECT id FROM series WHERE site = ?1)",
        "DELETE FROM sums WHERE start < ?2 AND labels IN (SELECT id FROM labels WHERE site = ?1)",
    ] {
        transaction.execute(rows, params![site, end_minute])?;
    }
    let unused = "DELETE FROM labels WHERE site = ?1 AND id NOT IN (SELECT labels FROM sums)";
    transaction.execute(unused, [site])?;
    let sampled = "received_ms < ?2 AND series IN (SELECT id FROM series WHERE site = ?1)";
    for rows in [
        &format!(
            "DELETE FROM outbox_samples WHERE (day, stream) IN (SELECT day, stream FROM samples WHERE {sampled})"
        ),
        &format!("DELETE FROM samples WHERE {sampled}"),
    ] {
        transaction.execute(rows, params![site, end_ms])?;
    }
    transaction
        .execute("DELETE FROM markers WHERE timestamp_ms < ?2 AND site = ?1", params![site, end_ms])?;
    let recent = RecentStreams::read(transaction, deletion)?;
    recent.delete(transaction)?;
    let stay = in_files.union(&recent.series_that_stay()).copied().collect();
    let in_totals = series::delete(transaction, deletion, &stay)?;
    if deletion.before_ms.is_none() {
        transaction.execute("DELETE FROM counts WHERE site = ?1", [site])?;
    }
    let deleted = (in_totals + recent.never_counted()).cast_signed();
    let count = "INSERT INTO counts (kind, site, word, n) SELECT ?1, '', ?2, ?3 WHERE ?3 > 0
                 ON CONFLICT DO UPDATE SET n = n + excluded.n";
    transaction.execute(count, params![Kind::Deleted.as_str(), DELETED_STREAMS, deleted])?;
    Ok(())
}
