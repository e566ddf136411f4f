//! Queries over the shares of all collectors.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use beacon::{Outcome, StreamReport};

use super::client::{Client, Params};
use super::rows::{self, stats_columns};
use super::schema::SLOT;
use crate::aggregate::dedup::SeqNo;
use crate::aggregate::dimension::{Dimension, UNKNOWN, columns};
use crate::aggregate::internal_metrics::{COUNTED, CountKey, Counts, Kind};
use crate::aggregate::judgement::Judgement;
use crate::aggregate::sampling::SampleKind;
use crate::aggregate::series::Series;
use crate::aggregate::window_stats::WindowStats;
use crate::config::{ClickHouse, Config};
use crate::report::stream_id::StreamId;
use crate::store::error::StoreError;
use crate::store::filter::{Filter, Selection};
use crate::store::query::{
    IngestTotals, KeptQuery, KeptStream, RecentActivity, SamplesQuery, StoredStream, StreamsPage,
    StreamsQuery, WindowsQuery, waited_within,
};
use crate::store::range_cover::{CoverPiece, cover};
use crate::store::rollups::key::{FIVE_MINUTES, GroupByMask};
use crate::time;
use crate::time::{DAY_MINUTES, HOUR_MINUTES, MINUTE_MS, day_of};

/// The tables in ClickHouse, for reading.
pub(crate) struct ClusterTables {
    pub(super) client: Client,
    finalize_after_ms: i64,
    samples: u32,
}

impl ClusterTables {
    pub(crate) fn new(config: &Config, clickhouse: ClickHouse) -> Self {
        let finalize_after_ms = i64::from(config.settle_after_seconds) * 1_000;
        Self { client: Client::new(clickhouse), finalize_after_ms, samples: config.store.samples }
    }

    /// Calls `each` with the windows that cover the range, and the first minute of each.
    pub(in crate::store) fn windows(
        &self,
        asked: &WindowsQuery<'_>,
        mut each: impl FnMut(i64, &WindowStats),
    ) -> Result<(), StoreError> {
        self.sums(asked, [], |start, [], stats| each(start, stats))
    }

    /// Calls `each` with the sums over the range, and their values of the dimensions.
    pub(in crate::store) fn windows_by<const N: usize>(
        &self,
        asked: &WindowsQuery<'_>,
        by: [Dimension; N],
        mut each: impl FnMut([&str; N], &WindowStats),
    ) -> Result<(), StoreError> {
        self.sums(asked, by, |_, values, stats| each(values, stats))
    }

    /// Without dimensions, sums keep the starts of their windows.
    fn sums<const N: usize>(
        &self,
        asked: &WindowsQuery<'_>,
        by: [Dimension; N],
        mut each: impl FnMut(i64, [&str; N], &WindowStats),
    ) -> Result<(), StoreError> {
        let pieces = self.pieces(asked)?;
        if pieces.is_empty() {
            return Ok(());
        }
        let mask = GroupByMask::of(asked.filter, &by);
        let start = if N == 0 { "start" } else { "0" };
        let values = by.map(|by| match (by.is_window_only(), by.name()) {
            (true, column) => format!("if({column} = '', '{UNKNOWN}', {column})"),
            (false, column) => column.to_owned(),
        });
        let mut query = format!("SELECT {start} AS at, [{}]::Array(String) AS groups", values.join(", "));
        for (name, sum, _) in stats_columns(asked.metrics) {
            let _infallible = write!(query, ", {sum}({name})");
        }
        let mut params = Params::default();
        let pieces: Vec<_> =
            pieces.iter().map(|(collector, piece)| of_piece(collector, piece, mask, &mut params)).collect();
        // The condition uses only columns of the key, which all versions of a row share. `PREWHERE` can
        // therefore filter before `FINAL` picks the last version, and only matching rows are read as a whole.
        let _infallible = write!(
            query,
            " FROM {} FINAL PREWHERE ({}){} GROUP BY at, groups ORDER BY at, groups",
            self.client.table("windows"),
            pieces.join(" OR "),
            in_filter(asked.filter, &mut params)
        );
        self.client.query(&query, &params)?.lines().try_for_each(|line| {
            let (start, values, stats) = rows::summed::<N>(line, asked.metrics)?;
            each(start, values.each_ref().map(String::as_str), &stats);
            Ok(())
        })
    }

    /// Windows of each collector that cover the range. Whether a rollup is complete is a matter of its
    /// collector alone. Before a collector publishes a minute, it marks the rollups of its five minutes and
    /// its hour as incomplete. A span without a mark therefore has no data.
    fn pieces(&self, asked: &WindowsQuery<'_>) -> Result<Vec<(String, CoverPiece)>, StoreError> {
        let (from, to) = asked.minutes;
        let query = format!(
            "SELECT collector, length, start, stands, window_only FROM {} FINAL
             WHERE length <= {DAY_MINUTES} AND start < {to} AND start + length > {from}",
            self.client.table("spans"),
        );
        let mut known: BTreeMap<String, Spans> = BTreeMap::new();
        rows::each(
            &self.client.query(&query, &Params::default())?,
            |(collector, length, start, stands, window_only): (String, i64, i64, u8, u8)| {
                let Spans { standing, touched } = known.entry(collector).or_default();
                // A complete hour says nothing about its parts: each five minutes with data have a row of
                // their own.
                if length == FIVE_MINUTES || length == HOUR_MINUTES && stands == 0 {
                    touched.extend((start..start + length).step_by(FIVE_MINUTES as usize));
                }
                let is_inside = start >= from && start + length <= to && length <= asked.longest;
                if stands == 1 && is_inside {
                    standing.insert((length, start), window_only);
                }
                Ok(())
            },
        )?;
        let covered = known.into_iter().flat_map(|(collector, Spans { standing, touched })| {
            let pieces = cover((from, to), &standing, |slot| !touched.contains(&slot));
            pieces.into_iter().map(move |piece| (collector.clone(), piece))
        });
        Ok(covered.collect())
    }

    /// Ingest totals of all collectors. If two collectors counted revisions of one stream, one of them has
    /// yielded. Its report is then counted as the other collector would have counted it.
    pub(in crate::store) fn ingest_totals(&self) -> Result<IngestTotals, StoreError> {
        let table = self.client.table("counts");
        let query = format!("SELECT kind, site, word, sum(n) FROM {table} FINAL GROUP BY kind, site, word");
        let (mut counts, mut counted) = (BTreeMap::new(), 0);
        let answer = self.client.query(&query, &Params::default())?;
        rows::each(&answer, |(kind, site, word, n): (String, String, String, u64)| {
            // Skips kinds that only a later version knows.
            match Kind::ALL.into_iter().find(|known| known.as_str() == kind) {
                Some(COUNTED) => counted = n,
                Some(kind) => _ = counts.insert(CountKey { kind, site, word }, n),
                None => {}
            }
            Ok(())
        })?;
        Ok(IngestTotals { counts: Counts::new(counts), counted }.merged_over_peers())
    }

    /// Number of streams that are neither ended nor idle for long enough to be finalized.
    pub(in crate::store) fn open_streams(&self, filter: &Filter) -> Result<u64, StoreError> {
        Ok(self.open_since_ms(filter)?.len() as u64)
    }

    /// When the first published report of each of these streams arrived.
    pub(in crate::store) fn open_since_ms(&self, filter: &Filter) -> Result<Vec<i64>, StoreError> {
        let (table, from_ms) = (self.client.table("streams"), time::now_ms() - self.finalize_after_ms);
        let dimensions = columns(Dimension::all());
        let mut params = Params::default();
        // Revisions can arrive out of order.
        let query = format!(
            "SELECT first_ms, latest.3 FROM (
                SELECT argMax((is_open, received_ms, {}, {dimensions}), (rev, collector, place)) AS latest,
                    min(received_ms) AS first_ms
                FROM {table} WHERE id IN (SELECT id FROM {table} WHERE received_ms > {from_ms}) GROUP BY site, id)
             WHERE latest.1 AND latest.2 > {from_ms} AND {}",
            report_for(filter),
            in_latest(filter, 4, &mut params),
        );
        let mut since = Vec::new();
        rows::each(&self.client.query(&query, &params)?, |(first_ms, report): (i64, String)| {
            if selects(filter, &report)? {
                since.push(first_ms);
            }
            Ok(())
        })?;
        Ok(since)
    }

    /// Published activity within `ms` before `now_ms`.
    pub(in crate::store) fn recent(
        &self,
        filter: &Filter,
        (ms, now_ms): (i64, i64),
    ) -> Result<RecentActivity, StoreError> {
        let (table, from_ms) = (self.client.table("streams"), now_ms - ms);
        let dimensions = columns(Dimension::all());
        let mut params = Params::default();
        let query = format!(
            "SELECT latest.2 AS outcome, latest.4 AS report, count() FROM (
                SELECT argMax((is_open, outcome, received_ms, {}, {dimensions}), (rev, collector, place))
                    AS latest
                FROM {table} WHERE id IN (SELECT id FROM {table} WHERE received_ms > {from_ms}) GROUP BY site, id)
             WHERE latest.3 > {from_ms} AND latest.3 <= {now_ms} AND {} AND {} GROUP BY outcome, report",
            report_for(filter),
            self.has_ended("latest.1", "latest.3", now_ms),
            in_latest(filter, 5, &mut params),
        );
        let mut ended = BTreeMap::new();
        rows::each(&self.client.query(&query, &params)?, |(word, report, count): (String, String, u64)| {
            // Skips outcomes that only a later version knows.
            let known = Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == word);
            if let Some(outcome) = known
                && selects(filter, &report)?
            {
                *ended.entry(outcome.as_str()).or_default() += count;
            }
            Ok(())
        })?;
        Ok(RecentActivity { ms, ended, reports_per_second: None })
    }

    /// The opposite of [`open_streams`](Self::open_streams), as a condition.
    fn has_ended(&self, is_open: &str, received_ms: &str, now_ms: i64) -> String {
        format!("(NOT {is_open} OR {received_ms} <= {})", now_ms - self.finalize_after_ms)
    }

    /// Stored reports, newest first.
    pub(in crate::store) fn newest(&self, asked: &StreamsQuery) -> Result<StreamsPage, StoreError> {
        // Only the reports tell whether such a filter selects them.
        let at_once = if asked.filter.needs_streams() { SEARCHED_AT_ONCE } else { asked.limit + 1 };
        let (mut found, mut before) = (Vec::new(), asked.before);
        loop {
            let listed = self.listed(asked, before, at_once)?;
            for (at, stream) in self.reports(&listed)? {
                if stream.is_in(&asked.filter)? {
                    found.push((at, stream));
                }
            }
            match listed.last() {
                Some((.., oldest)) if listed.len() == at_once && found.len() <= asked.limit => {
                    before = *oldest;
                }
                _ => break,
            }
        }
        let next = (found.len() > asked.limit).then(|| found[asked.limit - 1].0);
        found.truncate(asked.limit);
        Ok(StreamsPage { streams: found.into_iter().map(|(_, stream)| stream).collect(), next })
    }

    /// Which stored reports come before a place in the list, newest first: collector, number, and place in the list.
    fn listed(
        &self,
        asked: &StreamsQuery,
        before: SeqNo,
        most: usize,
    ) -> Result<Vec<(String, u64, u64)>, StoreError> {
        let mut params = Params::default();
        let ended = match asked.only_ended {
            true => self.has_ended("latest.5", "latest.4", time::now_ms()),
            false => "1".to_owned(),
        };
        let dimensions = columns(Dimension::all());
        // Each collector numbers its own streams. Across collectors, the time and a hash of the id give the
        // order.
        let query = format!(
            "SELECT latest.1, latest.2, latest.4 * {CHANCES} + cityHash64(id) % {CHANCES} AS at FROM (
                SELECT id, argMax((collector, place, outcome, received_ms, is_open, {dimensions}),
                    (rev, collector, place)) AS latest
                FROM {} GROUP BY site, id)
             WHERE {ended} AND {} AND latest.4 >= {} AND latest.4 < {} AND at < {}
             ORDER BY at DESC LIMIT {}",
            self.client.table("streams"),
            in_latest(&asked.filter, 6, &mut params),
            asked.received_ms.0,
            asked.received_ms.1,
            before.min(i64::MAX as u64),
            most
        );
        let mut listed = Vec::new();
        rows::each(&self.client.query(&query, &params)?, |row: (String, u64, u64)| {
            listed.push(row);
            Ok(())
        })?;
        Ok(listed)
    }

    /// Calls `begin` with the time since which all collectors keep the reports, or `None` if none was evicted. Then calls
    /// `each` with every ended stream of a range of minutes whose report is published and kept.
    pub(in crate::store) fn each_kept(
        &self,
        KeptQuery { filter, minutes: (from, to), ttft_ms, .. }: KeptQuery<'_>,
        begin: impl FnOnce(Option<i64>),
        mut each: impl FnMut(&KeptStream<'_>),
    ) -> Result<(), StoreError> {
        let since_ms = self.kept_since_ms()?;
        let mut params = Params::default();
        let names: Vec<_> = (6..6 + Dimension::COUNT).map(|at| format!("latest.{at}")).collect();
        let query = format!(
            "SELECT latest.1, latest.3, latest.4, toString(latest.5), [{}]::Array(String) FROM (
                SELECT argMax((received_ms, is_open, report, judgement, visit, {}), (rev, collector, place)) AS latest
                FROM {} GROUP BY site, id)
             WHERE {} AND latest.1 >= {} AND latest.1 < {} AND {}
             ORDER BY latest.1",
            names.join(", "),
            columns(Dimension::all()),
            self.client.table("streams"),
            self.has_ended("latest.2", "latest.1", time::now_ms()),
            from * MINUTE_MS,
            to * MINUTE_MS,
            in_latest(filter, 6, &mut params),
        );
        let answer = self.client.query(&query, &params)?;
        begin(since_ms);
        // A hash is a text: JSON of ClickHouse may round large numbers or quote them.
        type Row = (i64, String, u16, Option<String>, [String; Dimension::COUNT]);
        rows::each(&answer, |(received_ms, report, judgement, visit, values): Row| {
            let report: StreamReport = serde_json::from_str(&report)?;
            let series = Series::new(values.map(rows::meant));
            let judgement = Judgement::from_bits(judgement).unwrap_or_default();
            if filter.selects_report(&report) && waited_within(&report, ttft_ms.as_ref()) {
                let visit = visit.and_then(|hash| hash.parse().ok());
                each(&KeptStream { series: &series, report: &report, received_ms, judgement, visit });
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Time since which all collectors keep the reports. `None` if none was evicted.
    pub(in crate::store) fn kept_since_ms(&self) -> Result<Option<i64>, StoreError> {
        let query = format!(
            "SELECT maxOrNull(since) FROM (
                SELECT min(received_ms) AS since, min(place) AS first FROM {} GROUP BY collector)
             WHERE first > 0",
            self.client.table("streams")
        );
        let mut since_ms = None;
        rows::each(&self.client.query(&query, &Params::default())?, |[found]: [Option<i64>; 1]| {
            since_ms = found;
            Ok(())
        })?;
        Ok(since_ms)
    }

    /// The reports of a list, with their places in it.
    fn reports(&self, seq_nos: &[(String, u64, u64)]) -> Result<Vec<(SeqNo, StoredStream)>, StoreError> {
        if seq_nos.is_empty() {
            return Ok(Vec::new());
        }
        let mut params = Params::default();
        let list: Vec<_> = seq_nos
            .iter()
            .map(|(collector, seq, _)| format!("({}, {seq})", params.text(collector)))
            .collect();
        let query = format!(
            "SELECT collector, place, received_ms, country, report FROM {} WHERE (collector, place) IN ({})",
            self.client.table("streams"),
            list.join(", ")
        );
        let mut reports = BTreeMap::new();
        rows::each(
            &self.client.query(&query, &params)?,
            |(collector, seq, received_ms, country, json): (String, u64, i64, String, String)| {
                let country = rows::meant(country);
                reports.insert((collector, seq), StoredStream { json, received_ms, country });
                Ok(())
            },
        )?;
        // A report that was evicted in the meantime is missing here.
        let in_order = seq_nos
            .iter()
            .filter_map(|(collector, seq, at)| Some((*at, reports.remove(&(collector.clone(), *seq))?)));
        Ok(in_order.collect())
    }

    /// Sampled reports. The union of all collectors' samples contains the sample that one collector would
    /// have kept.
    pub(in crate::store) fn samples(&self, asked: &SamplesQuery) -> Result<StreamsPage, StoreError> {
        let (score, order) = match asked.sample {
            SampleKind::Slowest => ("waited_ms", "waited_ms"),
            SampleKind::Failed | SampleKind::Uniform => ("lot", "received_ms"),
        };
        let mut params = Params::default();
        let query = format!(
            "SELECT received_ms, country, report FROM (
                SELECT * FROM {} FINAL WHERE bitAnd(kinds, {}) > 0 AND day BETWEEN {} AND {}
                ORDER BY {score} DESC, id DESC LIMIT {} BY site, day)
             WHERE received_ms >= {} AND received_ms < {}{}
             ORDER BY {order} DESC, id",
            self.client.table("samples"),
            asked.sample.bit(),
            day_of(asked.received_ms.0),
            day_of(asked.received_ms.1).min(u32::MAX.into()),
            self.samples,
            asked.received_ms.0,
            asked.received_ms.1,
            in_filter(&asked.filter, &mut params),
        );
        let all = self.reports_of(&query, &params)?;
        StreamsPage::of_samples(all.into_iter().map(Ok), asked)
    }

    fn reports_of(&self, query: &str, params: &Params) -> Result<Vec<StoredStream>, StoreError> {
        let mut streams = Vec::new();
        let answer = self.client.query(query, params)?;
        rows::each(&answer, |(received_ms, country, json): (i64, String, String)| {
            streams.push(StoredStream { json, received_ms, country: rows::meant(country) });
            Ok(())
        })?;
        Ok(streams)
    }

    /// One stored report, if the filter selects it: from the newest reports or from the samples.
    pub(in crate::store) fn one(
        &self,
        filter: &Filter,
        id: StreamId,
    ) -> Result<Option<StoredStream>, StoreError> {
        let mut params = Params::default();
        let id = params.text(&format!("{id:032x}"));
        let in_filter = in_filter(filter, &mut params);
        let newest = format!(
            "SELECT received_ms, country, report FROM {} WHERE id = {id}{in_filter}
             ORDER BY rev DESC, collector DESC, place DESC LIMIT 1",
            self.client.table("streams")
        );
        let mask = format!(
            "SELECT received_ms, country, report FROM {} FINAL WHERE id = {id} AND kinds > 0{in_filter}
             ORDER BY day DESC LIMIT 1",
            self.client.table("samples")
        );
        match self.reports_of(&newest, &params)?.pop() {
            Some(newest) => Ok(Some(newest)),
            None => Ok(self.reports_of(&mask, &params)?.pop()),
        }
    }
}

fn of_piece(collector: &str, piece: &CoverPiece, mask: GroupByMask, params: &mut Params) -> String {
    let CoverPiece { length, from, to, window_only } = piece;
    let mask = if *length == 1 { GroupByMask::all() } else { mask.in_cluster(*window_only) }.bits();
    let slot = |minute: i64| match *length {
        ..60 => minute / 5,
        60..DAY_MINUTES => minute / DAY_MINUTES,
        _ => 0,
    };
    let (first, last) = (slot(*from), slot(to - 1));
    let collector = params.text(collector);
    format!(
        "collector = {collector} AND length = {length} AND kept = {mask} AND start >= {from} AND start < {to} \
         AND {SLOT} BETWEEN {first} AND {last}"
    )
}

/// The column with what a filter has to read of a stream, or an empty text.
fn report_for(filter: &Filter) -> &'static str {
    if filter.needs_streams() { "report" } else { "''" }
}

/// Whether a filter selects a stream, whose report is a text of [`report_for`].
fn selects(filter: &Filter, report: &str) -> Result<bool, StoreError> {
    Ok(!filter.needs_streams() || filter.selects_report(&serde_json::from_str(report)?))
}

/// Reports that are read together to find those of a filter.
const SEARCHED_AT_ONCE: usize = 1_000;

fn in_filter(filter: &Filter, params: &mut Params) -> String {
    let site = filter.sites().names().map(|names| format!(" AND site IN ({})", listed(names, params)));
    let condition = |(dimension, selection, named): (Dimension, &Selection, &BTreeSet<String>)| {
        format!(" AND {}", selection.condition(dimension.name(), &written(dimension, named, params)))
    };
    site.into_iter().chain(filter.restricted().map(condition)).collect()
}

fn listed(names: &[String], params: &mut Params) -> String {
    names.iter().map(|name| params.text(name)).collect::<Vec<_>>().join(", ")
}

/// The filter as a condition on a tuple that contains all dimensions from position `first` on.
fn in_latest(filter: &Filter, first: usize, params: &mut Params) -> String {
    let at = |dimension: Dimension| first + dimension as usize;
    let all = match filter.sites().names() {
        Some(names) => format!("latest.{} IN ({})", at(Dimension::Site), listed(names, params)),
        None => "1".to_owned(),
    };
    filter.restricted().fold(all, |all, (dimension, selection, named)| {
        let column = format!("latest.{}", at(dimension));
        format!("{all} AND {}", selection.condition(&column, &written(dimension, named, params)))
    })
}

/// The values of a dimension as a list.
fn written(dimension: Dimension, values: &BTreeSet<String>, params: &mut Params) -> String {
    values.iter().map(|value| params.text(as_written(dimension, value))).collect::<Vec<_>>().join(", ")
}

fn as_written(dimension: Dimension, value: &str) -> &str {
    match value {
        // The tables store an unknown value as an empty string. A filter for an empty value must match nothing.
        "" if dimension.is_window_only() => "none",
        _ => rows::written(dimension, value),
    }
}

/// The spans of one collector that overlap the range.
#[derive(Default)]
struct Spans {
    /// Complete spans by length and start, and [`CoverPiece::window_only`].
    standing: BTreeMap<(i64, i64), u8>,
    /// First minutes of the five-minute spans with data.
    touched: BTreeSet<i64>,
}

/// Number of hash values that distinguish streams of the same millisecond.
const CHANCES: u64 = 1 << 20;
