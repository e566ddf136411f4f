//! The table of all report fields: name, accepted values, order, number in the journal, and what the field
//! says about a person. Validation, the journal, JSON Schema, TypeScript types and the tables in `docs/` are
//! generated from it.

use std::borrow::Cow;

use crate::attributes::Attributes;
use crate::defect::Defects;
use crate::histogram::Histogram;
use crate::name_shape::NameShape;
use crate::outcome::Outcome;
use crate::words::{LayerEnd, Observed, Protocol, ServerStart};

/// A field of a report or of a group in it.
#[derive(Debug)]
pub struct Field {
    /// Name in JSON.
    pub name: &'static str,
    /// Number in the journal. A number is never reused.
    pub number: u8,
    /// A report without the field is refused.
    pub required: bool,
    /// Meaning in one or a few sentences.
    pub about: &'static str,
    /// The values that the field accepts.
    pub rule: Rule,
    /// Fields with times that must not be later than this one.
    pub after: &'static [&'static str],
    /// Information about a person in the field and the reason to send it, for `docs/privacy-fields.md`. A group has this only
    /// if the collector sets it as a whole.
    pub privacy: &'static str,
}

impl Field {
    /// The collector sets it, and ignores it when a page sends it.
    #[must_use]
    pub const fn is_set_by_collector(&self) -> bool {
        match self.rule {
            Rule::Collector => true,
            Rule::Group(_) => !self.privacy.is_empty(),
            _ => false,
        }
    }
}

/// The values that a field accepts.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// Milliseconds, up to [`MAX_MS`].
    Milliseconds,
    /// An integer up to this limit.
    Count(u64),
    /// An integer that every report has. The collector lowers one above this limit, and accepts the report: a server
    /// that sends very many events must not hide its stream.
    Amount(u64),
    /// An integer in this range; both ends are included.
    Between(u64, u64),
    /// Greater than 0 and at most 1.
    Share,
    /// Printable text of at most this many bytes.
    Text(usize),
    /// The same from an option of the app. The collector drops another text, and accepts the report.
    OwnText(usize),
    /// A name that comes from a request or a response.
    Name(NameShape),
    /// One of these words. If `true`, any other word is read as the last one.
    Word(&'static [&'static str], bool),
    /// `true` or absent.
    Flag,
    /// 32 hexadecimal digits.
    Id,
    /// At most 16 hexadecimal digits. The collector keeps a keyed hash of them, outside the report.
    Visit,
    /// Set by the collector and ignored in a beacon.
    Collector,
    /// Base-2 exponential histogram of milliseconds.
    Histogram,
    /// Counts by defect.
    Defects,
    /// A list of at most [`MAX_MARKS`](crate::MAX_MARKS) marks.
    Marks,
    /// Short texts by key, at most [`MAX_ATTRIBUTES`](crate::MAX_ATTRIBUTES).
    Attributes,
    /// An object with these fields.
    Group(&'static [Field]),
}

impl Rule {
    /// The largest number that the field accepts. `None` if its values are no numbers.
    #[must_use]
    pub const fn max(self) -> Option<f64> {
        match self {
            Self::Milliseconds => Some(MAX_MS),
            Self::Count(most) | Self::Amount(most) | Self::Between(_, most) => Some(most as f64),
            _ => None,
        }
    }
}

/// The value of a field that is present.
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
    /// Attributes.
    Attributes(&'a Attributes),
    /// A list of objects with their own fields.
    List(&'a dyn FieldsList),
    /// An object with its own fields.
    Group(&'a dyn Fields),
}

/// A value that a field gets. Marks have none.
#[derive(Debug)]
pub enum NewValue<'a> {
    /// A duration or a share.
    Float(f64),
    /// A count.
    Integer(u64),
    /// A text, a name or a word.
    Text(&'a str),
    /// A flag.
    Flag(bool),
    /// A histogram.
    Histogram(Histogram),
    /// Defects.
    Defects(Defects),
    /// Attributes.
    Attributes(Attributes),
}

/// A struct whose fields are in the table.
pub trait Fields {
    /// Calls `visit` with each field that is present, in the order of the table.
    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'static Field, Value<'a>));
}

/// A list of structs whose fields are in the table.
pub trait FieldsList {
    /// The structs, in their order.
    fn items(&self) -> Vec<&dyn Fields>;
}

/// Type of a field: returns its value if the field is present.
pub trait FieldValue: Sized {
    /// `None` if the field is absent.
    fn value(&self) -> Option<Value<'_>>;

    /// Sets the value. `path`: the numbers of the fields within the value, from a group to one of its fields; empty if the
    /// value is no group. `None` if it cannot have this value.
    fn set(&mut self, path: &[u8], value: NewValue<'_>) -> Option<()> {
        *self = Self::new(path, value)?;
        Some(())
    }

    /// The same for a value that was absent.
    fn new(path: &[u8], value: NewValue<'_>) -> Option<Self>;

    /// Makes empty optional texts absent.
    fn drop_empty_texts(&mut self) {}
}

impl<T: FieldValue> FieldValue for Option<T> {
    fn value(&self) -> Option<Value<'_>> {
        self.as_ref()?.value()
    }

    fn set(&mut self, path: &[u8], value: NewValue<'_>) -> Option<()> {
        match self {
            Some(held) => held.set(path, value),
            None => {
                *self = Self::new(path, value)?;
                Some(())
            }
        }
    }

    fn new(path: &[u8], value: NewValue<'_>) -> Option<Self> {
        T::new(path, value).map(Some)
    }

    fn drop_empty_texts(&mut self) {
        if matches!(self.value(), Some(Value::Text(""))) {
            *self = None;
        } else if let Some(value) = self {
            value.drop_empty_texts();
        }
    }
}

/// Implements [`FieldValue`] for simple types.
macro_rules! values {
    ($($type:ty: $value:expr, $new:pat => $from:expr;)+) => {$(
        impl FieldValue for $type {
            fn value(&self) -> Option<Value<'_>> {
                let value: fn(&Self) -> Option<Value<'_>> = $value;
                value(self)
            }

            fn new(path: &[u8], value: NewValue<'_>) -> Option<Self> {
                match (path, value) {
                    ([], $new) => $from,
                    _ => None,
                }
            }
        }
    )+};
}

values! {
    f64: |value| Some(Value::Float(*value)), NewValue::Float(value) => Some(value);
    u16: |value| Some(Value::Integer((*value).into())), NewValue::Integer(value) => value.try_into().ok();
    u32: |value| Some(Value::Integer((*value).into())), NewValue::Integer(value) => value.try_into().ok();
    u64: |value| Some(Value::Integer(*value)), NewValue::Integer(value) => Some(value);
    bool: |value| value.then_some(Value::Flag(true)), NewValue::Flag(value) => Some(value);
    String: |value| Some(Value::Text(value)), NewValue::Text(text) => Some(text.to_owned());
    Cow<'static, str>: |value| Some(Value::Text(value)), NewValue::Text(text) => Some(Self::Owned(text.to_owned()));
    Outcome: |value| Some(Value::Text(value.as_str())), NewValue::Text(word) => Self::from_word(word);
    Observed: |value| Some(Value::Text(value.as_str())), NewValue::Text(word) => Self::from_word(word);
    ServerStart: |value| Some(Value::Text(value.as_str())), NewValue::Text(word) => Self::from_word(word);
    LayerEnd: |value| Some(Value::Text(value.as_str())), NewValue::Text(word) => Self::from_word(word);
    Protocol: |value| Some(Value::Text(value.as_str())), NewValue::Text(word) => Self::from_word(word);
    Histogram: |value| Some(Value::Histogram(value)), NewValue::Histogram(histogram) => Some(histogram);
    Defects: |value| Some(Value::Defects(value)), NewValue::Defects(defects) => Some(defects);
    Attributes: |value| (!value.is_empty()).then_some(Value::Attributes(value)), NewValue::Attributes(value) => Some(value);
}

/// Defines a struct of the report together with its part of the table. Required fields come first. After each
/// type follow the number in the journal, the rule, the fields with earlier times, and the note for
/// `docs/privacy-fields.md`.
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

            fn set(&mut self, path: &[u8], value: $crate::NewValue<'_>) -> Option<()> {
                let (number, path) = path.split_first()?;
                match *number {
                    $($required_number => $crate::FieldValue::set(&mut self.$required, path, value),)*
                    $($number => $crate::FieldValue::set(&mut self.$field, path, value),)*
                    _ => None,
                }
            }

            fn new(path: &[u8], value: $crate::NewValue<'_>) -> Option<Self> {
                let mut group = Self::default();
                $crate::FieldValue::set(&mut group, path, value)?;
                Some(group)
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

/// Skips absent fields when serializing.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Limit for chunks, events, frames and similar counts.
/// Longest text from an option of the app.
pub(crate) const MAX_OWN_TEXT_BYTES: usize = 128;
pub(crate) const MAX_EVENTS: u64 = 10_000_000;
/// Limit for the bytes of a stream: 1 TiB.
pub(crate) const MAX_BYTES: u64 = 1 << 40;
/// Limit for the memory of a Wasm module: 4 GiB.
pub(crate) const MAX_MEMORY_BYTES: u64 = 1 << 32;
/// Limit for the facts of one stream: five layers with ten values each.
pub(crate) const MAX_FACTS: u64 = 63;
/// Limit for tokens.
pub(crate) const MAX_TOKENS: u64 = 1_000_000_000;
/// Longest duration: 24 hours.
pub const MAX_MS: f64 = 86_400_000.0;
