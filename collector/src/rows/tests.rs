//! Rows read back from a file are the streams that were written.

use std::fs::{self, File};
use std::ops::Range;
use std::path::Path;

use beacon::StreamReport;
use parquet::errors::ParquetError;
use proptest::prelude::*;
use serde_json::Value;

use super::column::{StoredValues, StreamRow, columns, short_ms, stored_columns};
use super::parquet_reader::{FieldsRead, RowSelection, each_row, is_whole};
use super::parquet_writer::ParquetWriter;
use crate::aggregate::judgement::Judgement;
use crate::aggregate::metric::{self, METRICS, MetricDefinition};
use crate::aggregate::phase::{FIELDS_OF_LAYERS, FIELDS_OF_PHASES, FIELDS_OF_WAIT, LayerTtft, Phase, Phases};
use crate::aggregate::stream_dimension::STREAM_DIMENSIONS;
use crate::aggregate::window_stats::{FIELDS_OF_COUNTS, WindowStats};
use crate::journal::record::tests::full as with_any_times;
use crate::report::server_fact::Layer;
use crate::time::to_microsecond;

type Row = (StreamReport, i64, u32);

/// Every third stream has none.
fn visit_of(received_ms: i64) -> Option<u64> {
    (received_ms % 3 > 0).then(|| !received_ms.cast_unsigned())
}

fn write(path: &Path, rows: &[Row]) {
    let mut writer = ParquetWriter::new(File::create(path).unwrap(), &stored_columns()).unwrap();
    for (report, received_ms, series) in rows {
        let visit = visit_of(*received_ms);
        let stored = Some(StoredValues { series: *series, judgement: Judgement::WITHIN_SLO, visit });
        let row = StreamRow { report, received_ms: *received_ms, country: "DE", stored };
        writer.add(&row).unwrap();
    }
    writer.finish().unwrap();
}

fn read(path: &Path) -> Result<Vec<Row>, ParquetError> {
    read_fields(path, &FieldsRead::All)
}

fn read_fields(path: &Path, fields: &FieldsRead) -> Result<Vec<Row>, ParquetError> {
    let mut rows = Vec::new();
    each_row(&[(path.to_owned(), All)], fields, |row| {
        assert_eq!(row.judgement, Judgement::WITHIN_SLO);
        let is_read = matches!(fields, FieldsRead::All);
        assert_eq!(row.visit, visit_of(row.received_ms).filter(|_| is_read));
        rows.push((row.report.clone(), row.received_ms, row.series));
        Ok::<_, ParquetError>(())
    })?;
    Ok(rows)
}

struct All;

impl RowSelection for All {
    fn received_ms(&self) -> Range<i64> {
        i64::MIN..i64::MAX
    }

    fn has_series(&self, _: u32) -> bool {
        true
    }

    fn reads(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn has_report(&self, _: &StreamReport) -> bool {
        true
    }
}

/// Files have durations to a microsecond.
fn full() -> StreamReport {
    StreamReport { first_event_ms: Some(0.001), e2e_ms: Some(1_234.568), ..with_any_times() }
}

/// A full report without some fields: a set bit leaves one out. Each group has bits of its own.
fn without(left_out: u128) -> StreamReport {
    let mut bits = (0..).map(|bit| left_out >> (bit % 128) & 1 == 1);
    let mut json = serde_json::to_value(full()).unwrap();
    let mut thin = |object: &mut Value| {
        let required = ["v", "id", "outcome", "chunks", "events", "deltas", "bytes", "source"];
        let object = object.as_object_mut().unwrap();
        object.retain(|name, _| required.contains(&name.as_str()) || !bits.next().unwrap());
    };
    thin(&mut json);
    for group in ["network_timing", "page_lifecycle", "probe_overhead", "server", "page", "dropped"] {
        if let Some(group) = json.get_mut(group) {
            thin(group);
        }
    }
    serde_json::from_value(json).unwrap()
}

/// The phases before the first token, and what none of them explains. `None` without a token.
fn parts_of_wait(report: &StreamReport) -> Option<([Option<f64>; 9], f64)> {
    report.ttft_ms?;
    let phases = Phases::of(report);
    let before = [Phase::Dns, Phase::Connect, Phase::App, Phase::ModelCall, Phase::ServerQueue];
    let after = [Phase::Prefill, Phase::Server, Phase::Network, Phase::MainThread];
    let parts: Vec<_> = before.into_iter().chain(after).map(|phase| phases.get(phase)).collect();
    Some((parts.try_into().unwrap(), phases.not_visible_ms))
}

/// A group whose fields are all absent is absent in a file.
fn without_empty_groups(mut report: StreamReport) -> StreamReport {
    fn drop_default<T: Default + PartialEq>(group: &mut Option<T>) {
        group.take_if(|group| *group == T::default());
    }
    drop_default(&mut report.network_timing);
    drop_default(&mut report.probe_overhead);
    drop_default(&mut report.page);
    report
}

#[test]
fn another_versions_column_is_ignored_and_a_missing_one_absent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    let mut columns = stored_columns();
    let renamed = columns.iter_mut().find(|column| column.name == "finish_reason").unwrap();
    renamed.name = "of_a_later_version".to_owned();
    let mut writer = ParquetWriter::new(File::create(&path).unwrap(), &columns).unwrap();
    let stored = Some(StoredValues { series: 7, judgement: Judgement::WITHIN_SLO, visit: visit_of(1) });
    let report = full();
    assert!(report.finish_reason.is_some());
    writer.add(&StreamRow { report: &report, received_ms: 1, country: "DE", stored }).unwrap();
    writer.finish().unwrap();
    let without = StreamReport { finish_reason: None, ..report };
    assert_eq!(read(&path).unwrap(), [(without, 1, 7)]);
}

#[test]
fn every_column_has_a_cell_and_a_name_of_its_own() {
    let mut names: Vec<_> = stored_columns().into_iter().map(|column| column.name).collect();
    for report in [full(), StreamReport::new("0".repeat(32))] {
        let mut cells = 0;
        let stored = Some(StoredValues { series: 0, judgement: Judgement::default(), visit: None });
        let row = StreamRow { report: &report, received_ms: 1, country: "DE", stored };
        row.cells(|_| cells += 1);
        assert_eq!(cells, names.len());
        StreamRow { stored: None, ..row }.cells(|_| cells -= 1);
        assert_eq!(cells, names.len() - columns().len());
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), stored_columns().len());
}

#[test]
fn streams_of_several_row_groups_are_read_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("streams.parquet");
    let rows: Vec<Row> = (0..40_000_u32)
        .map(|at| {
            let report = StreamReport { ttft_ms: (at % 3 > 0).then_some(at.into()), ..full() };
            (report, i64::from(at), at)
        })
        .collect();
    write(&file, &rows);
    assert!(read(&file).unwrap() == rows);
}

#[test]
fn a_file_that_is_cut_anywhere_is_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("streams.parquet");
    write(&file, &[(full(), 1, 2)]);
    let bytes = fs::read(&file).unwrap();
    for len in (0..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
        fs::write(&file, &bytes[..len]).unwrap();
        assert!(!is_whole(File::open(&file).unwrap()), "cut at {len}");
        read(&file).unwrap_err();
    }
}

proptest! {
    /// Up to the longest duration of a report.
    #[test]
    fn a_microsecond_survives_the_short_form(microseconds in 0..=86_400_000_000u64) {
        let ms = microseconds as f64 / 1000.0;
        prop_assert_eq!(to_microsecond(short_ms(ms)), ms);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_report_is_read_as_it_was_written(
        left_out in prop::collection::vec(any::<u128>(), 1..4), received_ms in any::<i64>(), series: u32,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("streams.parquet");
        let reports = left_out.into_iter().map(without);
        let rows: Vec<Row> = reports.map(|report| (report, received_ms, series)).collect();
        write(&file, &rows);
        let expected = rows.into_iter();
        let expected: Vec<Row> = expected.map(|(report, at, of)| (without_empty_groups(report), at, of)).collect();
        prop_assert_eq!(read(&file).unwrap(), expected);
    }

    #[test]
    fn statistics_and_dimensions_name_the_fields_that_they_read(left_out: u128) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("streams.parquet");
        let report = without(left_out);
        write(&file, &[(report.clone(), 1, 2)]);
        let read = |fields: &[&'static str]| {
            let fields = FieldsRead::Only(fields.iter().copied().collect());
            read_fields(&file, &fields).unwrap().pop().unwrap().0
        };
        let of_counts = read(&FIELDS_OF_COUNTS);
        let counts = |report: &StreamReport| {
            let mut stats = WindowStats::default();
            stats.add(report, Judgement::WITHIN_SLO);
            stats.add_in_flight(report, 1);
            WindowStats::decode_only(&stats.encode(), &[]).unwrap()
        };
        prop_assert_eq!(counts(&of_counts), counts(&report));
        for MetricDefinition { id, value, reads, .. } in METRICS {
            let read = read(&[&FIELDS_OF_COUNTS, *reads].concat());
            match value {
                metric::Value::One(of) => prop_assert_eq!(of(&read), of(&report), "{}", id),
                metric::Value::Many(of) => prop_assert_eq!(of(&read), of(&report), "{}", id),
            }
        }
        for dimension in &STREAM_DIMENSIONS {
            let values = |report: &StreamReport| dimension.values(report).map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(values(&read(dimension.reads)), values(&report), "{}", dimension.name);
        }
        let of_wait = read(&[&FIELDS_OF_WAIT, FIELDS_OF_PHASES].concat());
        prop_assert_eq!(parts_of_wait(&of_wait), parts_of_wait(&report));
        let of_layers = read(&FIELDS_OF_LAYERS);
        for layer in Layer::ALL {
            prop_assert_eq!(LayerTtft::of(&of_layers, layer), LayerTtft::of(&report, layer), "{:?}", layer);
            let is_there = |report: &StreamReport| report.layers.as_ref().and_then(|all| layer.of(all)).is_some();
            prop_assert_eq!(is_there(&of_layers), is_there(&report), "{:?}", layer);
        }
    }

    #[test]
    fn a_changed_file_never_panics(at in any::<prop::sample::Index>(), with in any::<[u8; 9]>()) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("streams.parquet");
        write(&file, &[(full(), 1, 2), (without(u128::MAX), 3, 4)]);
        let mut bytes = fs::read(&file).unwrap();
        let at = at.index(bytes.len() - with.len());
        bytes[at..at + with.len()].copy_from_slice(&with);
        fs::write(&file, bytes).unwrap();
        // A changed value may be read as another one.
        let _either = each_row(&[(file, All)], &FieldsRead::All, |_| Ok::<_, ParquetError>(()));
    }
}
