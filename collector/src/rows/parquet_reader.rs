//! Reads the streams of Parquet files that this collector has written, of this version or another: a field that a file
//! lacks is absent, and a column that this version does not know is ignored.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;

use beacon::{Field, FieldValue as _, NewValue, Rule, StreamReport};
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::statistics::Statistics;

use super::column::{COUNTRY, JUDGEMENT, RECEIVED_AT, SERIES, VISIT};
use crate::aggregate::judgement::Judgement;
use crate::aggregate::series::SeriesId;
use crate::report::country::Country;
use crate::report::visit::VisitHash;
use crate::time::to_microsecond;

/// A stream of a file.
pub(crate) struct StoredRow<'a> {
    pub(crate) report: &'a StreamReport,
    pub(crate) received_ms: i64,
    pub(crate) series: SeriesId,
    pub(crate) judgement: Judgement,
    /// `None` if its column is not read, too.
    pub(crate) visit: Option<VisitHash>,
    /// The same.
    pub(crate) country: Option<Country>,
}

/// Which streams of a file are asked.
pub(crate) trait RowSelection: Sync {
    /// Times of arrival.
    fn received_ms(&self) -> Range<i64>;

    fn has_series(&self, series: SeriesId) -> bool;

    /// Fields on which [`has_report`](Self::has_report) depends.
    fn reads(&self) -> Vec<&'static str>;

    fn has_report(&self, report: &StreamReport) -> bool;
}

/// Selects all streams of a file.
pub(crate) struct EveryRow;

impl RowSelection for EveryRow {
    fn received_ms(&self) -> Range<i64> {
        i64::MIN..i64::MAX
    }

    fn has_series(&self, _: SeriesId) -> bool {
        true
    }

    fn reads(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn has_report(&self, _: &StreamReport) -> bool {
        true
    }
}

/// Which columns are read. The fields of all others are absent: each column takes time.
#[derive(Debug, Clone)]
pub(crate) enum FieldsRead {
    All,
    Only(BTreeSet<&'static str>),
}

impl FieldsRead {
    fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(name),
        }
    }
}

/// Calls `each` with the selected streams of files, in their order. A thread reads ahead.
pub(crate) fn each_row<S: RowSelection, E: From<ParquetError>>(
    files: &[(PathBuf, S)],
    fields: &FieldsRead,
    mut each: impl FnMut(StoredRow<'_>) -> Result<(), E>,
) -> Result<(), E> {
    thread::scope(|scope| {
        let (sender, groups) = mpsc::sync_channel(1);
        let read = move || {
            for (path, selection) in files {
                let read = || {
                    read_groups(path, selection, fields, |group| sender.send(Ok((selection, group))).is_ok())
                };
                // A page that was cut short makes the crate's decoder of `BYTE_STREAM_SPLIT` panic.
                let read = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(damaged()));
                if let Err(error) = read {
                    // Fails only if the caller has stopped, and then it does not want to know.
                    let _ = sender.send(Err(error));
                    return;
                }
            }
        };
        let spawned = thread::Builder::new().name("row groups".into()).spawn_scoped(scope, read);
        spawned.map_err(ParquetError::from)?;
        for group in groups {
            let (selection, group) = group?;
            group.each_row(selection, &mut each)?;
        }
        Ok(())
    })
}

/// A part of a file in memory.
struct Group {
    layout: Arc<Layout>,
    columns: Vec<ColumnCells>,
    rows: usize,
}

/// Calls `send` with the groups of a file that may have selected streams, until it returns `false`.
fn read_groups(
    path: &Path,
    selection: &impl RowSelection,
    fields: &FieldsRead,
    mut send: impl FnMut(Group) -> bool,
) -> Result<(), ParquetError> {
    let file = SerializedFileReader::new(File::open(path)?)?;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let by_name = (0..schema.num_columns()).map(|at| (schema.column(at).name().to_owned(), at)).collect();
    let layout = Arc::new(Layout::new(&by_name, &selection.reads(), fields)?);
    for at in 0..file.num_row_groups() {
        let group = file.get_row_group(at)?;
        if may_have(&*group, layout.received_at, &selection.received_ms()) {
            let columns = layout.read_columns(&*group)?;
            let rows = group.metadata().num_rows() as usize;
            if !send(Group { layout: layout.clone(), columns, rows }) {
                break;
            }
        }
    }
    Ok(())
}

impl Group {
    fn each_row<E: From<ParquetError>>(
        mut self,
        selection: &impl RowSelection,
        mut each: impl FnMut(StoredRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (layout, columns, received) = (&*self.layout, &mut self.columns, selection.received_ms());
        let (deciding, others) = layout.fields.split_at(layout.deciding);
        // Rows since the last selected one, whose other cells are passed over together.
        let mut passed = 0;
        for _ in 0..self.rows {
            let mut report = StreamReport::default();
            let received_ms = columns[layout.received_at].integer()?;
            let series = columns[layout.series].integer()?.try_into().map_err(|_| damaged())?;
            let judgement =
                columns[layout.judgement].integer()?.try_into().ok().and_then(Judgement::from_bits);
            let visit = match layout.visit.map(|at| columns[at].next()) {
                Some(Some(StoredCell::Integer(hash))) => Some(hash.cast_unsigned()),
                Some(Some(_)) => return Err(damaged().into()),
                Some(None) | None => None,
            };
            let country = match layout.country.map(|at| columns[at].next()) {
                Some(Some(StoredCell::Text(code))) => Country::of_code(code),
                _ => None,
            };
            for field in deciding {
                field.set(&mut report, columns)?;
            }
            if received.contains(&received_ms)
                && selection.has_series(series)
                && selection.has_report(&report)
            {
                for field in others {
                    columns[field.column].pass(passed);
                    field.set(&mut report, columns)?;
                }
                passed = 0;
                let judgement = judgement.ok_or_else(damaged)?;
                each(StoredRow { report: &report, received_ms, series, judgement, visit, country })?;
            } else {
                passed += 1;
            }
        }
        Ok(())
    }
}

/// Whether the file has its end, without which nothing of it can be read.
pub(crate) fn is_whole(file: File) -> bool {
    SerializedFileReader::new(file).is_ok()
}

/// The columns that are read, by what they are for.
struct Layout {
    received_at: usize,
    series: usize,
    judgement: usize,
    /// `None` if it is not read, and in files of earlier versions.
    visit: Option<usize>,
    /// `None` if it is not read.
    country: Option<usize>,
    fields: Vec<FieldColumn>,
    /// Number of the fields, the first ones, that decide whether a stream is selected.
    deciding: usize,
}

/// A column with a field of the report.
struct FieldColumn {
    column: usize,
    /// Numbers of the field and of the groups around it, the outermost first.
    path: Vec<u8>,
    rule: Rule,
}

impl Layout {
    fn new(
        by_name: &HashMap<String, usize>,
        deciding: &[&str],
        others: &FieldsRead,
    ) -> Result<Self, ParquetError> {
        let column = |name| by_name.get(name).copied().ok_or_else(damaged);
        let (mut fields, mut later) = (Vec::new(), Vec::new());
        add_fields("", &[], StreamReport::FIELDS, &mut |name, path, rule| {
            let Some(&column) = by_name.get(name) else { return };
            let field = FieldColumn { column, path: path.to_vec(), rule };
            if deciding.contains(&name) {
                fields.push(field);
            } else if others.has(name) {
                later.push(field);
            }
        });
        let deciding = fields.len();
        fields.append(&mut later);
        let (received_at, series, judgement) = (column(RECEIVED_AT)?, column(SERIES)?, column(JUDGEMENT)?);
        let optional = |name| by_name.get(name).copied().filter(|_| others.has(name));
        let (visit, country) = (optional(VISIT), optional(COUNTRY));
        Ok(Self { received_at, series, judgement, visit, country, fields, deciding })
    }

    /// The cells of a group, by column. Those that are not read are absent.
    fn read_columns(&self, group: &dyn RowGroupReader) -> Result<Vec<ColumnCells>, ParquetError> {
        let fields = self.fields.iter().map(|field| field.column);
        let mut columns = Vec::new();
        columns.resize_with(group.num_columns(), ColumnCells::default);
        let needed = [self.received_at, self.series, self.judgement].into_iter();
        for at in needed.chain(self.visit).chain(self.country).chain(fields) {
            columns[at] = ColumnCells::read(group, at)?;
        }
        Ok(columns)
    }
}

/// Calls `add` with the name of each column, the path of its field, and the field's rule.
fn add_fields(group: &str, path: &[u8], fields: &[Field], add: &mut dyn FnMut(&str, &[u8], Rule)) {
    for field in fields {
        let (name, path) = (format!("{group}{}", field.name), [path, &[field.number]].concat());
        match field.rule {
            Rule::Group(inner) => add_fields(&format!("{name}_"), &path, inner, add),
            // The column of this name has a hash, which belongs into no report.
            Rule::Visit => {}
            rule => add(&name, &path, rule),
        }
    }
}

impl FieldColumn {
    /// Sets the field from the column's next cell.
    fn set(&self, report: &mut StreamReport, columns: &mut [ColumnCells]) -> Result<(), ParquetError> {
        match columns[self.column].next() {
            Some(cell) => self.set_to(report, cell).ok_or_else(damaged),
            None => Ok(()),
        }
    }

    /// `None` if the cell has no value of this field.
    fn set_to(&self, report: &mut StreamReport, cell: StoredCell<'_>) -> Option<()> {
        let value = match (self.rule, cell) {
            (Rule::Marks, StoredCell::Text(json)) => {
                report.marks = serde_json::from_str(json).ok()?;
                return Some(());
            }
            (Rule::Histogram, StoredCell::Text(json)) => {
                NewValue::Histogram(serde_json::from_str(json).ok()?)
            }
            // Most streams have none.
            (Rule::Defects, StoredCell::Text("{}")) => return Some(()),
            (Rule::Defects, StoredCell::Text(json)) => NewValue::Defects(serde_json::from_str(json).ok()?),
            (Rule::Attributes, StoredCell::Text(json)) => {
                NewValue::Attributes(serde_json::from_str(json).ok()?)
            }
            (_, StoredCell::Text(text)) => NewValue::Text(text),
            (Rule::Milliseconds, StoredCell::Float(ms)) => NewValue::Float(to_microsecond(ms)),
            (_, StoredCell::Float(value)) => NewValue::Float(value),
            (_, StoredCell::Integer(value)) => NewValue::Integer(value.try_into().ok()?),
            (_, StoredCell::Flag(value)) => NewValue::Flag(value),
        };
        report.set(&self.path, value)
    }
}

/// The cells of a column in a row group, taken one after the other.
#[derive(Default)]
struct ColumnCells {
    values: Values,
    /// For each row: 1 if it has a value, else 0.
    levels: Vec<i16>,
    next_row: usize,
    next_value: usize,
}

#[derive(Default)]
enum Values {
    Float(Vec<f64>),
    Integer(Vec<i64>),
    Flag(Vec<bool>),
    Text(Vec<ByteArray>),
    /// Of a type that no column of this version has.
    #[default]
    Unknown,
}

enum StoredCell<'a> {
    Float(f64),
    Integer(i64),
    Flag(bool),
    Text(&'a str),
}

impl ColumnCells {
    fn read(group: &dyn RowGroupReader, column: usize) -> Result<Self, ParquetError> {
        let rows = group.metadata().num_rows() as usize;
        let mut levels = Vec::new();
        // Only optional columns have levels; all that this collector writes are optional.
        let values = match group.get_column_reader(column)? {
            ColumnReader::DoubleColumnReader(mut reader) => {
                let mut values = Vec::new();
                reader.read_records(rows, Some(&mut levels), None, &mut values)?;
                Values::Float(values)
            }
            ColumnReader::Int64ColumnReader(mut reader) => {
                let mut values = Vec::new();
                reader.read_records(rows, Some(&mut levels), None, &mut values)?;
                Values::Integer(values)
            }
            ColumnReader::BoolColumnReader(mut reader) => {
                let mut values = Vec::new();
                reader.read_records(rows, Some(&mut levels), None, &mut values)?;
                Values::Flag(values)
            }
            ColumnReader::ByteArrayColumnReader(mut reader) => {
                let mut values = Vec::new();
                reader.read_records(rows, Some(&mut levels), None, &mut values)?;
                Values::Text(values)
            }
            _ => Values::Unknown,
        };
        Ok(Self { values, levels, next_row: 0, next_value: 0 })
    }

    fn integer(&mut self) -> Result<i64, ParquetError> {
        match self.next() {
            Some(StoredCell::Integer(value)) => Ok(value),
            _ => Err(damaged()),
        }
    }

    /// Passes over the cells of the next rows.
    fn pass(&mut self, rows: usize) {
        let levels = self.levels.get(self.next_row..self.next_row + rows).unwrap_or_default();
        self.next_value += levels.iter().filter(|level| **level == 1).count();
        self.next_row += rows;
    }

    /// The cell of the next row. `None` if it is absent.
    fn next(&mut self) -> Option<StoredCell<'_>> {
        let level = self.levels.get(self.next_row).copied();
        self.next_row += 1;
        if level != Some(1) {
            return None;
        }
        let at = self.next_value;
        self.next_value += 1;
        match &self.values {
            Values::Float(values) => values.get(at).copied().map(StoredCell::Float),
            Values::Integer(values) => values.get(at).copied().map(StoredCell::Integer),
            Values::Flag(values) => values.get(at).copied().map(StoredCell::Flag),
            Values::Text(values) => values.get(at)?.as_utf8().ok().map(StoredCell::Text),
            Values::Unknown => None,
        }
    }
}

/// Whether the group may have a stream of this time, by the smallest and the largest value of the column.
fn may_have(group: &dyn RowGroupReader, received_at: usize, received_ms: &Range<i64>) -> bool {
    match group.metadata().column(received_at).statistics() {
        Some(Statistics::Int64(of)) => {
            let is_later = of.min_opt().is_some_and(|min| *min >= received_ms.end);
            let is_earlier = of.max_opt().is_some_and(|max| *max < received_ms.start);
            !is_later && !is_earlier
        }
        _ => true,
    }
}

fn damaged() -> ParquetError {
    ParquetError::General("a stream in the file cannot be read".to_owned())
}
