//! Index of single streams for queries: memory lists the newest, the journal contains their reports, and
//! files contain the older ones.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use beacon::StreamReport;
use rusqlite::{Connection, OptionalExtension};

use super::dimension_columns::{in_filter, series_of, with_filter};
use super::row_files::ListedRowFile;
use super::{row_files, samples};
use crate::aggregate::dedup::{Finalized, SeqNo, Stream, StreamRegistry};
use crate::aggregate::dimension::UNKNOWN;
use crate::aggregate::rough_wait::RoughWait;
use crate::aggregate::series::{Series, SeriesId};
use crate::journal::record::Record;
use crate::journal::segments::Segments;
use crate::report::country::Country;
use crate::report::stream_id::StreamId;
use crate::report::visit::VisitHash;
use crate::rows::parquet_reader::{self, RowSelection, StoredRow};
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::query::{
    KeptQuery, KeptStream, MOST_IN_FILES, RATE_MS, RecentActivity, StoredStream, StreamsPage, StreamsQuery,
    waited_within,
};
use crate::time::MINUTE_MS;

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
        if filter.needs_streams() {
            return Ok(self.of_open(connection, filter)?.len() as u64);
        }
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
        let open = self.of_open(connection, filter)?;
        Ok(open.into_iter().map(|(_, since_ms)| since_ms).collect())
    }

    /// The streams that are not finalized, and when the first report of each arrived.
    fn of_open(&self, connection: &Connection, filter: &Filter) -> Result<Vec<(Stream, i64)>, StoreError> {
        let series = series_in(connection, filter)?;
        let mut open: Vec<_> = {
            let streams = self.streams();
            let open = streams.open().filter(|stream| series.holds(stream.series));
            open.map(|stream| (stream, streams.open_since_ms(&stream))).collect()
        };
        self.retain(filter, &mut open, |(stream, _)| stream)?;
        Ok(open)
    }

    /// Drops the streams that the filter does not select, as far as only their reports tell.
    fn retain<T>(
        &self,
        filter: &Filter,
        streams: &mut Vec<T>,
        stream_of: fn(&T) -> &Stream,
    ) -> Result<(), StoreError> {
        let mut failed = None;
        streams.retain(|entry| {
            self.selects(filter, stream_of(entry)).unwrap_or_else(|error| {
                failed = Some(error);
                false
            })
        });
        failed.map_or(Ok(()), Err)
    }

    /// Whether the filter selects the stream, as far as only its report tells. It reads the journal, so no caller may hold
    /// the lock.
    fn selects(&self, filter: &Filter, stream: &Stream) -> Result<bool, StoreError> {
        if !filter.needs_streams() {
            return Ok(true);
        }
        if !filter.selects_outcome(stream.outcome) {
            return Ok(false);
        }
        let record = self.segments.record(stream.at)?;
        Ok(record.is_some_and(|record| filter.selects_report(&record.report)))
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
        let (mut ended, mut reports) = (BTreeMap::new(), 0_u64);
        let mut add = |stream: &Stream, rate_ms: i64| {
            reports += u64::from(stream.received_ms > now_ms - rate_ms);
            if stream.finalized.is_some() && !stream.superseded {
                *ended.entry(stream.outcome.as_str()).or_default() += 1;
            }
        };
        let (remembered_ms, rate_ms, mut undecided) = {
            let streams = self.streams();
            let remembered_ms =
                streams.complete_since_ms().map_or(ms, |since_ms| (now_ms - since_ms).clamp(0, ms));
            let rate_ms = RATE_MS.min(remembered_ms);
            let arrived = streams.arrived(now_ms - remembered_ms, now_ms);
            let asked = arrived.filter(|stream| {
                !stream.owned_by_peer() && series.holds(stream.series) && is_of_kind(filter, stream)
            });
            let mut undecided = Vec::new();
            match filter.needs_streams() {
                true => undecided.extend(asked.copied()),
                // Not copied: there may be hundreds of thousands.
                false => asked.for_each(|stream| add(stream, rate_ms)),
            }
            (remembered_ms, rate_ms, undecided)
        };
        self.retain(filter, &mut undecided, |stream| stream)?;
        undecided.iter().for_each(|stream| add(stream, rate_ms));
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
                && is_of_kind(&asked.filter, stream)
                && asked.filter.selects_outcome(stream.outcome)
                && series.holds(stream.series)
        };
        let listed = |before: SeqNo, most: usize| -> Vec<(SeqNo, Stream)> {
            let streams = self.streams();
            let listed = streams.newest(before).filter(|(_, stream)| is_asked(stream));
            listed.take(most).map(|(seq, stream)| (seq, *stream)).collect()
        };
        let mut found = listed(asked.before, asked.limit + 1);
        if asked.filter.needs_streams() {
            let mut before = asked.before;
            found.clear();
            while found.len() <= asked.limit {
                let mut next = listed(before, SEARCHED_AT_ONCE);
                let Some((oldest, _)) = next.last() else { break };
                before = *oldest;
                self.retain(&asked.filter, &mut next, |(_, stream)| stream)?;
                found.extend(next);
            }
            found.truncate(asked.limit + 1);
        }
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
        asked: KeptQuery<'_>,
        begin: impl FnOnce(Option<i64>),
        mut each: impl FnMut(&KeptStream<'_>),
    ) -> Result<(), StoreError> {
        let KeptQuery { filter, minutes, most_in_files, ttft_ms, fields } = asked;
        let ttft_ms = ttft_ms.as_ref();
        let series_in = series_in(connection, filter)?;
        let is_asked = |stream: &Stream| {
            let is_in_range = |counted: &Finalized| {
                (minutes.0..minutes.1).contains(&i64::from(counted.minute))
                    && ttft_ms.is_none_or(|asked| counted.wait.may_be_in(asked))
            };
            stream.finalized.as_ref().is_some_and(is_in_range)
                && !stream.superseded
                && !stream.owned_by_peer()
                && series_in.holds(stream.series)
        };
        // Before memory is read: once its streams are in a file, the journal drops their reports.
        let held = self.segments.hold();
        let (found, in_memory) = {
            let streams = self.streams();
            let found = streams.from(0).filter(|(_, stream)| is_asked(stream));
            let found = found.map(|(seq, stream)| (seq, *stream));
            (found.collect::<Vec<_>>(), (streams.first(), streams.complete_since_ms()))
        };
        // A file that the table has by now, and whose streams were still in memory a moment ago, is not among them.
        let covering = row_files::covering(connection, &self.data, minutes, in_memory, most_in_files)?;
        begin(covering.since_ms);
        let mut known = KnownSeries::default();
        let received_ms = minutes.0 * MINUTE_MS..minutes.1 * MINUTE_MS;
        let files = covering.files.into_iter().map(|file| {
            let (received_ms, series_in) = (received_ms.clone(), &series_in);
            (file.path.clone(), FileSelection { received_ms, series_in, filter, ttft_ms, file })
        });
        parquet_reader::each_row(&files.collect::<Vec<_>>(), &fields, |row| {
            let StoredRow { report, received_ms, series, judgement, visit, .. } = row;
            if let Some(series) = known.get(connection, series)? {
                each(&KeptStream { series, report, received_ms, judgement, visit });
            }
            Ok::<_, StoreError>(())
        })?;
        let mut waits = Vec::new();
        for (seq, stream) in found {
            // The disk may have lost the report.
            let Some(record) = self.segments.held_record(&held, stream.at)? else { continue };
            if ttft_ms.is_some() && stream.finalized.is_some_and(|counted| counted.wait == RoughWait::UNKNOWN)
            {
                waits.push((seq, RoughWait::of(&record.report)));
            }
            if filter.selects_report(&record.report)
                && waited_within(&record.report, ttft_ms)
                && let Some(series) = known.get(connection, stream.series)?
            {
                let judgement = stream.finalized.map(|counted| counted.judgement).unwrap_or_default();
                let (report, received_ms, visit) = (&record.report, stream.received_ms, record.visit);
                each(&KeptStream { series, report, received_ms, judgement, visit });
            }
        }
        if !waits.is_empty() {
            self.streams.write().unwrap_or_else(PoisonError::into_inner).note_waits(waits);
        }
        Ok(())
    }

    /// Time since which all reports of a range of minutes are kept. `None` if none is missing.
    pub(crate) fn kept_since_ms(
        &self,
        connection: &Connection,
        minutes: (i64, i64),
    ) -> Result<Option<i64>, StoreError> {
        let in_memory = {
            let streams = self.streams();
            (streams.first(), streams.complete_since_ms())
        };
        Ok(row_files::covering(connection, &self.data, minutes, in_memory, MOST_IN_FILES)?.since_ms)
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
    pub(super) fn reports(&self, from: SeqNo, to: SeqNo) -> Result<Vec<PublishedStream>, StoreError> {
        let standing: Vec<(SeqNo, Stream)> = {
            let streams = self.streams();
            let between = streams.from(from).take_while(|(seq, _)| *seq < to);
            let standing = between.filter(|(_, stream)| !stream.superseded && !stream.owned_by_peer());
            standing.map(|(seq, stream)| (seq, *stream)).collect()
        };
        let mut reports = Vec::with_capacity(standing.len());
        for (seq, stream) in standing {
            if let Some(Record { report, visit, .. }) = self.segments.record(stream.at)? {
                reports.push(PublishedStream { seq, stream, visit, json: serde_json::to_string(&report)? });
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

/// A stream, as a cluster publishes it.
pub(super) struct PublishedStream {
    pub(super) seq: SeqNo,
    pub(super) stream: Stream,
    pub(super) visit: Option<VisitHash>,
    /// The report.
    pub(super) json: String,
}

/// The streams of a file that a query selects.
struct FileSelection<'a> {
    received_ms: Range<i64>,
    series_in: &'a SeriesIn,
    filter: &'a Filter,
    ttft_ms: Option<&'a RangeInclusive<f64>>,
    file: ListedRowFile,
}

impl RowSelection for FileSelection<'_> {
    fn received_ms(&self) -> Range<i64> {
        self.received_ms.clone()
    }

    fn has_series(&self, series: SeriesId) -> bool {
        self.series_in.holds(series)
    }

    fn reads(&self) -> Vec<&'static str> {
        let id = self.file.has_gone().then_some("id");
        let wait = self.ttft_ms.map(|_| "ttft_ms");
        self.filter.reads_of_reports().chain(id).chain(wait).collect()
    }

    fn has_report(&self, report: &StreamReport) -> bool {
        self.filter.selects_report(report)
            && waited_within(report, self.ttft_ms)
            && !self.file.is_gone(&report.id)
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

/// Streams whose reports are read together to find those of a filter.
const SEARCHED_AT_ONCE: usize = 1_000;

/// Whether the filter selects the kind of a stream. That of an open stream is not known yet.
fn is_of_kind(filter: &Filter, stream: &Stream) -> bool {
    stream.finalized.is_none_or(|counted| filter.selects_kind(counted.judgement.kind))
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
    if filter.selects_every_series() {
        return Ok(SeriesIn::All);
    }
    let query = format!("SELECT id FROM series WHERE {}", in_filter(0, filter));
    let mut statement = connection.prepare_cached(&query)?;
    let ids = statement.query_map(with_filter(&[], filter), |row| row.get(0))?;
    Ok(SeriesIn::These(ids.collect::<Result<_, _>>()?))
}
