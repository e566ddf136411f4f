//! Searches the data folder for streams that are to be deleted, and afterwards for streams that are still there.

use std::path::Path;

use rusqlite::{Connection, params};
use serde::Serialize;

use super::dedup::RecentStreams;
use super::site_deletion::SiteDeletion;
use super::stream_files::StreamsInFiles;
use super::{notes, series};
use crate::journal::erasure;
use crate::store::error::{StoreError, in_file};
use crate::store::paths::JOURNAL_FOLDER;

/// Numbers of what a data folder has of a site.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct FoundData {
    /// Minutes with statistics, by series.
    windows: u64,
    /// Sums of these over five minutes, hours and days, by combination of labels.
    rollups: u64,
    samples: u64,
    markers: u64,
    /// Streams of the list by which the collector knows reports again.
    recent_streams: u64,
    streams_in_files: u64,
    journal_reports: u64,
    /// Series without a stream that stays: names of models, providers, use cases.
    series: u64,
    /// Counters of the site.
    counters: u64,
    /// Deletions of the site that are not complete.
    unfinished: u64,
}

pub(super) fn find(
    connection: &Connection,
    data: &Path,
    deletion: &SiteDeletion,
) -> Result<FoundData, StoreError> {
    let count = |rows: &str, (begin, end): (i64, i64)| -> Result<u64, StoreError> {
        let query = format!("SELECT count(*) FROM {rows}");
        let values = params![deletion.site, begin, end];
        let found: i64 = connection.query_row(&query, values, |row| row.get(0))?;
        Ok(found.cast_unsigned())
    };
    let (minutes, times) = (deletion.minutes(), (deletion.begin_ms(), deletion.end_ms()));
    let of_site = "series IN (SELECT id FROM series WHERE site = ?1)";
    let recent = RecentStreams::read(connection, deletion)?;
    let in_files = StreamsInFiles::read(connection, data, deletion)?;
    let stay = in_files.series_that_stay.union(&recent.series_that_stay()).copied().collect();
    Ok(FoundData {
        windows: count(&format!("windows WHERE minute >= ?2 AND minute < ?3 AND {of_site}"), minutes)?,
        // Those that begin before the range or end after it are built again.
        rollups: count(
            "sums WHERE start >= ?2 AND start + length <= ?3 AND labels IN (SELECT id FROM labels WHERE site = ?1)",
            minutes,
        )?,
        samples: count(
            &format!("samples WHERE received_ms >= ?2 AND received_ms < ?3 AND {of_site}"),
            times,
        )?,
        markers: match deletion.includes_markers() {
            true => count("markers WHERE timestamp_ms >= ?2 AND timestamp_ms < ?3 AND site = ?1", times)?,
            false => 0,
        },
        recent_streams: recent.count(),
        streams_in_files: in_files.deleted,
        journal_reports: journal_reports(data, deletion)?,
        series: series::without_streams(connection, deletion, &stay)?.len() as u64,
        counters: match deletion.is_whole_site() {
            true => count("counts WHERE site = ?1 AND ?2 < ?3", times)?,
            false => 0,
        },
        unfinished: notes::interrupted(data)?.iter().filter(|noted| noted.site == deletion.site).count()
            as u64,
    })
}

fn journal_reports(data: &Path, deletion: &SiteDeletion) -> Result<u64, StoreError> {
    let mut reports = 0;
    for file in erasure::files(&data.join(JOURNAL_FOLDER))? {
        let found = file.count(&|received_ms, site| deletion.selects(site, received_ms));
        reports += found.map_err(|error| in_file(&file.path)(error.into()))?;
    }
    Ok(reports)
}

impl FoundData {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
