//! The columns of a stream's row: the fields of its report, then what the collector adds. A field of a group has the
//! group's name in front, such as `server_ttft_ms`.

use beacon::{Field, Fields, Rule, StreamReport, Value};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::aggregate::judgement::Judgement;
use crate::aggregate::series::SeriesId;
use crate::report::visit::VisitHash;
use crate::time::to_microsecond;

/// A stream, as a row shows it.
pub(crate) struct StreamRow<'a> {
    pub(crate) report: &'a StreamReport,
    pub(crate) received_ms: i64,
    /// The country that it is counted under.
    pub(crate) country: &'a str,
    /// `None` in exports.
    pub(crate) stored: Option<StoredValues>,
}

/// What only the store's own files have.
#[derive(Clone, Copy)]
pub(crate) struct StoredValues {
    /// Number of the stream's series in the store.
    pub(crate) series: SeriesId,
    /// By the targets that applied when it was counted.
    pub(crate) judgement: Judgement,
    pub(crate) visit: Option<VisitHash>,
}

/// A column of the table.
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
    /// Hardly two streams have the same value, so a dictionary of the values would only add to them.
    pub(crate) is_unique: bool,
}

/// Type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Float,
    /// Milliseconds as [`short_ms`]. Only in the store's own files.
    ShortMs,
    Integer,
    Flag,
    Text,
    /// A list or an object, as JSON.
    Json,
    /// Milliseconds since 1970.
    Time,
}

/// A value of a row.
#[derive(Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Absent,
    Float(f64),
    Integer(i64),
    Flag(bool),
    Text(&'a str),
    Json(String),
}

/// The columns of an export, in the order of the cells.
pub(crate) fn columns() -> Vec<Column> {
    let mut columns = Vec::new();
    add_columns("", StreamReport::FIELDS, &mut columns);
    let added = [(RECEIVED_AT, ColumnKind::Time), (COUNTRY, ColumnKind::Text)];
    columns.extend(added.map(|(name, kind)| Column { name: name.to_owned(), kind, is_unique: false }));
    columns
}

/// The columns of the store's own files: those of an export, and [`StoredValues`].
pub(crate) fn stored_columns() -> Vec<Column> {
    let stored = [SERIES, JUDGEMENT, VISIT].map(|name| Column {
        name: name.to_owned(),
        kind: ColumnKind::Integer,
        is_unique: false,
    });
    let short = |column: Column| match column.kind {
        ColumnKind::Float if column.name.ends_with("_ms") => Column { kind: ColumnKind::ShortMs, ..column },
        _ => column,
    };
    columns().into_iter().map(short).chain(stored).collect()
}

/// Milliseconds in steps of 1/1024. The probe rounds to a microsecond, which [`to_microsecond`] finds again. As a decimal
/// fraction, a microsecond fills all 8 bytes of a number. As a binary one, it leaves most of them zero, and a stream
/// takes two thirds of the space on disk.
pub(super) fn short_ms(ms: f64) -> f64 {
    (to_microsecond(ms) * 1024.0).round() / 1024.0
}

/// Column with the time at which the latest revision arrived.
pub(super) const RECEIVED_AT: &str = "received_at";
/// Column with the country that the stream is counted under.
pub(super) const COUNTRY: &str = "country";
/// Column with the number of the series.
pub(super) const SERIES: &str = "series";
/// Column with the bits of the judgement.
pub(super) const JUDGEMENT: &str = "judgement";
/// Column with the hash of the visit, as the bits of a signed number. No report has the field of this name.
pub(crate) const VISIT: &str = "visit";

/// Names that hardly two streams share.
const UNIQUE_NAMES: [&str; 3] = ["response_id", "server_id", "arrivals"];

fn add_columns(group: &str, fields: &[Field], columns: &mut Vec<Column>) {
    for field in fields {
        let name = format!("{group}{}", field.name);
        let kind = match field.rule {
            Rule::Group(inner) => {
                add_columns(&format!("{name}_"), inner, columns);
                continue;
            }
            Rule::Visit => continue,
            Rule::Milliseconds | Rule::Share => ColumnKind::Float,
            Rule::Count(_) | Rule::Amount(_) | Rule::Between(..) => ColumnKind::Integer,
            Rule::Flag => ColumnKind::Flag,
            Rule::Text(_)
            | Rule::OwnText(_)
            | Rule::Name(_)
            | Rule::Word(..)
            | Rule::Id
            | Rule::Collector => ColumnKind::Text,
            Rule::Histogram | Rule::Defects | Rule::Marks | Rule::Attributes => ColumnKind::Json,
        };
        let is_unique =
            matches!(field.rule, Rule::Id | Rule::Histogram) || UNIQUE_NAMES.contains(&field.name);
        columns.push(Column { name, kind, is_unique });
    }
}

impl StreamRow<'_> {
    /// Calls `each` with the cell of every column.
    pub(crate) fn cells(&self, mut each: impl FnMut(Cell<'_>)) {
        cells(StreamReport::FIELDS, Some(self.report), &mut each);
        each(Cell::Integer(self.received_ms));
        each(Cell::Text(self.country));
        if let Some(StoredValues { series, judgement, visit }) = self.stored {
            each(Cell::Integer(series.into()));
            each(Cell::Integer(judgement.to_bits().into()));
            each(visit.map_or(Cell::Absent, |visit| Cell::Integer(visit.cast_signed())));
        }
    }
}

/// `group` is `None` if the report has no such group: then all its cells are absent.
fn cells(fields: &'static [Field], group: Option<&dyn Fields>, each: &mut dyn FnMut(Cell<'_>)) {
    let mut rest = fields.iter();
    if let Some(group) = group {
        group.visit(&mut |present, value| {
            let skipped = rest.by_ref().take_while(|field| field.number != present.number);
            skipped.for_each(|field| absent(field, true, each));
            match (value, present.rule) {
                (_, Rule::Visit) => {}
                (Value::Group(inner), Rule::Group(fields)) => cells(fields, Some(inner), each),
                (value, _) => each(cell(value)),
            }
        });
    }
    rest.for_each(|field| absent(field, group.is_some(), each));
}

/// A flag that is absent is not set, unless its whole group is unknown.
fn absent(field: &'static Field, in_group: bool, each: &mut dyn FnMut(Cell<'_>)) {
    match field.rule {
        Rule::Visit => {}
        Rule::Group(inner) => cells(inner, None, each),
        Rule::Flag if in_group => each(Cell::Flag(false)),
        _ => each(Cell::Absent),
    }
}

fn cell(value: Value<'_>) -> Cell<'_> {
    match value {
        Value::Float(value) => Cell::Float(value),
        Value::Integer(value) => Cell::Integer(value.cast_signed()),
        Value::Text(value) => Cell::Text(value),
        Value::Flag(value) => Cell::Flag(value),
        Value::Histogram(_) | Value::Defects(_) | Value::Attributes(_) | Value::List(_) | Value::Group(_) => {
            Cell::Json(serde_json::to_string(&Json(value)).expect("every value can be written as JSON"))
        }
    }
}

/// A value as JSON.
struct Json<'a>(Value<'a>);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Value::Float(value) => value.serialize(serializer),
            Value::Integer(value) => value.serialize(serializer),
            Value::Text(value) => value.serialize(serializer),
            Value::Flag(value) => value.serialize(serializer),
            Value::Histogram(histogram) => histogram.serialize(serializer),
            Value::Defects(defects) => defects.serialize(serializer),
            Value::Attributes(attributes) => attributes.serialize(serializer),
            Value::List(list) => {
                serializer.collect_seq(list.items().into_iter().map(|item| Json(Value::Group(item))))
            }
            Value::Group(group) => {
                let mut object = serializer.serialize_map(None)?;
                let mut result = Ok(());
                group.visit(&mut |field, value| {
                    if result.is_ok() {
                        result = object.serialize_entry(field.name, &Json(value));
                    }
                });
                result?;
                object.end()
            }
        }
    }
}
