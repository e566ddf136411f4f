//! Rows read back from a file are the streams that were written.

use std::fs::{self, File};
use std::path::Path;

use beacon::StreamReport;
use parquet::errors::ParquetError;
use proptest::prelude::*;
use serde_json::Value;

use super::column::{StreamRow, columns, stored_columns};
use super::parquet_reader::{each_row, is_whole};
use super::parquet_writer::ParquetWriter;
use crate::journal::record::tests::full;

type Row = (StreamReport, i64, u32);

fn write(path: &Path, rows: &[Row]) {
    let mut writer = ParquetWriter::new(File::create(path).unwrap(), &stored_columns()).unwrap();
    for (report, received_ms, series) in rows {
        let row = StreamRow { report, received_ms: *received_ms, country: "DE", series: Some(*series) };
        writer.add(&row).unwrap();
    }
    writer.finish().unwrap();
}

fn read(path: &Path) -> Result<Vec<Row>, ParquetError> {
    let mut rows = Vec::new();
    each_row(File::open(path).unwrap(), |row| {
        rows.push((row.report, row.received_ms, row.series));
        Ok::<_, ParquetError>(())
    })?;
    Ok(rows)
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
fn every_column_has_a_cell_and_a_name_of_its_own() {
    let mut names: Vec<_> = stored_columns().into_iter().map(|column| column.name).collect();
    for report in [full(), StreamReport::new("0".repeat(32))] {
        let mut cells = 0;
        let row = StreamRow { report: &report, received_ms: 1, country: "DE", series: Some(0) };
        row.cells(|_| cells += 1);
        assert_eq!(cells, names.len());
        StreamRow { series: None, ..row }.cells(|_| cells -= 1);
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
    fn a_changed_file_never_panics(at in any::<prop::sample::Index>(), with in any::<[u8; 9]>()) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("streams.parquet");
        write(&file, &[(full(), 1, 2), (without(u128::MAX), 3, 4)]);
        let mut bytes = fs::read(&file).unwrap();
        let at = at.index(bytes.len() - with.len());
        bytes[at..at + with.len()].copy_from_slice(&with);
        fs::write(&file, bytes).unwrap();
        let _either = read(&file);
    }
}
