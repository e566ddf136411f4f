//! Reads the streams of a Parquet file that this collector has written, of this version or another: a column that the
//! file lacks is absent, and one that this version does not know is ignored.

use std::collections::HashMap;
use std::fs::File;

use beacon::record::{Record as _, RecordValue, put_text};
use beacon::{Defects, Field, Histogram, Mark, Observed, Rule, StreamReport};
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use super::column::{RECEIVED_AT, SERIES};
use crate::aggregate::series::SeriesId;

/// A stream of a file.
pub(crate) struct StoredRow {
    pub(crate) report: StreamReport,
    pub(crate) received_ms: i64,
    pub(crate) series: SeriesId,
}

/// Calls `each` with the streams of a file, in its order.
pub(crate) fn each_row<E: From<ParquetError>>(
    file: File,
    mut each: impl FnMut(StoredRow) -> Result<(), E>,
) -> Result<(), E> {
    let file = SerializedFileReader::new(file)?;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let by_name = (0..schema.num_columns()).map(|at| (schema.column(at).name().to_owned(), at)).collect();
    let layout = Layout::new(&by_name);
    for at in 0..file.num_row_groups() {
        let group = file.get_row_group(at)?;
        let mut columns = read_columns(&*group)?;
        for _ in 0..group.metadata().num_rows() {
            each(layout.row(&mut columns)?)?;
        }
    }
    Ok(())
}

/// Whether the file has its end, without which nothing of it can be read.
pub(crate) fn is_whole(file: File) -> bool {
    SerializedFileReader::new(file).is_ok()
}

/// Columns of a file, by what they are for.
struct Layout {
    fields: Vec<FieldColumn>,
    received_at: Option<usize>,
    series: Option<usize>,
}

enum FieldColumn {
    Value { column: usize, number: u8, rule: Rule },
    Group { number: u8, fields: Vec<Self> },
}

impl Layout {
    fn new(by_name: &HashMap<String, usize>) -> Self {
        let fields = field_columns("", StreamReport::FIELDS, by_name);
        let column = |name| by_name.get(name).copied();
        Self { fields, received_at: column(RECEIVED_AT), series: column(SERIES) }
    }

    fn row(&self, columns: &mut [ColumnCells]) -> Result<StoredRow, ParquetError> {
        let (mut record, mut report) = (Vec::with_capacity(512), StreamReport::default());
        put_fields(&self.fields, columns, &mut record, &mut report.id)?;
        record.push(0);
        report.read_record(&mut record.as_slice()).ok_or_else(damaged)?;
        let mut integer = |column: Option<usize>| match columns[column?].next() {
            Some(StoredCell::Integer(value)) => Some(value),
            _ => None,
        };
        let received_ms = integer(self.received_at).ok_or_else(damaged)?;
        let series = integer(self.series).and_then(|series| series.try_into().ok()).ok_or_else(damaged)?;
        Ok(StoredRow { report, received_ms, series })
    }
}

fn field_columns(group: &str, fields: &[Field], by_name: &HashMap<String, usize>) -> Vec<FieldColumn> {
    let known = fields.iter().filter_map(|field| {
        let name = format!("{group}{}", field.name);
        let Field { number, rule, .. } = *field;
        match rule {
            Rule::Group(inner) => {
                let fields = field_columns(&format!("{name}_"), inner, by_name);
                Some(FieldColumn::Group { number, fields })
            }
            _ => by_name.get(&name).map(|&column| FieldColumn::Value { column, number, rule }),
        }
    });
    known.collect()
}

/// Appends the fields that are present, as the journal has them. Returns whether there was any.
fn put_fields(
    fields: &[FieldColumn],
    columns: &mut [ColumnCells],
    into: &mut Vec<u8>,
    id: &mut String,
) -> Result<bool, ParquetError> {
    let mut any = false;
    for field in fields {
        match field {
            FieldColumn::Value { column, number, rule } => {
                let Some(cell) = columns[*column].next() else { continue };
                any = true;
                match (rule, cell) {
                    (Rule::Id, StoredCell::Text(text)) => text.clone_into(id),
                    (rule, cell) => put_value(*rule, *number, cell, into).ok_or_else(damaged)?,
                }
            }
            FieldColumn::Group { number, fields } => {
                let before = into.len();
                into.push(number << 1);
                if put_fields(fields, columns, into, id)? {
                    into.push(0);
                    any = true;
                } else {
                    into.truncate(before);
                }
            }
        }
    }
    Ok(any)
}

/// `None` if the cell has no value of this field.
fn put_value(rule: Rule, number: u8, cell: StoredCell<'_>, into: &mut Vec<u8>) -> Option<()> {
    match (rule, cell) {
        (Rule::Milliseconds | Rule::Share, StoredCell::Float(value)) => value.write(number, into),
        (Rule::Count(_) | Rule::Between(..), StoredCell::Integer(value)) => {
            u64::try_from(value).ok()?.write(number, into);
        }
        (Rule::Flag, StoredCell::Flag(is_set)) => {
            if is_set {
                is_set.write(number, into);
            }
        }
        (Rule::Word(Observed::WORDS, _), StoredCell::Text(word)) => {
            Observed::from_word(word)?.write(number, into);
        }
        (Rule::Word(..) | Rule::Text(_) | Rule::Name(_) | Rule::Collector, StoredCell::Text(text)) => {
            into.push(number << 1);
            put_text(text, into);
        }
        (Rule::Histogram, StoredCell::Text(json)) => {
            serde_json::from_str::<Histogram>(json).ok()?.write(number, into);
        }
        (Rule::Defects, StoredCell::Text(json)) => {
            serde_json::from_str::<Defects>(json).ok()?.write(number, into);
        }
        (Rule::Marks, StoredCell::Text(json)) => {
            serde_json::from_str::<Vec<Mark>>(json).ok()?.write(number, into);
        }
        _ => return None,
    }
    Some(())
}

/// The cells of a column in a row group, taken one after the other.
struct ColumnCells {
    values: Values,
    /// For each row: 1 if it has a value, else 0.
    levels: Vec<i16>,
    next_row: usize,
    next_value: usize,
}

enum Values {
    Float(Vec<f64>),
    Integer(Vec<i64>),
    Flag(Vec<bool>),
    Text(Vec<ByteArray>),
    /// Of a type that no column of this version has.
    Unknown,
}

enum StoredCell<'a> {
    Float(f64),
    Integer(i64),
    Flag(bool),
    Text(&'a str),
}

impl ColumnCells {
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

fn read_columns(group: &dyn RowGroupReader) -> Result<Vec<ColumnCells>, ParquetError> {
    (0..group.num_columns())
        .map(|at| {
            let rows = group.metadata().num_rows() as usize;
            let mut levels = Vec::new();
            // Only optional columns have levels; all that this collector writes are optional.
            let values = match group.get_column_reader(at)? {
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
            Ok(ColumnCells { values, levels, next_row: 0, next_value: 0 })
        })
        .collect()
}

fn damaged() -> ParquetError {
    ParquetError::General("a stream in the file cannot be read".to_owned())
}
