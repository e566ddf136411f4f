//! The one table of the fields of a report: name, what values it takes, order, number in the journal and what it tells
//! about a person. Validation, the journal, JSON Schema, TypeScript types and the tables in `docs/` are made from it.

use std::borrow::Cow;

use crate::defect::Defects;
use crate::histogram::Histogram;
use crate::name_shape::NameShape;
use crate::outcome::Outcome;
use crate::words::{Observed, Protocol, ServerStart};

/// One field of a report or of a group in it.
#[derive(Debug)]
pub struct Field {
    /// Name in JSON.
    pub name: &'static str,
    /// Number in the journal. A number is never used again.
    pub number: u8,
    /// A report without it is refused.
    pub required: bool,
    /// Meaning, in one or a few sentences.
    pub about: &'static str,
    /// The values it takes.
    pub rule: Rule,
    /// Moments that cannot come after this one.
    pub after: &'static [&'static str],
    /// What it tells about a person and why it is sent, for `docs/privacy.md`.
    pub privacy: &'static str,
}

/// The values that a field takes.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// Milliseconds, up to [`MAX_MS`].
    Milliseconds,
    /// A whole number up to this.
    Count(u64),
    /// A whole number from the first to the second.
    Between(u64, u64),
    /// Greater than 0 and at most 1.
    Share,
    /// Printable text up to this many bytes.
    Text(usize),
    /// A name that comes from a request or a response.
    Name(NameShape),
    /// One of these words. With `true`, any other word is read as the last one.
    Word(&'static [&'static str], bool),
    /// `true` or absent.
    Flag,
    /// 32 hexadecimal digits.
    Id,
    /// Set by the collector, ignored when sent.
    Collector,
    /// Base-2 exponential buckets of milliseconds.
    Histogram,
    /// Counts by name of a defect.
    Defects,
    /// An object with these fields.
    Group(&'static [Field]),
}

/// The value of a field. An absent field has none.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    /// A duration or a share.
    Float(f64),
    /// A count.
    Integer(u64),
    /// A text, a name or a word.
    Text(&'a str),
    /// A flag.
    Flag(bool),
    /// A histogram.
    Histogram(&'a Histogram),
    /// Defects.
    Defects(&'a Defects),
    /// An object with fields of its own.
    Group(&'a dyn Fields),
}

/// A struct whose fields are in the table.
pub trait Fields {
    /// Calls `visit` with each field that is present, in the order of the table.
    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'static Field, Value<'a>));
}

/// The type of a field: gives its value, if it is present.
pub trait FieldValue {
    /// `None`: the field is absent.
    fn value(&self) -> Option<Value<'_>>;

    /// Makes optional texts in it absent that are empty.
    fn drop_empty_texts(&mut self) {}
}

impl<T: FieldValue> FieldValue for Option<T> {
    fn value(&self) -> Option<Value<'_>> {
        self.as_ref()?.value()
    }

    fn drop_empty_texts(&mut self) {
        if matches!(self.value(), Some(Value::Text(""))) {
            *self = None;
        } else if let Some(value) = self {
            value.drop_empty_texts();
        }
    }
}

/// How a type shows its value.
macro_rules! values {
    ($($type:ty: $value:expr;)+) => {$(
        impl FieldValue for $type {
            fn value(&self) -> Option<Value<'_>> {
                let value: fn(&Self) -> Option<Value<'_>> = $value;
                value(self)
            }
        }
    )+};
}

values! {
    f64: |value| Some(Value::Float(*value));
    u16: |value| Some(Value::Integer((*value).into()));
    u32: |value| Some(Value::Integer((*value).into()));
    u64: |value| Some(Value::Integer(*value));
    bool: |value| value.then_some(Value::Flag(true));
    String: |value| Some(Value::Text(value));
    Cow<'static, str>: |value| Some(Value::Text(value));
    Outcome: |value| Some(Value::Text(value.as_str()));
    Observed: |value| Some(Value::Text(value.as_str()));
    ServerStart: |value| Some(Value::Text(value.as_str()));
    Protocol: |value| Some(Value::Text(value.as_str()));
    Histogram: |value| Some(Value::Histogram(value));
    Defects: |value| Some(Value::Defects(value));
}

/// Defines a struct of the report together with its part of the table. Required fields come first. After each type
/// stand the number in the journal, the rule, the moments before it, and the note for `docs/privacy.md`.
macro_rules! fields {
    (
        $(#[$meta:meta])*
        pub struct $struct:ident {
            required {$(
                $(#[doc = $required_about:literal])+
                $required:ident: $required_type:ty = $required_number:literal, $required_rule:expr,
                    $required_privacy:expr;
            )*}
            optional {$(
                $(#[doc = $about:literal])+
                $field:ident: $type:ty = $number:literal, $rule:expr $(=> after $($after:literal)+)?, $privacy:expr;
            )*}
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $struct {
            $($(#[doc = $required_about])+ pub $required: $required_type,)*
            $(
                $(#[doc = $about])+
                #[serde(default, skip_serializing_if = "crate::field::is_default")]
                pub $field: $type,
            )*
        }

        impl $struct {
            /// The fields, in the order of the table.
            pub const FIELDS: &[$crate::Field] = &[
                $($crate::Field {
                    name: stringify!($required),
                    number: $required_number,
                    required: true,
                    about: concat!($($required_about),+),
                    rule: $required_rule,
                    after: &[],
                    privacy: $required_privacy,
                },)*
                $($crate::Field {
                    name: stringify!($field),
                    number: $number,
                    required: false,
                    about: concat!($($about),+),
                    rule: $rule,
                    after: &[$($($after),+)?],
                    privacy: $privacy,
                },)*
            ];
        }

        impl $crate::Fields for $struct {
            fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'static $crate::Field, $crate::Value<'a>)) {
                let mut fields = Self::FIELDS.iter();
                $(
                    let field = fields.next().expect("the table has a row for each field");
                    if let Some(value) = $crate::FieldValue::value(&self.$required) {
                        visit(field, value);
                    }
                )*
                $(
                    let field = fields.next().expect("the table has a row for each field");
                    if let Some(value) = $crate::FieldValue::value(&self.$field) {
                        visit(field, value);
                    }
                )*
            }
        }

        impl $crate::FieldValue for $struct {
            fn value(&self) -> Option<$crate::Value<'_>> {
                Some($crate::Value::Group(self))
            }

            fn drop_empty_texts(&mut self) {
                $($crate::FieldValue::drop_empty_texts(&mut self.$field);)*
            }
        }

        impl $crate::record::Record for $struct {
            fn write_fields(&self, into: &mut Vec<u8>) {
                $($crate::record::RecordValue::write(&self.$required, $required_number, into);)*
                $(if !$crate::field::is_default(&self.$field) {
                    $crate::record::RecordValue::write(&self.$field, $number, into);
                })*
            }

            fn read_field(&mut self, number: u8, short: bool, from: &mut &[u8]) -> Option<()> {
                match number {
                    $($required_number => self.$required = $crate::record::RecordValue::read(short, from)?,)*
                    $($number => self.$field = $crate::record::RecordValue::read(short, from)?,)*
                    _ => return None,
                }
                Some(())
            }
        }
    };
}
pub(crate) use fields;

/// Absent fields are not sent.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Most chunks, events, frames and the like.
pub(crate) const MAX_EVENTS: u64 = 10_000_000;
/// Most bytes of a stream: 1 TiB.
pub(crate) const MAX_BYTES: u64 = 1 << 40;
/// Most memory of a Wasm module: 4 GiB.
pub(crate) const MAX_MEMORY_BYTES: u64 = 1 << 32;
/// Most tokens.
pub(crate) const MAX_TOKENS: u64 = 1_000_000_000;
/// Longest duration: 24 hours.
pub const MAX_MS: f64 = 86_400_000.0;
