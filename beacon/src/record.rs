//! The binary form of a report's fields in the journal: less than half the bytes of their JSON.
//!
//! A field is one byte and a value. The byte is the field's number shifted left by one; its lowest bit says
//! whether the value has its short form. Integers take seven bits per byte, lowest bits first. Texts and
//! lists begin with their length. A duration is the 64 bits of its float, or in its short form a number of
//! tenths of a millisecond. A group such as `page` is its fields and a zero byte. Outcomes and defects are
//! stored as words, so that a new one does not renumber others.

use std::borrow::Cow;

use crate::attributes::Attributes;
use crate::defect::{Defect, Defects};
use crate::histogram::Histogram;
use crate::outcome::Outcome;
use crate::words::{LayerEnd, Observed, Protocol, ServerStart};

/// A struct with a binary form.
pub trait Record: Sized {
    /// Appends the fields that are present, without the final zero byte.
    fn write_fields(&self, into: &mut Vec<u8>);

    /// Reads the value of one field. `None` if the number is unknown or the bytes are no value of this field.
    fn read_field(&mut self, number: u8, short: bool, from: &mut &[u8]) -> Option<()>;

    /// Appends the fields and the final zero byte.
    fn write_record(&self, into: &mut Vec<u8>) {
        self.write_fields(into);
        into.push(END);
    }

    /// Reads fields up to the final zero byte. `None` if the bytes are not fields of this struct.
    fn read_record(&mut self, from: &mut &[u8]) -> Option<()> {
        loop {
            let key = byte(from)?;
            match key >> 1 {
                0 => return Some(()),
                number => self.read_field(number, key & SHORT != 0, from)?,
            }
        }
    }
}

/// A value that is preceded by the number of its field.
pub trait RecordValue: Sized {
    /// Appends the number and the value.
    fn write(&self, number: u8, into: &mut Vec<u8>);

    /// Reads the value. `None` if the bytes are no such value.
    fn read(short: bool, from: &mut &[u8]) -> Option<Self>;
}

impl<T: Record + Default> RecordValue for T {
    fn write(&self, number: u8, into: &mut Vec<u8>) {
        into.push(number << 1);
        self.write_record(into);
    }

    fn read(_: bool, from: &mut &[u8]) -> Option<Self> {
        let mut group = Self::default();
        group.read_record(from)?;
        Some(group)
    }
}

impl<T: RecordValue> RecordValue for Option<T> {
    fn write(&self, number: u8, into: &mut Vec<u8>) {
        if let Some(value) = self {
            value.write(number, into);
        }
    }

    fn read(short: bool, from: &mut &[u8]) -> Option<Self> {
        T::read(short, from).map(Some)
    }
}

/// The id of a stream. A journal record stores it outside the fields.
impl RecordValue for String {
    fn write(&self, _: u8, _: &mut Vec<u8>) {}

    fn read(_: bool, _: &mut &[u8]) -> Option<Self> {
        None
    }
}

/// Implements [`RecordValue`] for types that are stored as an integer or a text.
macro_rules! written_as {
    ($($name:ty: $form:ty, $write:expr, $read:expr;)+) => {$(
        impl RecordValue for $name {
            fn write(&self, number: u8, into: &mut Vec<u8>) {
                into.push(number << 1);
                let write: fn(&Self, &mut Vec<u8>) = $write;
                write(self, into);
            }

            fn read(_: bool, from: &mut &[u8]) -> Option<Self> {
                let read: fn($form) -> Option<Self> = $read;
                read(<$form>::take(from)?)
            }
        }
    )+};
}

written_as! {
    u64: u64, |value, into| put_number(*value, into), Some;
    u32: u64, |value, into| put_number(u64::from(*value), into), |value| value.try_into().ok();
    u16: u64, |value, into| put_number(u64::from(*value), into), |value| value.try_into().ok();
    bool: u64, |value, into| put_number(u64::from(*value), into), |value| Some(value != 0);
    Cow<'static, str>: Text, |value, into| put_text(value, into), |Text(text)| Some(Self::Owned(text));
    Outcome: Text, |value, into| put_text(value.as_str(), into), |Text(word)| Self::from_word(&word);
    Observed: u64, |value, into| put_number(*value as u64, into), |value| Self::ALL.get(value as usize).copied();
    ServerStart: Text, |value, into| put_text(value.as_str(), into), |Text(word)| Self::from_word(&word);
    LayerEnd: Text, |value, into| put_text(value.as_str(), into), |Text(word)| Self::from_word(&word);
    Protocol: Text, |value, into| put_text(value.as_str(), into), |Text(word)| Self::from_word(&word);
}

impl RecordValue for f64 {
    fn write(&self, number: u8, into: &mut Vec<u8>) {
        // Clocks of pages have steps of a tenth of a millisecond, so most durations are whole tenths.
        let tenths = (*self * 10.0) as u64;
        if (tenths as Self / 10.0).to_bits() == self.to_bits() {
            into.push(number << 1 | SHORT);
            put_number(tenths, into);
        } else {
            into.push(number << 1);
            into.extend_from_slice(&self.to_le_bytes());
        }
    }

    fn read(short: bool, from: &mut &[u8]) -> Option<Self> {
        match short {
            true => Some(u64::take(from)? as Self / 10.0),
            false => Some(Self::from_le_bytes(chunk(from)?)),
        }
    }
}

impl RecordValue for Histogram {
    fn write(&self, number: u8, into: &mut Vec<u8>) {
        into.push(number << 1);
        let (first, counts) = self.dense();
        put_number(self.zero(), into);
        into.extend_from_slice(&self.sum().to_le_bytes());
        into.extend_from_slice(&first.to_le_bytes());
        put_number(counts.len() as u64, into);
        counts.iter().for_each(|count| put_number(*count, into));
    }

    fn read(_: bool, from: &mut &[u8]) -> Option<Self> {
        let zero = u64::take(from)?;
        let sum = f64::from_le_bytes(chunk(from)?);
        let first = i32::from_le_bytes(chunk(from)?);
        let len = u64::take(from)? as usize;
        // Each count takes at least one byte, so a damaged length cannot reserve more than the remaining
        // bytes.
        let mut counts = Vec::with_capacity(len.min(from.len()));
        for _ in 0..len {
            counts.push(u64::take(from)?);
        }
        Self::from_dense(zero, sum, first, counts).ok()
    }
}

impl RecordValue for Defects {
    fn write(&self, number: u8, into: &mut Vec<u8>) {
        into.push(number << 1);
        put_number(self.iter().count() as u64, into);
        for (defect, count) in self.iter() {
            put_text(defect.as_str(), into);
            put_number(u64::from(count), into);
        }
    }

    fn read(_: bool, from: &mut &[u8]) -> Option<Self> {
        let mut defects = Self::default();
        for _ in 0..u64::take(from)? {
            let word = text(from)?;
            let defect = Defect::ALL.iter().find(|known| known.as_str() == word)?;
            defects.set(*defect, u64::take(from)?.try_into().ok()?);
        }
        Some(defects)
    }
}

impl RecordValue for Attributes {
    fn write(&self, number: u8, into: &mut Vec<u8>) {
        into.push(number << 1);
        put_number(self.iter().count() as u64, into);
        for (key, value) in self.iter() {
            put_text(key, into);
            put_text(value, into);
        }
    }

    fn read(_: bool, from: &mut &[u8]) -> Option<Self> {
        (0..u64::take(from)?).map(|_| Some((text(from)?.to_owned(), text(from)?.to_owned()))).collect()
    }
}

/// The stored form of a value.
trait Form: Sized {
    fn take(from: &mut &[u8]) -> Option<Self>;
}

struct Text(String);

impl Form for Text {
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(Self(text(from)?.to_owned()))
    }
}

impl Form for u64 {
    fn take(from: &mut &[u8]) -> Option<Self> {
        take_number(from)
    }
}

/// Appends an integer in seven bits per byte, lowest bits first.
pub fn put_number(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

/// Reads an integer of [`put_number`] from the front.
pub fn take_number(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let next = byte(from)?;
        value |= u64::from(next & 0x7f) << shift;
        if next < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Appends a text, after its length.
pub fn put_text(text: &str, into: &mut Vec<u8>) {
    put_number(text.len() as u64, into);
    into.extend_from_slice(text.as_bytes());
}

fn text<'a>(from: &mut &'a [u8]) -> Option<&'a str> {
    let len = take_number(from)?;
    let (text, rest) = from.split_at_checked(usize::try_from(len).ok()?)?;
    *from = rest;
    str::from_utf8(text).ok()
}

fn byte(from: &mut &[u8]) -> Option<u8> {
    let (first, rest) = from.split_first()?;
    *from = rest;
    Some(*first)
}

fn chunk<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (chunk, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(*chunk)
}

const SHORT: u8 = 1;
const END: u8 = 0;
