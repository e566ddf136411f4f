//! The outbox: changes in this collector's file that ClickHouse lacks. It survives a crash, because the
//! transactions that change the file also write the outbox.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::aggregate::dedup::SeqNo;
use crate::aggregate::dimension::{Dimension, columns};
use crate::aggregate::series::{Series, SeriesId};
use crate::aggregate::window_stats::WindowStats;
use crate::report::stream_id::StreamId;
use crate::store::dimension_columns::{series, series_of};
use crate::store::engine_minutes::{self, EngineMinute};
use crate::store::error::StoreError;
use crate::store::markers::{self, Marker};
use crate::store::paths::STORE_FILE;
use crate::store::query::IngestTotals;
use crate::store::reader::ingest_totals;
use crate::store::rollups::key::GroupByMask;

/// The publishing thread's connection to the file.
pub(super) struct Outbox {
    connection: Connection,
    series: HashMap<SeriesId, Series>,
    /// Limit for the bytes of statistics in one read. It applies beside the limit of rows.
    most_bytes: usize,
}

/// A window that changed.
pub(super) struct ChangedWindow {
    pub(super) minute: i64,
    pub(super) stats: EncodedStats,
    pub(super) series: Series,
    id: SeriesId,
    /// Number of the flush that changed it last.
    mark: i64,
}

/// Encoded statistics. One read returns thousands, and decoded their size depends on the values that pages
/// send.
pub(super) struct EncodedStats(Vec<u8>);

/// A rollup's span: five minutes, an hour or a day.
pub(super) struct RollupSpan {
    pub(super) length: i64,
    pub(super) start: i64,
    /// Whether the rollups of the span are complete: they equal the sum of their minutes.
    pub(super) stands: bool,
    changes: i64,
}

/// One rollup of a span.
pub(super) struct RollupRow {
    /// Bits of the [`GroupByMask`].
    pub(super) mask: i64,
    pub(super) series: Series,
    pub(super) stats: EncodedStats,
}

/// A sampled stream that changed.
pub(super) struct SampleChange {
    pub(super) day: i64,
    pub(super) id: StreamId,
    /// `None` if the stream was removed from the sample.
    pub(super) row: Option<SampleRow>,
    /// Number of the flush that changed it last.
    mark: i64,
}

/// A sampled stream.
#[derive(Default)]
pub(super) struct SampleRow {
    pub(super) kinds: i64,
    pub(super) waited_ms: Option<f64>,
    pub(super) outcome: String,
    pub(super) received_ms: i64,
    pub(super) report: String,
    pub(super) series: Series,
}

/// Minutes of engines.
pub(super) struct EngineMinutes {
    pub(super) rows: Vec<EngineMinute>,
    /// The minute after the last.
    pub(super) end: i64,
}

/// Progress through the revisions of streams.
pub(super) struct SeqNos {
    pub(super) remembered_from: SeqNo,
    /// ClickHouse has all revisions before this one.
    pub(super) sent: SeqNo,
    /// The file has all revisions before this one.
    pub(super) stored: SeqNo,
}

impl Outbox {
    pub(super) fn open(folder: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open(folder.join(STORE_FILE))?;
        connection.busy_timeout(Duration::from_secs(5))?;
        // If a power failure undoes a commit, the rows are sent again.
        connection.pragma_update(None, "synchronous", "normal")?;
        Ok(Self { connection, series: HashMap::new(), most_bytes: BYTES_AT_A_TIME })
    }

    /// Identifier of this collector: random, created with its file.
    pub(super) fn collector(&self) -> Result<String, StoreError> {
        Ok(self.connection.query_row("SELECT id FROM collector", [], |row| row.get(0))?)
    }

    /// Returns a version above all earlier versions and above `seen`. Rows that are read afterwards may carry
    /// it.
    pub(super) fn next_version(&self, seen: u64) -> Result<u64, StoreError> {
        let next = "UPDATE collector SET version = max(version, ?1) + 1 RETURNING version";
        let version: i64 =
            self.connection.prepare_cached(next)?.query_row([seen.cast_signed()], |row| row.get(0))?;
        Ok(version.cast_unsigned())
    }

    /// Some of the changed windows.
    pub(super) fn windows(&mut self) -> Result<Vec<ChangedWindow>, StoreError> {
        let snapshot = self.connection.unchecked_transaction()?;
        let mut statement = snapshot.prepare_cached(&format!(
            "SELECT minute, outbox.series, mark, stats, {}
             FROM outbox JOIN windows USING (minute, series) JOIN series ON id = outbox.series LIMIT ?1",
            columns(Dimension::all())
        ))?;
        let mut rows = statement.query([WINDOWS_AT_A_TIME])?;
        let (mut windows, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            let stats = EncodedStats(row.get(3)?);
            bytes += stats.0.len();
            let series = series(row, 4)?;
            windows.push(ChangedWindow {
                minute: row.get(0)?,
                id: row.get(1)?,
                mark: row.get(2)?,
                stats,
                series,
            });
            if bytes >= self.most_bytes {
                break;
            }
        }
        Ok(windows)
    }

    /// Removes windows that ClickHouse has confirmed. A window that changed since it was read stays.
    pub(super) fn sent_windows(&mut self, windows: &[ChangedWindow]) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut delete = transaction
            .prepare_cached("DELETE FROM outbox WHERE minute = ?1 AND series = ?2 AND mark = ?3")?;
        for window in windows {
            delete.execute(params![window.minute, window.id, window.mark])?;
        }
        drop(delete);
        transaction.commit()?;
        Ok(())
    }

    /// Some spans whose published state differs from `stands`, or that were never published. Complete spans
    /// are also listed if they changed since they were published.
    pub(super) fn spans(&self, stands: bool) -> Result<Vec<RollupSpan>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT length, start, changes FROM spans
             WHERE (summed = changes) = ?1
               AND CASE WHEN ?1 THEN told <> changes * 2 + 1 ELSE told = 0 OR told % 2 = 1 END
             ORDER BY start, length LIMIT ?2",
        )?;
        let spans = statement.query_map(params![stands, SPANS_AT_A_TIME], |row| {
            Ok(RollupSpan { length: row.get(0)?, start: row.get(1)?, stands, changes: row.get(2)? })
        })?;
        Ok(spans.collect::<Result<_, _>>()?)
    }

    /// Some rollups of a span, by label id from `from` on, and the id to continue from.
    pub(super) fn sums(
        &self,
        span: &RollupSpan,
        from: i64,
    ) -> Result<(Vec<RollupRow>, Option<i64>), StoreError> {
        // With its sign, `kept` uses no index: only the order of ids makes pieces possible.
        let masks: Vec<_> = GroupByMask::each().map(|mask| mask.bits().to_string()).collect();
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT id, kept, stats, {} FROM labels CROSS JOIN sums ON sums.labels = id
             WHERE id >= ?1 AND length = ?2 AND start = ?3 AND +kept IN ({}) ORDER BY id",
            columns(Dimension::all()),
            masks.join(", ")
        ))?;
        let mut rows = statement.query(params![from, span.length, span.start])?;
        let (mut sums, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            if bytes >= self.most_bytes {
                return Ok((sums, row.get(0)?));
            }
            let stats = EncodedStats(row.get(2)?);
            bytes += stats.0.len();
            sums.push(RollupRow { mask: row.get(1)?, series: series(row, 3)?, stats });
        }
        Ok((sums, None))
    }

    /// Marks each span complete if it has not changed since it was read, and otherwise incomplete, because
    /// its rows come from two snapshots. A changed span of a sealed hour is left out: without minutes,
    /// queries have nothing else to read, so the published state must stay.
    pub(super) fn recheck(&self, spans: &mut Vec<RollupSpan>) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT changes = ?3 AND summed = changes, frozen FROM spans WHERE length = ?1 AND start = ?2",
        )?;
        let mut known = Vec::new();
        for span in spans.drain(..) {
            let same = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let found: Option<(bool, bool)> =
                statement.query_row([span.length, span.start, span.changes], same).optional()?;
            if let Some((stands, sealed)) = found
                && (stands || !sealed)
            {
                known.push(RollupSpan { stands, ..span });
            }
        }
        *spans = known;
        Ok(())
    }

    /// Records which state of these spans ClickHouse has.
    pub(super) fn mark_published(&mut self, spans: &[RollupSpan]) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut update =
            transaction.prepare_cached("UPDATE spans SET told = ?3 WHERE length = ?1 AND start = ?2")?;
        for span in spans {
            let published = span.changes * 2 + i64::from(span.stands);
            update.execute([span.length, span.start, published])?;
        }
        drop(update);
        transaction.commit()?;
        Ok(())
    }

    /// Some of the changed samples.
    pub(super) fn samples(&self) -> Result<Vec<SampleChange>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT day, stream, mark, kinds, waited_ms, outcome, received_ms, report, {}
             FROM outbox_samples LEFT JOIN (samples JOIN series ON id = series) USING (day, stream) LIMIT ?1",
            columns(Dimension::all())
        ))?;
        let changes = statement.query_map([SAMPLES_AT_A_TIME], |row| {
            let sample = |kinds| {
                Ok::<_, rusqlite::Error>(SampleRow {
                    kinds,
                    waited_ms: row.get(4)?,
                    outcome: row.get(5)?,
                    received_ms: row.get(6)?,
                    report: row.get(7)?,
                    series: series(row, 8)?,
                })
            };
            Ok(SampleChange {
                day: row.get(0)?,
                id: StreamId::from_be_bytes(row.get(1)?),
                mark: row.get(2)?,
                row: row.get::<_, Option<i64>>(3)?.map(sample).transpose()?,
            })
        })?;
        Ok(changes.collect::<Result<_, _>>()?)
    }

    /// Removes samples that ClickHouse has confirmed. A sample that changed since it was read stays.
    pub(super) fn sent_samples(&mut self, samples: &[SampleChange]) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut delete = transaction
            .prepare_cached("DELETE FROM outbox_samples WHERE day = ?1 AND stream = ?2 AND mark = ?3")?;
        for sample in samples {
            delete.execute(params![sample.day, sample.id.to_be_bytes(), sample.mark])?;
        }
        drop(delete);
        transaction.commit()?;
        Ok(())
    }

    /// Counters and the number of finalized streams, from one snapshot.
    pub(super) fn ingest_totals(&self) -> Result<IngestTotals, StoreError> {
        ingest_totals(&self.connection)
    }

    /// Markers from the time before this collector joined the cluster, with their numbers.
    pub(super) fn markers(&self) -> Result<Vec<(i64, Marker)>, StoreError> {
        markers::unpublished(&self.connection)
    }

    /// Records that ClickHouse has the markers up to this number.
    pub(super) fn sent_markers(&self, up_to: i64) -> Result<(), StoreError> {
        markers::published(&self.connection, up_to)
    }

    /// Some of the minutes of engines before this one that ClickHouse lacks. `None` if it has all.
    pub(super) fn engine_minutes(&self, until: i64) -> Result<Option<EngineMinutes>, StoreError> {
        let next = "SELECT min(minute) FROM engine_minutes, collector WHERE minute >= engine_minutes_sent";
        let first: Option<i64> = self.connection.prepare_cached(next)?.query_row([], |row| row.get(0))?;
        let Some(first) = first.filter(|first| *first < until) else { return Ok(None) };
        let end = until.min(first + ENGINE_MINUTES_AT_A_TIME);
        let mut rows = Vec::new();
        engine_minutes::each(&self.connection, (first, end), |row| rows.push(row))?;
        Ok(Some(EngineMinutes { rows, end }))
    }

    /// Records that ClickHouse has the minutes of engines before this one.
    pub(super) fn sent_engine_minutes(&self, end: i64) -> Result<(), StoreError> {
        self.connection.prepare_cached("UPDATE collector SET engine_minutes_sent = ?1")?.execute([end])?;
        Ok(())
    }

    pub(super) fn seq_nos(&self) -> Result<SeqNos, StoreError> {
        let query = "SELECT remembered_from, sent, stored FROM journal, collector";
        let mut statement = self.connection.prepare_cached(query)?;
        Ok(statement.query_row([], |row| {
            let seq = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
            Ok(SeqNos { remembered_from: seq(0)?, sent: seq(1)?, stored: seq(2)? })
        })?)
    }

    /// Records that ClickHouse has all revisions before this one.
    pub(super) fn mark_sent_before(&self, before: SeqNo) -> Result<(), StoreError> {
        self.connection.prepare_cached("UPDATE collector SET sent = ?1")?.execute([before.cast_signed()])?;
        Ok(())
    }

    /// The labels of a series.
    pub(super) fn series(&mut self, id: SeriesId) -> Result<&Series, StoreError> {
        if !self.series.contains_key(&id) {
            self.series.insert(id, series_of(&self.connection, id)?);
        }
        Ok(&self.series[&id])
    }
}

impl EncodedStats {
    pub(super) fn decode(&self) -> Result<WindowStats, StoreError> {
        Ok(WindowStats::decode(&self.0)?)
    }
}

const SAMPLES_AT_A_TIME: i64 = 2_000;

const WINDOWS_AT_A_TIME: i64 = 2_000;

const BYTES_AT_A_TIME: usize = 8 * 1024 * 1024;

const SPANS_AT_A_TIME: i64 = 12;

/// At most 20,000 rows with the most engines and models.
const ENGINE_MINUTES_AT_A_TIME: i64 = 10;

#[cfg(test)]
mod tests {
    use beacon::StreamReport;

    use super::*;
    use crate::aggregate::judgement::Judgement;
    use crate::config::{self, Sync};
    use crate::store::dimension_columns::{insert_into, with_series};
    use crate::store::writer::Writer;

    /// Creates a store with `sums` rollups over the same five minutes, and an outbox that reads them in small
    /// steps.
    fn outbox(folder: &Path, sums: u64) -> Outbox {
        drop(Writer::open(folder, Sync::Normal, config::Store::default()).unwrap());
        let outbox = Outbox { most_bytes: 1, ..Outbox::open(folder).unwrap() };
        let connection = &outbox.connection;
        connection
            .execute("INSERT INTO spans (length, start, changes, summed) VALUES (5, 0, 3, 3)", [])
            .unwrap();
        for n in 0..sums {
            let mut series = Series::default();
            series[Dimension::Model] = format!("m{n}");
            connection.execute(&insert_into("labels", "kept"), with_series(&7, &series)).unwrap();
            let mut stats = WindowStats::default();
            (0..=n).for_each(|_| stats.add(&StreamReport::new("0"), Judgement::WITHIN_SLO));
            let sum = "INSERT INTO sums VALUES (last_insert_rowid(), 5, 0, ?1)";
            connection.execute(sum, [stats.encode()]).unwrap();
        }
        outbox
    }

    #[test]
    fn rollups_are_read_in_pieces_without_gaps() {
        let folder = tempfile::tempdir().unwrap();
        let outbox = outbox(folder.path(), 5);
        let span = &outbox.spans(true).unwrap()[0];
        let (mut next, mut pieces, mut streams) = (Some(0), 0, Vec::new());
        while let Some(from) = next {
            let some;
            (some, next) = outbox.sums(span, from).unwrap();
            pieces += 1;
            streams.extend(some.iter().map(|sum| sum.stats.decode().unwrap().streams()));
        }
        assert_eq!((pieces, streams), (5, vec![1, 2, 3, 4, 5]));
    }

    #[test]
    fn a_rollup_that_changed_again_is_not_published_as_complete() {
        let folder = tempfile::tempdir().unwrap();
        let outbox = outbox(folder.path(), 1);
        let recheck = || {
            let mut spans = outbox.spans(true).unwrap();
            spans[0].changes = 3;
            outbox.recheck(&mut spans).unwrap();
            spans.iter().map(|span| span.stands).collect::<Vec<_>>()
        };
        assert_eq!(recheck(), [true]);
        // The span was rebuilt: the rows sent may come from both states.
        outbox.connection.execute("UPDATE spans SET changes = 4, summed = 4", []).unwrap();
        assert_eq!(recheck(), [false]);
        outbox.connection.execute("UPDATE spans SET frozen = 1", []).unwrap();
        assert!(recheck().is_empty(), "nothing else is known of it");
    }

    #[test]
    fn an_incomplete_span_is_published_again_once_complete() {
        let folder = tempfile::tempdir().unwrap();
        let mut outbox = outbox(folder.path(), 1);
        let mut spans = outbox.spans(true).unwrap();
        outbox.connection.execute("UPDATE spans SET changes = 4", []).unwrap();
        outbox.recheck(&mut spans).unwrap();
        outbox.mark_published(&spans).unwrap();
        let listed = |outbox: &Outbox| [true, false].map(|stands| outbox.spans(stands).unwrap().len());
        assert_eq!(listed(&outbox), [0, 0]);
        outbox.connection.execute("UPDATE spans SET summed = 4", []).unwrap();
        assert_eq!(listed(&outbox), [1, 0]);
        outbox.mark_published(&outbox.spans(true).unwrap()).unwrap();
        assert_eq!(listed(&outbox), [0, 0]);
    }
}
