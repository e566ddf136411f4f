//! Writes streams as a Parquet file, while it holds one row group in memory.

use std::io::Write;
use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{
    Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel,
};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use super::column::{Cell, Column, ColumnKind, StreamRow, short_ms};

/// Writes a file of streams.
pub(crate) struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    /// The values of the row group that is not written yet.
    columns: Vec<ColumnValues>,
    rows: usize,
}

/// Values of a column in a row group.
struct ColumnValues {
    /// Those that are present.
    values: Values,
    /// For each row: 1 if it has a value, else 0.
    levels: Vec<i16>,
}

enum Values {
    Float(Vec<f64>),
    ShortMs(Vec<f64>),
    Integer(Vec<i64>),
    Flag(Vec<bool>),
    Text(Texts),
}

/// Texts one after the other in one buffer: a buffer for each would take as long as the rest of a row.
#[derive(Default)]
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Writes rows with these columns.
    pub(crate) fn new(into: W, columns: &[Column]) -> Result<Self, ParquetError> {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
            .set_created_by(concat!("llm-rum ", env!("CARGO_PKG_VERSION")).to_owned());
        for column in columns {
            if let Some(encoding) = encoding(column) {
                let path = ColumnPath::from(column.name.as_str());
                properties = properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, encoding);
            }
        }
        let file = SerializedFileWriter::new(into, schema(columns)?, Arc::new(properties.build()))?;
        let columns = columns.iter().map(|column| ColumnValues::new(column.kind)).collect();
        Ok(Self { file, columns, rows: 0 })
    }

    pub(crate) fn add(&mut self, row: &StreamRow<'_>) -> Result<(), ParquetError> {
        let mut columns = self.columns.iter_mut();
        row.cells(|cell| {
            let column = columns.next().expect("a row has a cell for each column");
            column.add(cell);
        });
        self.rows += 1;
        if self.rows < ROWS_IN_GROUP { Ok(()) } else { self.write_group() }
    }

    /// Writes the rest, and what readers need to find the columns.
    pub(crate) fn finish(mut self) -> Result<W, ParquetError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.file.into_inner()
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let mut writer = group.next_column()?.expect("the schema has all columns");
            column.write(&mut writer)?;
            writer.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

impl ColumnValues {
    fn new(kind: ColumnKind) -> Self {
        let values = match kind {
            ColumnKind::Float => Values::Float(Vec::new()),
            ColumnKind::ShortMs => Values::ShortMs(Vec::new()),
            ColumnKind::Integer | ColumnKind::Time => Values::Integer(Vec::new()),
            ColumnKind::Flag => Values::Flag(Vec::new()),
            ColumnKind::Text | ColumnKind::Json => Values::Text(Texts::default()),
        };
        Self { values, levels: Vec::new() }
    }

    fn add(&mut self, cell: Cell<'_>) {
        self.levels.push(i16::from(cell != Cell::Absent));
        match (&mut self.values, cell) {
            (_, Cell::Absent) => {}
            (Values::Float(values), Cell::Float(value)) => values.push(value),
            (Values::ShortMs(values), Cell::Float(value)) => values.push(short_ms(value)),
            (Values::Integer(values), Cell::Integer(value)) => values.push(value),
            (Values::Flag(values), Cell::Flag(value)) => values.push(value),
            (Values::Text(values), Cell::Text(value)) => values.push(value),
            (Values::Text(values), Cell::Json(value)) => values.push(&value),
            _ => unreachable!("a cell has the type of its column"),
        }
    }

    /// Writes the values and forgets them.
    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = Some(self.levels.as_slice());
        match &mut self.values {
            Values::Float(values) | Values::ShortMs(values) => {
                writer.typed::<DoubleType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Integer(values) => {
                writer.typed::<Int64Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Flag(values) => {
                writer.typed::<BoolType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Text(values) => {
                writer.typed::<ByteArrayType>().write_batch(&values.take(), levels, None)?;
            }
        }
        self.levels.clear();
        Ok(())
    }
}

impl Texts {
    fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(self.bytes.len());
    }

    /// The texts, which are then forgotten.
    fn take(&mut self) -> Vec<ByteArray> {
        let bytes = Bytes::from(mem::take(&mut self.bytes));
        let mut start = 0;
        let texts = self.ends.drain(..).map(|end| {
            let text = bytes.slice(start..end);
            start = end;
            text.into()
        });
        texts.collect()
    }
}

/// `None`: a dictionary of the values.
fn encoding(column: &Column) -> Option<Encoding> {
    match column.kind {
        ColumnKind::ShortMs => Some(Encoding::BYTE_STREAM_SPLIT),
        ColumnKind::Time => Some(Encoding::DELTA_BINARY_PACKED),
        ColumnKind::Text | ColumnKind::Json if column.is_unique => Some(Encoding::DELTA_LENGTH_BYTE_ARRAY),
        _ => None,
    }
}

fn schema(columns: &[Column]) -> Result<TypePtr, ParquetError> {
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.kind {
            ColumnKind::Float | ColumnKind::ShortMs => (PhysicalType::DOUBLE, None),
            ColumnKind::Integer => (PhysicalType::INT64, None),
            ColumnKind::Flag => (PhysicalType::BOOLEAN, None),
            ColumnKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            ColumnKind::Json => (PhysicalType::BYTE_ARRAY, Some(LogicalType::Json)),
            ColumnKind::Time => (PhysicalType::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
        };
        let column = Type::primitive_type_builder(&column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(column))
    });
    let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
    Type::group_type_builder("streams").with_fields(fields).build().map(Arc::new)
}

/// 1 % less than by level 1. Higher levels save little more, and take far longer to write.
const ZSTD_LEVEL: i32 = 3;

/// Rows that are held in memory until they are written: some 10 MB.
const ROWS_IN_GROUP: usize = 16_384;
