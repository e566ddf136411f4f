//! Answers queries from the SQLite file or from ClickHouse, whichever is configured. Both give the same numbers.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread::{self, Scope, ScopedJoinHandle};

use rusqlite::Connection;

use super::stream_index::StreamIndex;
use super::{markers, reader, samples};
use crate::aggregate::dimension::Dimension;
use crate::aggregate::internal_metrics::Counts;
use crate::aggregate::window_stats::WindowStats;
use crate::config::token::AllSites;
use crate::report::stream_id::StreamId;
use crate::store::clickhouse::queries::ClusterTables;
use crate::store::engine_minutes::{self, EngineMinute};
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::markers::{Marker, MarkersQuery};
use crate::store::query::{
    IngestTotals, KeptQuery, KeptStream, RecentActivity, SamplesQuery, StoredStream, StreamsPage,
    StreamsQuery, WindowsQuery,
};
use crate::time::minute_of;

/// One query's view of the store.
pub(crate) enum Backend<'a> {
    /// This collector's own file and journal.
    File {
        /// Read-only connection to the file.
        connection: &'a Connection,
        /// Index of single streams.
        stream_index: &'a StreamIndex,
    },
    /// The rows that all collectors have published.
    Cluster(&'a ClusterTables),
}

impl Backend<'_> {
    /// Runs two queries. A cluster runs them concurrently, because each one takes a network round trip.
    pub(crate) fn both<A: Send, B>(
        &self,
        one: impl FnOnce(&Backend<'_>) -> Result<A, StoreError> + Send,
        other: impl FnOnce(&Backend<'_>) -> Result<B, StoreError>,
    ) -> Result<(A, B), StoreError> {
        match self {
            Self::File { .. } => Ok((one(self)?, other(self)?)),
            Self::Cluster(tables) => thread::scope(|scope| {
                let one = ask(scope, move || one(&Backend::Cluster(tables)))?;
                let other = other(self);
                Ok((answer(one)?, other?))
            }),
        }
    }

    /// Runs the same query for each element. A cluster runs all of them concurrently.
    pub(crate) fn each<T: Send, A: Send>(
        &self,
        of: impl IntoIterator<Item = T>,
        question: impl Fn(&Backend<'_>, T) -> Result<A, StoreError> + Sync,
    ) -> Result<Vec<A>, StoreError> {
        match self {
            Self::File { .. } => of.into_iter().map(|one| question(self, one)).collect(),
            Self::Cluster(tables) => thread::scope(|scope| {
                let question = &question;
                let asked = |one| ask(scope, move || question(&Backend::Cluster(tables), one));
                let asked: Vec<_> = of.into_iter().map(asked).collect::<Result<_, _>>()?;
                asked.into_iter().map(answer).collect()
            }),
        }
    }

    /// Calls `each` with the windows that cover the range, and the first minute of each. If only single streams tell what the
    /// filter selects, these are windows of the streams that are kept; a minute may then have several.
    pub(crate) fn windows(
        &self,
        asked: &WindowsQuery<'_>,
        mut each: impl FnMut(i64, &WindowStats),
    ) -> Result<(), StoreError> {
        if asked.filter.needs_streams() {
            return self.kept_by_minute(asked, each);
        }
        match self {
            Self::File { connection, .. } => {
                reader::windows(connection, asked, [], |start, [], stats| each(start, stats))
            }
            Self::Cluster(tables) => tables.windows(asked, each),
        }
    }

    /// Calls `each` with the windows that cover the range, and their values of the dimensions.
    pub(crate) fn windows_by<const N: usize>(
        &self,
        asked: &WindowsQuery<'_>,
        by: [Dimension; N],
        mut each: impl FnMut([&str; N], &WindowStats),
    ) -> Result<(), StoreError> {
        if asked.filter.needs_streams() {
            let groups = self.kept_in_groups(asked, &[], |stream, groups| {
                let values = by.map(|dimension| stream.series[dimension].clone());
                stream.add_to(groups.entry(values).or_default(), asked.metrics);
            })?;
            groups.iter().for_each(|(values, stats)| each(values.each_ref().map(String::as_str), stats));
            return Ok(());
        }
        match self {
            Self::File { connection, .. } => {
                reader::windows(connection, asked, by, |_, values, stats| each(values, stats))
            }
            Self::Cluster(tables) => tables.windows_by(asked, by, each),
        }
    }

    fn kept_by_minute(
        &self,
        asked: &WindowsQuery<'_>,
        mut each: impl FnMut(i64, &WindowStats),
    ) -> Result<(), StoreError> {
        let (mut minute, mut stats) = (None, WindowStats::default());
        let add = |stream: &KeptStream<'_>| {
            let own = minute_of(stream.received_ms);
            // Streams lie in the order of their arrival, or nearly so.
            if let Some(before) = minute.replace(own)
                && before != own
            {
                each(before, &stats);
                stats = WindowStats::default();
            }
            stream.add_to(&mut stats, asked.metrics);
        };
        self.each_kept(KeptQuery::of_statistics(asked, []), |_| {}, add)?;
        minute.into_iter().for_each(|minute| each(minute, &stats));
        Ok(())
    }

    /// Statistics of the kept streams in groups: `add` adds each stream to one or several. `reads`: fields that it reads
    /// to find them.
    pub(crate) fn kept_in_groups<K: Ord>(
        &self,
        asked: &WindowsQuery<'_>,
        reads: &[&'static str],
        mut add: impl FnMut(&KeptStream<'_>, &mut BTreeMap<K, WindowStats>),
    ) -> Result<BTreeMap<K, WindowStats>, StoreError> {
        let mut groups = BTreeMap::new();
        let query = KeptQuery::of_statistics(asked, reads.iter().copied());
        self.each_kept(query, |_| {}, |stream| add(stream, &mut groups))?;
        Ok(groups)
    }

    /// Statistics of the range, merged by value of a dimension.
    pub(crate) fn stats_by(
        &self,
        asked: &WindowsQuery<'_>,
        dimension: Dimension,
    ) -> Result<BTreeMap<String, WindowStats>, StoreError> {
        let groups = self.grouped_stats(asked, [dimension])?;
        Ok(groups.into_iter().map(|([value], stats)| (value, stats)).collect())
    }

    /// Statistics of the range, merged by the values of some dimensions.
    pub(crate) fn grouped_stats<const N: usize>(
        &self,
        asked: &WindowsQuery<'_>,
        by: [Dimension; N],
    ) -> Result<BTreeMap<[String; N], WindowStats>, StoreError> {
        let mut all_stats: BTreeMap<[String; N], WindowStats> = BTreeMap::new();
        self.windows_by(asked, by, |values, stats| {
            all_stats.entry(values.map(str::to_owned)).or_default().merge(stats);
        })?;
        Ok(all_stats)
    }

    /// A number that rises with every counted report. `None` in a cluster, where no collector knows it.
    pub(crate) fn counted_up_to(&self) -> Result<Option<i64>, StoreError> {
        match self {
            Self::File { connection, .. } => reader::counted_up_to(connection).map(Some),
            Self::Cluster(_) => Ok(None),
        }
    }

    /// Counters of the sites that the filter selects, since the store was created.
    pub(crate) fn counts(&self, filter: &Filter) -> Result<Counts, StoreError> {
        let counts = match self {
            Self::File { connection, .. } => reader::counts(connection)?,
            Self::Cluster(tables) => tables.ingest_totals()?.counts,
        };
        Ok(counts.of_sites(|site| filter.selects_site(site)))
    }

    /// Counters and the number of finalized streams, from one snapshot. Most are not by site.
    pub(crate) fn ingest_totals(&self, _: AllSites) -> Result<IngestTotals, StoreError> {
        match self {
            // This collector may have been one of several before.
            Self::File { connection, .. } => Ok(reader::ingest_totals(connection)?.merged_over_peers()),
            Self::Cluster(tables) => tables.ingest_totals(),
        }
    }

    /// Number of matching streams that are not finalized.
    pub(crate) fn open_streams(&self, filter: &Filter) -> Result<u64, StoreError> {
        match self {
            Self::File { connection, stream_index } => stream_index.open(connection, filter),
            Self::Cluster(tables) => tables.open_streams(filter),
        }
    }

    /// When the first report of each matching stream arrived that is not finalized.
    pub(crate) fn open_since_ms(&self, filter: &Filter) -> Result<Vec<i64>, StoreError> {
        match self {
            Self::File { connection, stream_index } => stream_index.open_since_ms(connection, filter),
            Self::Cluster(tables) => tables.open_since_ms(filter),
        }
    }

    /// Activity within the first value of `at`, in milliseconds, before the second.
    pub(crate) fn recent(&self, filter: &Filter, at: (i64, i64)) -> Result<RecentActivity, StoreError> {
        match self {
            Self::File { connection, stream_index } => stream_index.recent(connection, filter, at),
            Self::Cluster(tables) => tables.recent(filter, at),
        }
    }

    /// Whether the numbers come from all collectors of a cluster. Otherwise this collector runs alone.
    pub(crate) const fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    /// Stored reports, newest first.
    pub(crate) fn newest(&self, asked: &StreamsQuery) -> Result<StreamsPage, StoreError> {
        match self {
            Self::File { connection, stream_index } => stream_index.newest(connection, asked),
            Self::Cluster(tables) => tables.newest(asked),
        }
    }

    /// Calls `begin` with the time since which all reports are kept, or `None` if none was evicted. Then calls `each` with
    /// every ended stream of a range of minutes whose report is kept.
    pub(crate) fn each_kept(
        &self,
        asked: KeptQuery<'_>,
        begin: impl FnOnce(Option<i64>),
        each: impl FnMut(&KeptStream<'_>),
    ) -> Result<(), StoreError> {
        match self {
            Self::File { connection, stream_index } => stream_index.each_kept(connection, asked, begin, each),
            Self::Cluster(tables) => tables.each_kept(asked, begin, each),
        }
    }

    /// The time since which the reports of a range of minutes are kept, as [`each_kept`](Self::each_kept) tells it.
    pub(crate) fn kept_since_ms(&self, minutes: (i64, i64)) -> Result<Option<i64>, StoreError> {
        match self {
            Self::File { connection, stream_index } => stream_index.kept_since_ms(connection, minutes),
            Self::Cluster(tables) => tables.kept_since_ms(),
        }
    }

    /// Sampled reports, which are kept longer than the newest reports.
    pub(crate) fn samples(&self, asked: &SamplesQuery) -> Result<StreamsPage, StoreError> {
        match self {
            Self::File { connection, .. } => samples::page(connection, asked),
            Self::Cluster(tables) => tables.samples(asked),
        }
    }

    /// Posted markers of the sites that the filter selects and of all sites, in the order of their times.
    pub(crate) fn markers(&self, asked: &MarkersQuery<'_>) -> Result<Vec<Marker>, StoreError> {
        match self {
            Self::File { connection, .. } => markers::list(connection, asked),
            Self::Cluster(tables) => tables.markers(asked),
        }
    }

    /// Calls `each` with the figures of engines in a range of minutes, in the order of their times. The end is exclusive.
    pub(crate) fn engine_minutes(
        &self,
        minutes: (i64, i64),
        each: impl FnMut(EngineMinute),
    ) -> Result<(), StoreError> {
        match self {
            Self::File { connection, .. } => engine_minutes::each(connection, minutes, each),
            Self::Cluster(tables) => tables.engine_minutes(minutes, each),
        }
    }

    /// One stored report, if the filter selects it.
    pub(crate) fn one(&self, filter: &Filter, id: StreamId) -> Result<Option<StoredStream>, StoreError> {
        match self {
            Self::File { connection, stream_index } => stream_index.one(connection, filter, id),
            Self::Cluster(tables) => tables.one(filter, id),
        }
    }
}

type Asked<'scope, A> = ScopedJoinHandle<'scope, Result<A, StoreError>>;

fn ask<'scope, A: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    question: impl FnOnce() -> Result<A, StoreError> + Send + 'scope,
) -> Result<Asked<'scope, A>, StoreError> {
    thread::Builder::new().name("question".into()).spawn_scoped(scope, question).map_err(StoreError::Thread)
}

fn answer<A>(asked: Asked<'_, A>) -> Result<A, StoreError> {
    asked.join().unwrap_or_else(|panic| resume_unwind(panic))
}
