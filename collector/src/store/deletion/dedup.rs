//! Deletes streams from the list of recent streams, by which a collector tells new reports from known ones.

use std::collections::{BTreeMap, HashSet};

use beacon::Outcome;
use rusqlite::{Connection, params};

use super::series::{SeriesIds, of_site};
use super::site_deletion::SiteDeletion;
use crate::aggregate::dedup::{Finalized, SeqNo, Stream};
use crate::aggregate::judgement::Judgement;
use crate::aggregate::rough_wait::RoughWait;
use crate::aggregate::series::SeriesId;
use crate::journal::segments::RecordLocation;
use crate::report::stream_id::StreamId;
use crate::store::dedup_log;
use crate::store::error::StoreError;
use crate::time::minute_of;

/// The listed streams, and which of them are deleted.
pub(super) struct RecentStreams {
    all: BTreeMap<SeqNo, Stream>,
    /// The latest revision of a stream decides.
    deleted: HashSet<StreamId>,
    /// The series of the site.
    series: SeriesIds,
    /// First and last number of the list.
    ends: [Option<SeqNo>; 2],
}

impl RecentStreams {
    pub(super) fn read(connection: &Connection, deletion: &SiteDeletion) -> Result<Self, StoreError> {
        let mut all = BTreeMap::new();
        let mut statement = connection.prepare("SELECT revisions FROM remembered ORDER BY flush")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            dedup_log::decode(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?, &mut all)?;
        }
        let mut known = HashSet::new();
        for stream in all.values_mut().rev() {
            stream.superseded = !known.insert(stream.id);
        }
        let series: SeriesIds = of_site(connection, &deletion.site)?.into_keys().collect();
        let is_deleted = |stream: &&Stream| {
            !stream.superseded && series.contains(&stream.series) && deletion.contains(stream.received_ms)
        };
        let deleted = all.values().filter(is_deleted).map(|stream| stream.id).collect();
        let from: i64 = connection.query_row("SELECT remembered_from FROM journal", [], |row| row.get(0))?;
        let first = all.range(from.cast_unsigned()..).next().map(|(seq, _)| *seq);
        let ends = [first, all.last_key_value().map(|(seq, _)| *seq)];
        Ok(Self { all, deleted, series, ends })
    }

    /// Number of the deleted streams. Streams that are in a file by now do not count.
    pub(super) fn count(&self) -> u64 {
        let listed = self.ends[0].map(|first| self.all.range(first..)).into_iter().flatten();
        let latest = listed.filter(|(_, stream)| !stream.superseded && self.deletes(stream));
        latest.count() as u64
    }

    /// Number of those that are open and that the cumulative statistics have never counted.
    pub(super) fn never_counted(&self) -> u64 {
        let latest = self.all.values().filter(|stream| !stream.superseded && self.deletes(stream));
        latest.filter(|stream| stream.finalized.is_none() && !stream.in_cumulative).count() as u64
    }

    /// Series of the streams that stay.
    pub(super) fn series_that_stay(&self) -> SeriesIds {
        self.all.values().filter(|stream| !self.deletes(stream)).map(|stream| stream.series).collect()
    }

    /// Deletes all revisions of the streams.
    pub(super) fn delete(&self, connection: &Connection) -> Result<(), StoreError> {
        let mut statement = connection.prepare("SELECT flush, revisions FROM remembered ORDER BY flush")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let rows = rows.collect::<Result<Vec<(i64, Vec<u8>)>, _>>()?;
        rows.into_iter().try_for_each(|row| self.delete_from(connection, row))
    }

    /// Earlier revisions of the site are deleted too: nothing needs them.
    fn deletes(&self, stream: &Stream) -> bool {
        self.deleted.contains(&stream.id) || stream.superseded && self.series.contains(&stream.series)
    }

    /// Deletes from one row of many revisions.
    fn delete_from(&self, connection: &Connection, (flush, blob): (i64, Vec<u8>)) -> Result<(), StoreError> {
        let mut revisions = BTreeMap::new();
        dedup_log::decode(&blob, &mut revisions)?;
        let mut left = Vec::with_capacity(revisions.len());
        for (seq, revision) in &revisions {
            match self.all.get(seq).is_some_and(|stream| self.deletes(stream)) {
                false => left.push((*seq, *revision)),
                true if self.ends.contains(&Some(*seq)) => left.push((*seq, nameless(connection, revision)?)),
                true => {}
            }
        }
        if left.is_empty() {
            connection.execute("DELETE FROM remembered WHERE flush = ?1", [flush])?;
        } else {
            let update = "UPDATE remembered SET revisions = ?2 WHERE flush = ?1";
            connection.execute(update, params![flush, dedup_log::encode(&left)])?;
        }
        Ok(())
    }
}

/// Holds the place of the first or the last revision, so that all others keep their numbers and the list its beginning. It
/// belongs to no stream: queries skip it as one that another collector owns.
fn nameless(connection: &Connection, revision: &Stream) -> Result<Stream, StoreError> {
    let id: [u8; 16] = connection.query_row("SELECT randomblob(16)", [], |row| row.get(0))?;
    let minute = minute_of(revision.received_ms) as i32;
    Ok(Stream {
        id: StreamId::from_be_bytes(id),
        rev: 0,
        outcome: Outcome::Complete,
        series: SeriesId::MAX,
        finalized: Some(Finalized { minute, judgement: Judgement::default(), wait: RoughWait::UNKNOWN }),
        in_cumulative: true,
        superseded: false,
        received_ms: revision.received_ms,
        at: RecordLocation { len: 0, ..revision.at },
    })
}
