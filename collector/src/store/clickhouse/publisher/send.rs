//! Sends rows of the outbox as inserts. A row leaves the outbox once ClickHouse has confirmed it.

use super::super::client::Params;
use super::super::engine_table;
use super::super::marker_table;
use super::super::outbox::{RollupRow, RollupSpan, SampleChange, SampleRow};
use super::super::rows::{self, Rows, Value, dimensions, stats_columns};
use super::super::schema::SEQ_NOS_PER_PARTITION;
use super::round::PublishState;
use crate::aggregate::dedup::SeqNo;
use crate::aggregate::dimension::{Dimension, columns};
use crate::aggregate::internal_metrics::{COUNTED, CountKey};
use crate::aggregate::metric::Metric;
use crate::aggregate::series::Series;
use crate::aggregate::window_stats::WindowStats;
use crate::report::stream_id::spread;
use crate::store::error::StoreError;
use crate::store::query::IngestTotals;
use crate::store::rollups::key::GroupByMask;
use crate::store::stream_index::PublishedStream;
use crate::time::minute_of;

impl PublishState {
    pub(super) fn send_windows(&mut self) -> Result<(), StoreError> {
        loop {
            let windows = self.outbox.windows()?;
            if windows.is_empty() {
                return Ok(());
            }
            let mut rows = Rows::default();
            for window in &windows {
                let sum = SumRow {
                    length: 1,
                    mask: GroupByMask::all().bits().into(),
                    start: window.minute,
                    series: &window.series,
                };
                self.push_sum(&mut rows, &sum, &window.stats.decode()?);
                if rows.is_full() {
                    self.insert_sums(&mut rows)?;
                }
            }
            self.insert_sums(&mut rows)?;
            self.outbox.sent_windows(&windows)?;
        }
    }

    /// Sends the state of spans: incomplete spans before their changed minutes, complete spans after their
    /// rollups.
    pub(super) fn send_spans(&mut self, stands: bool) -> Result<(), StoreError> {
        loop {
            let mut spans = self.outbox.spans(stands)?;
            if spans.is_empty() {
                return Ok(());
            }
            let read = spans.len();
            if stands {
                self.send_sums(&spans)?;
                self.outbox.recheck(&mut spans)?;
            }
            let mut rows = Rows::default();
            for span in &spans {
                rows.push([
                    span.length.into(),
                    span.start.into(),
                    self.collector.as_str().into(),
                    u64::from(span.stands).into(),
                    u64::from(if span.stands { GroupByMask::window_only() } else { 0 }).into(),
                    self.version.into(),
                ]);
            }
            if !rows.is_empty() {
                let columns = "length, start, collector, stands, window_only, version";
                self.insert("spans", columns, rows.bytes())?;
            }
            self.outbox.mark_published(&spans)?;
            // The next round sends later changes, with a version above this one.
            if spans.len() < read || spans.iter().any(|span| span.stands != stands) {
                return Ok(());
            }
        }
    }

    fn send_sums(&self, spans: &[RollupSpan]) -> Result<(), StoreError> {
        let mut rows = Rows::default();
        for span in spans {
            let mut next = Some(0);
            while let Some(from) = next {
                let sums;
                (sums, next) = self.outbox.sums(span, from)?;
                for RollupRow { mask, series, stats } in &sums {
                    let sum = SumRow { length: span.length, mask: *mask, start: span.start, series };
                    self.push_sum(&mut rows, &sum, &stats.decode()?);
                    if rows.is_full() {
                        self.insert_sums(&mut rows)?;
                    }
                }
            }
        }
        self.insert_sums(&mut rows)
    }

    fn push_sum(&self, rows: &mut Rows, sum: &SumRow<'_>, stats: &WindowStats) {
        let key = [sum.length.into(), sum.mask.into(), sum.start.into()];
        let sender = [self.collector.as_str().into(), self.version.into()];
        rows.push_stats(key.into_iter().chain(dimensions(sum.series)).chain(sender), stats);
    }

    fn insert_sums(&self, rows: &mut Rows) -> Result<(), StoreError> {
        if !rows.is_empty() {
            let stats = stats_columns(&Metric::ALL).map(|(name, ..)| name).collect::<Vec<_>>().join(", ");
            let dimensions = columns(Dimension::all());
            let columns = format!("length, kept, start, {dimensions}, collector, version, {stats}");
            self.insert("windows", &columns, rows.bytes())?;
        }
        *rows = Rows::default();
        Ok(())
    }

    /// Sends all counters in one insert, so that the ingest accounting is consistent.
    pub(super) fn send_counts(&mut self) -> Result<(), StoreError> {
        let IngestTotals { counts, counted } = self.outbox.ingest_totals()?;
        let total = CountKey::plain(COUNTED, COUNTED.as_str());
        let mut rows = Rows::default();
        let mut changed = Vec::new();
        for (key, n) in counts.all().chain([(&total, counted)]) {
            let count_key = (key.kind.as_str(), (key.site.clone(), key.word.clone()));
            if self.sent_counts.get(&count_key) != Some(&n) {
                let [site, word] = [&key.site, &key.word].map(|text| Value::from(text.as_str()));
                let collector = self.collector.as_str().into();
                rows.push([count_key.0.into(), site, word, collector, n.into(), self.version.into()]);
                changed.push((count_key, n));
            }
        }
        if !rows.is_empty() {
            self.insert("counts", "kind, site, word, collector, n, version", rows.bytes())?;
            self.sent_counts.extend(changed);
        }
        Ok(())
    }

    pub(super) fn send_samples(&mut self) -> Result<(), StoreError> {
        loop {
            let samples = self.outbox.samples()?;
            if samples.is_empty() {
                return Ok(());
            }
            let mut rows = Rows::default();
            for SampleChange { day, id, row, .. } in &samples {
                let (id_text, lot) = (format!("{id:032x}"), spread(*id));
                let gone = SampleRow::default();
                let row = row.as_ref().unwrap_or(&gone);
                let key = [
                    (*day).into(),
                    id_text.as_str().into(),
                    self.collector.as_str().into(),
                    row.kinds.into(),
                    Value::Figure(row.waited_ms),
                    lot.into(),
                    row.received_ms.into(),
                    row.outcome.as_str().into(),
                ];
                let report = [row.report.as_str().into(), self.version.into()];
                rows.push(key.into_iter().chain(dimensions(&row.series)).chain(report));
            }
            let columns = format!(
                "day, id, collector, kinds, waited_ms, lot, received_ms, outcome, {}, report, version",
                columns(Dimension::all())
            );
            self.insert("samples", &columns, rows.bytes())?;
            self.outbox.sent_samples(&samples)?;
        }
    }

    /// Sends the markers from the time before this collector joined the cluster. Later ones are posted to ClickHouse.
    pub(super) fn send_markers(&mut self, now_ms: i64) -> Result<(), StoreError> {
        let markers = self.outbox.markers()?;
        if let Some((last, _)) = markers.last() {
            marker_table::insert(&self.client, markers.iter().map(|(_, marker)| marker), now_ms)?;
            self.outbox.sent_markers(*last)?;
        }
        Ok(())
    }

    /// Sends the minutes of engines that are over.
    pub(super) fn send_engine_minutes(&mut self, now_ms: i64) -> Result<(), StoreError> {
        let until = minute_of(now_ms - LONGEST_SCRAPE_MS);
        while let Some(minutes) = self.outbox.engine_minutes(until)? {
            let rows = engine_table::rows(&minutes.rows, self.version);
            self.insert(engine_table::NAME, &engine_table::columns(), rows.bytes())?;
            self.outbox.sent_engine_minutes(minutes.end)?;
        }
        Ok(())
    }

    /// Sends revisions in order, and each insert within one partition. A reader that sees a revision has
    /// therefore seen all earlier ones.
    pub(super) fn send_streams(&mut self, mut from: SeqNo, stored: SeqNo) -> Result<(), StoreError> {
        while from < stored {
            let end = (from / SEQ_NOS_PER_PARTITION + 1) * SEQ_NOS_PER_PARTITION;
            let to = end.min(stored).min(from + STREAMS_AT_A_TIME);
            let mut rows = Rows::default();
            for published in self.stream_index.reports(from, to)? {
                let PublishedStream { seq, stream, visit, json } = published;
                let id = format!("{:032x}", stream.id);
                let is_open = u64::from(stream.finalized.is_none());
                let key = [
                    self.collector.as_str().into(),
                    seq.into(),
                    id.as_str().into(),
                    u64::from(stream.rev).into(),
                    is_open.into(),
                    stream.received_ms.into(),
                    stream.outcome.as_str().into(),
                ];
                let judgement = stream.finalized.map(|counted| counted.judgement).unwrap_or_default();
                let report = [
                    u64::from(judgement.to_bits()).into(),
                    Value::Hash(visit),
                    json.as_str().into(),
                    self.version.into(),
                ];
                let series = self.outbox.series(stream.series)?;
                rows.push(key.into_iter().chain(dimensions(series)).chain(report));
            }
            if !rows.is_empty() {
                let columns = format!(
                    "collector, place, id, rev, is_open, received_ms, outcome, {}, judgement, visit, report, version",
                    columns(Dimension::all())
                );
                self.insert("streams", &columns, rows.bytes())?;
            }
            self.outbox.mark_sent_before(to)?;
            from = to;
        }
        Ok(())
    }

    /// Drops the partitions whose revisions this collector has evicted.
    pub(super) fn drop_streams(&mut self, remembered_from: SeqNo) -> Result<(), StoreError> {
        let before = remembered_from / SEQ_NOS_PER_PARTITION;
        if before <= self.dropped_up_to {
            return Ok(());
        }
        let table = self.client.table("streams");
        let mut params = Params::default();
        let me = params.text(&self.collector);
        let stored = format!(
            "SELECT DISTINCT intDiv(place, {SEQ_NOS_PER_PARTITION}) FROM {table}
             WHERE collector = {me} AND place < {}",
            before * SEQ_NOS_PER_PARTITION
        );
        rows::each(&self.client.query(&stored, &params)?, |[partition]: [u64; 1]| {
            // Not every server takes a placeholder here. The id is this collector's own: hexadecimal digits.
            let drop = format!("ALTER TABLE {table} DROP PARTITION ('{}', {partition})", self.collector);
            Ok(self.client.execute(&drop)?)
        })?;
        self.dropped_up_to = before;
        Ok(())
    }
}

/// Key of a row in the table `windows`.
struct SumRow<'a> {
    length: i64,
    mask: i64,
    start: i64,
    series: &'a Series,
}

const STREAMS_AT_A_TIME: u64 = 2_000;

/// A scrape stores its figures in the minute in which it began.
const LONGEST_SCRAPE_MS: i64 = 10_000;
