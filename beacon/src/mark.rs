//! Moments of a stream that the app names, by the extension `marks`.

use std::borrow::Cow;

use crate::NameShape;
use crate::field::{FieldValue, Fields, FieldsList, NewValue, Rule, Value, fields};
use crate::record::{Record, RecordValue, put_number, take_number};

/// Most marks of one stream.
pub const MAX_MARKS: usize = 8;

fields! {
    /// A moment between the request and the end of a stream, as the app named it.
    pub struct Mark {
        required {
            /// Name of the moment, such as `retrieval`.
            name: Cow<'static, str> = 1, Rule::Name(NameShape::MARK), MARKS;
            /// From the request to the moment.
            at_ms: f64 = 2, Rule::Milliseconds, MARKS;
        }
        optional {
        }
    }
}

impl FieldValue for Vec<Mark> {
    fn value(&self) -> Option<Value<'_>> {
        (!self.is_empty()).then_some(Value::List(self))
    }

    fn new(_: &[u8], _: NewValue<'_>) -> Option<Self> {
        None
    }
}

impl FieldsList for Vec<Mark> {
    fn items(&self) -> Vec<&dyn Fields> {
        self.iter().map(|mark| mark as &dyn Fields).collect()
    }
}

impl RecordValue for Vec<Mark> {
    fn write(&self, number: u8, into: &mut Vec<u8>) {
        into.push(number << 1);
        put_number(self.len() as u64, into);
        self.iter().for_each(|mark| mark.write_record(into));
    }

    fn read(_: bool, from: &mut &[u8]) -> Option<Self> {
        // No capacity is reserved, as the length may be damaged.
        let mut marks = Self::new();
        for _ in 0..take_number(from)? {
            let mut mark = Mark::default();
            mark.read_record(from)?;
            marks.push(mark);
        }
        Some(marks)
    }
}

/// Note for `docs/privacy-fields.md`.
pub(crate) const MARKS: &str =
    "Moments that the app names by `probe.mark()`: a short name without blanks, and its time.";
