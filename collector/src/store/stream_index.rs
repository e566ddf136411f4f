//! Index of single streams for queries: memory lists the newest, the journal contains their reports, and
//! files contain the older ones.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use rusqlite::{Connection, OptionalExtension};

use super::dimension_columns::{in_filter, series_of, with_filter};
use super::{row_files, samples};
use crate::aggregate::dedup::{SeqNo, Stream, StreamRegistry};
use crate::aggregate::dimension::UNKNOWN;
use crate::aggregate::series::{Series, SeriesId};
use crate::journal::segments::Segments;
use crate::report::country::Country;
use crate::report::stream_id::StreamId;
use crate::rows::parquet_reader::{self, StoredRow};
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::query::{
    KeptQuery, KeptStream, RATE_MS, RecentActivity, StoredStream, StreamsPage, StreamsQuery,
};
use crate::time::minute_of;

/// The stream registry, shared with the aggregation worker.
#[derive(Clone)]
pub(crate) struct StreamIndex {
    streams: Arc<RwLock<StreamRegistry>>,
    segments: Arc<Segments>,
    /// The data folder.
    data: PathBuf,
}

impl StreamIndex {
    pub(crate) const fn new(
        streams: Arc<RwLock<StreamRegistry>>,
        segments: Arc<Segments>,
        data: PathBuf,
    ) -> Self {
        Self { streams, segments, data }
    }

    /// Number of streams of `filter` that are not finalized.
    pub(crate) fn open(&self, connection: &Connection, filter: &Filter) -> Result<u64, StoreError> {
        let series = series_in(connection, filter)?;
        let streams = self.streams();
        Ok(streams.open().filter(|stream| series.holds(stream.series)).count() as u64)
    }

    /// When the first report of each stream of `filter` arrived that is not finalized.
    pub(crate) fn open_since_ms(
        &self,
        connection: &Connection,
        filter: &Filter,
    ) -> Result<Vec<i64>, StoreError> {
        let series = series_in(connection, filter)?;
        let streams = self.streams();
        let open = streams.open().filter(|stream| series.holds(stream.series));
        Ok(open.map(|stream| streams.open_since_ms(&stream)).collect())
    }

    /// Number of streams that are not finalized, by the labels of Prometheus.
    pub(crate) fn open_by_labels(&self, connection: &Connection) -> Result<HashMap<Series, u64>, StoreError> {
        let mut by_id: HashMap<SeriesId, u64> = HashMap::new();
        self.streams().open().for_each(|stream| *by_id.entry(stream.series).or_default() += 1);
        let mut by_labels = HashMap::new();
        for (id, count) in by_id {
            // A new series may not be in the store yet.
            if let Some(series) = series_of(connection, id).optional()? {
                *by_labels.entry(series.labels_only()).or_default() += count;
            }
        }
        Ok(by_labels)
    }

    /// Activity within `ms` before `now_ms`.
    pub(crate) fn recent(
        &self,
        connection: &Connection,
        filter: &Filter,
        (ms, now_ms): (i64, i64),
    ) -> Result<RecentActivity, StoreError> {
        let series = series_in(connection, filter)?;
        let streams = self.streams();
        let remembered_ms =
            streams.complete_since_ms().map_or(ms, |since_ms| (now_ms - since_ms).clamp(0, ms));
        let (mut ended, mut reports) = (BTreeMap::new(), 0_u64);
        let rate_ms = RATE_MS.min(remembered_ms);
        for stream in streams.arrived(now_ms - remembered_ms, now_ms) {
            if stream.owned_by_peer() || !series.holds(stream.series) {
                continue;
            }
            reports += u64::from(stream.received_ms > now_ms - rate_ms);
            if stream.finalized.is_some() && !stream.superseded {
                *ended.entry(stream.outcome.as_str()).or_default() += 1;
            }
        }
        let per_second = reports as f64 * 1e3 / rate_ms.max(1) as f64;
        Ok(RecentActivity { ms: remembered_ms, ended, reports_per_second: Some(per_second) })
    }

    /// Stored reports, newest first.
    pub(crate) fn newest(
        &self,
        connection: &Connection,
        asked: &StreamsQuery,
    ) -> Result<StreamsPage, StoreError> {
        let series = series_in(connection, &asked.filter)?;
        let (from_ms, to_ms) = asked.received_ms;
        let is_asked = |stream: &Stream| {
            (from_ms..to_ms).contains(&stream.received_ms)
                && !(asked.only_ended && stream.finalized.is_none())
                && asked.outcome.is_none_or(|outcome| outcome == stream.outcome)
                && series.holds(stream.series)
        };
        let found: Vec<(SeqNo, Stream)> = {
            let streams = self.streams();
            let asked_for = streams.newest(asked.before).filter(|(_, stream)| is_asked(stream));
            asked_for.take(asked.limit + 1).map(|(seq, stream)| (seq, *stream)).collect()
        };
        let shown = found.len().min(asked.limit);
        let next = (found.len() > shown).then(|| found[shown - 1].0);
        let read = found[..shown].iter().filter_map(|(_, stream)| self.read(connection, stream).transpose());
        Ok(StreamsPage { streams: read.collect::<Result<_, _>>()?, next })
    }

    /// Calls `begin` with the time since which all reports are kept, or `None` if none is missing. Then calls `each` with
    /// every ended stream of a range of minutes whose report is kept: those of files, then those of the journal.
    pub(crate) fn each_kept(
        &self,
        connection: &Connection,
        KeptQuery { filter, minutes, most_in_files }: KeptQuery<'_>,
        begin: impl FnOnce(Option<i64>),
        mut each: impl FnMut(&KeptStream<'_>),
    ) -> Result<(), StoreError> {
        let series_in = series_in(connection, filter)?;
        let is_asked = |stream: &Stream| {
            let minute = stream.finalized.map(|counted| i64::from(counted.minute));
            minute.is_some_and(|minute| (minutes.0..minutes.1).contains(&minute))
                && !stream.superseded
                && !stream.owned_by_peer()
                && series_in.holds(stream.series)
        };
        let (found, in_memory) = {
            let streams = self.streams();
            let found = streams.from(0).map(|(_, stream)| stream).filter(|stream| is_asked(stream));
            (found.copied().collect::<Vec<_>>(), (streams.first(), streams.complete_since_ms()))
        };
        // A file that the table has by now, and whose streams were still in memory a moment ago, is not among them.
        let covering = row_files::covering(connection, &self.data, minutes, in_memory, most_in_files)?;
        begin(covering.since_ms);
        let mut known = KnownSeries::default();
        for file in covering.files {
            parquet_reader::each_row(File::open(&file.path)?, |row| {
                let StoredRow { report, received_ms, series } = &row;
                let is_asked = (minutes.0..minutes.1).contains(&minute_of(*received_ms))
                    && series_in.holds(*series)
                    && !file.is_gone(&report.id);
                if is_asked && let Some(series) = known.get(connection, *series)? {
                    each(&KeptStream { series, report, received_ms: *received_ms });
                }
                Ok::<_, StoreError>(())
            })?;
        }
        for stream in found {
            // The journal may have just deleted the report.
            let Some(record) = self.segments.record(stream.at)? else { continue };
            if let Some(series) = known.get(connection, stream.series)? {
                each(&KeptStream { series, report: &record.report, received_ms: stream.received_ms });
            }
        }
        Ok(())
    }

    /// One stored report, if the filter selects it: from the newest reports or from the samples.
    pub(crate) fn one(
        &self,
        connection: &Connection,
        filter: &Filter,
        id: StreamId,
    ) -> Result<Option<StoredStream>, StoreError> {
        let series = series_in(connection, filter)?;
        let is_asked = |stream: &Stream| !stream.owned_by_peer() && series.holds(stream.series);
        let found = self.streams().get(id).filter(|(_, stream)| is_asked(stream));
        let newest = found.map_or(Ok(None), |(_, stream)| self.read(connection, &stream))?;
        newest.map_or_else(|| samples::one(connection, filter, id), |newest| Ok(Some(newest)))
    }

    /// Whether the registry has the stream.
    pub(super) fn knows(&self, id: StreamId) -> bool {
        self.streams().get(id).is_some()
    }

    /// The reports between two sequence numbers, without those that are superseded or owned by a peer.
    pub(super) fn reports(&self, from: SeqNo, to: SeqNo) -> Result<Vec<(SeqNo, Stream, String)>, StoreError> {
        let standing: Vec<(SeqNo, Stream)> = {
            let streams = self.streams();
            let between = streams.from(from).take_while(|(seq, _)| *seq < to);
            let standing = between.filter(|(_, stream)| !stream.superseded && !stream.owned_by_peer());
            standing.map(|(seq, stream)| (seq, *stream)).collect()
        };
        let mut reports = Vec::with_capacity(standing.len());
        for (seq, stream) in standing {
            if let Some(report) = self.segments.report(stream.at)? {
                reports.push((seq, stream, serde_json::to_string(&report)?));
            }
        }
        Ok(reports)
    }

    /// `None` if the journal has just deleted the report.
    fn read(&self, connection: &Connection, stream: &Stream) -> Result<Option<StoredStream>, StoreError> {
        let Some(record) = self.segments.record(stream.at)? else { return Ok(None) };
        let mut counted = connection.prepare_cached("SELECT country FROM series WHERE id = ?1")?;
        let counted = counted.query_row([stream.series], |row| row.get(0)).optional()?;
        // A new series may not be in the store yet.
        let reported = || record.country.as_ref().map_or(UNKNOWN, Country::as_str).to_owned();
        let country = counted.unwrap_or_else(reported);
        let json = serde_json::to_string(&record.report)?;
        Ok(Some(StoredStream { json, received_ms: stream.received_ms, country }))
    }

    fn streams(&self) -> RwLockReadGuard<'_, StreamRegistry> {
        self.streams.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Series by their numbers, each read once.
#[derive(Default)]
struct KnownSeries(HashMap<SeriesId, Series>);

impl KnownSeries {
    /// `None` if the store does not have it yet.
    fn get(&mut self, connection: &Connection, id: SeriesId) -> Result<Option<&Series>, StoreError> {
        Ok(match self.0.entry(id) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(unknown) => match series_of(connection, id).optional()? {
                Some(series) => Some(unknown.insert(series)),
                None => None,
            },
        })
    }
}

/// The series that match a filter.
enum SeriesIn {
    All,
    These(HashSet<SeriesId>),
}

impl SeriesIn {
    fn holds(&self, series: SeriesId) -> bool {
        match self {
            Self::All => true,
            Self::These(these) => these.contains(&series),
        }
    }
}

fn series_in(connection: &Connection, filter: &Filter) -> Result<SeriesIn, StoreError> {
    if filter.selects_everything() {
        return Ok(SeriesIn::All);
    }
    let query = format!("SELECT id FROM series WHERE {}", in_filter(0, filter));
    let mut statement = connection.prepare_cached(&query)?;
    let ids = statement.query_map(with_filter(&[], filter), |row| row.get(0))?;
    Ok(SeriesIn::These(ids.collect::<Result<_, _>>()?))
}
