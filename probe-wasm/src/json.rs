//! A value that serde can describe comes in, its JSON goes out.
//!
//! serde_json would add 20 kB to what every page downloads, most of it for reading and for exact
//! floats. This writes what `beacon` has: floats as whole thousandths, since a duration's third
//! decimal is a microsecond and no browser's clock is finer.

use std::fmt;

use serde::ser::{Error, Impossible, SerializeMap, SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};

/// The JSON of `value`. Traps where `value` has something that no report has, such as a tuple.
pub(crate) fn to_json<T: Serialize>(value: &T) -> String {
    let mut json = Json { text: String::new() };
    let Ok(()) = value.serialize(&mut json);
    json.text
}

struct Json {
    text: String,
}

/// A list or an object as it fills.
struct Members<'a> {
    json: &'a mut Json,
    comma: bool,
    close: char,
}

/// There is none: without values of it, nobody's code asks after failures.
#[derive(Debug)]
enum Never {}

type Written = Result<(), Never>;

impl Json {
    fn open(&mut self, open: char, close: char) -> Members<'_> {
        self.text.push(open);
        Members { json: self, comma: false, close }
    }

    fn integer(&mut self, mut value: u64) {
        let mut digits = [0; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        for digit in &digits[start..] {
            self.text.push(char::from(b'0' + digit));
        }
    }

    fn signed(&mut self, value: i64) {
        if value < 0 {
            self.text.push('-');
        }
        self.integer(value.unsigned_abs());
    }

    fn float(&mut self, value: f64) {
        if !value.is_finite() {
            self.text.push_str("null");
            return;
        }
        if value < 0.0 {
            self.text.push('-');
        }
        let thousandths = (value.abs() * 1000.0).round() as u64;
        self.integer(thousandths / 1000);
        let mut rest = thousandths % 1000;
        if rest > 0 {
            self.text.push('.');
        }
        while rest > 0 {
            self.text.push(char::from(b'0' + (rest / 100) as u8));
            rest = rest % 100 * 10;
        }
    }

    fn quoted(&mut self, value: &str) {
        self.text.push('"');
        for character in value.chars() {
            match character {
                '"' | '\\' => {
                    self.text.push('\\');
                    self.text.push(character);
                }
                '\0'..=' ' if character != ' ' => {
                    self.text.push_str("\\u00");
                    self.text.push(if character < '\u{10}' { '0' } else { '1' });
                    self.text.push(char::from(b"0123456789abcdef"[character as usize % 16]));
                }
                _ => self.text.push(character),
            }
        }
        self.text.push('"');
    }
}

impl Members<'_> {
    fn separate(&mut self) {
        if self.comma {
            self.json.text.push(',');
        }
        self.comma = true;
    }

    fn name(&mut self, name: &str) {
        self.separate();
        self.json.quoted(name);
        self.json.text.push(':');
    }

    fn finish(self) -> Written {
        self.json.text.push(self.close);
        Ok(())
    }
}

impl<'a> Serializer for &'a mut Json {
    type Ok = ();
    type Error = Never;
    type SerializeSeq = Members<'a>;
    type SerializeTuple = Impossible<(), Never>;
    type SerializeTupleStruct = Impossible<(), Never>;
    type SerializeTupleVariant = Impossible<(), Never>;
    type SerializeMap = Members<'a>;
    type SerializeStruct = Members<'a>;
    type SerializeStructVariant = Impossible<(), Never>;

    fn serialize_bool(self, value: bool) -> Written {
        self.text.push_str(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Written {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Written {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Written {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Written {
        self.signed(value);
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Written {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Written {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Written {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Written {
        self.integer(value);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Written {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Written {
        self.float(value);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Written {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Written {
        self.quoted(value);
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Written {
        unwritten()
    }

    fn serialize_none(self) -> Written {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        self.text.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Written {
        unwritten()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Members<'a>, Never> {
        Ok(self.open('[', ']'))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Never> {
        unwritten()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Never> {
        unwritten()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Never> {
        unwritten()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'a>, Never> {
        Ok(self.open('{', '}'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'a>, Never> {
        Ok(self.open('{', '}'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Never> {
        unwritten()
    }
}

impl SerializeSeq for Members<'_> {
    type Ok = ();
    type Error = Never;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.separate();
        value.serialize(&mut *self.json)
    }

    fn end(self) -> Written {
        self.finish()
    }
}

impl SerializeMap for Members<'_> {
    type Ok = ();
    type Error = Never;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Written {
        self.separate();
        key.serialize(&mut *self.json)?;
        self.json.text.push(':');
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        value.serialize(&mut *self.json)
    }

    fn end(self) -> Written {
        self.finish()
    }
}

impl SerializeStruct for Members<'_> {
    type Ok = ();
    type Error = Never;

    // Out of line: a report has forty fields of five types.
    #[inline(never)]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        self.name(name);
        value.serialize(&mut *self.json)
    }

    fn end(self) -> Written {
        self.finish()
    }
}

/// A shape that no report has.
fn unwritten() -> ! {
    unimplemented!("a shape that no report has")
}

impl fmt::Display for Never {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl std::error::Error for Never {}

impl Error for Never {
    fn custom<T: fmt::Display>(_: T) -> Self {
        unwritten()
    }
}

#[cfg(test)]
mod tests {
    use beacon::StreamReport;
    use serde_json::{Value, from_str, json};

    use super::*;

    #[test]
    fn every_field_of_a_report_is_written_as_serde_json_does() {
        for golden in [
            include_str!("../../beacon/tests/golden/v1-full.json"),
            include_str!("../../beacon/tests/golden/v1-open.json"),
            include_str!("../../beacon/tests/golden/v1-bare.json"),
        ] {
            let report: StreamReport = from_str(golden).unwrap();
            let ours: StreamReport = from_str(&to_json(&report)).unwrap();
            assert_eq!(ours.tpot_ms.is_some(), report.tpot_ms.is_some());
            assert_eq!(StreamReport { tpot_ms: None, ..ours }, StreamReport { tpot_ms: None, ..report });
        }
    }

    #[test]
    fn numbers_are_whole_thousandths() {
        let written = |value: f64| to_json(&value);
        let cases = [
            (0.0, "0"),
            (0.1, "0.1"),
            (12.34, "12.34"),
            (107.999_999_999_999_99, "108"),
            (50.2175, "50.218"),
            (0.0004, "0"),
            (-1.5, "-1.5"),
            (1_700_000_000_000.5, "1700000000000.5"),
            (f64::NAN, "null"),
        ];
        for (value, expected) in cases {
            assert_eq!(written(value), expected);
        }
        assert_eq!(to_json(&u64::MAX), "18446744073709551615");
        assert_eq!(to_json(&i32::MIN), "-2147483648");
    }

    #[test]
    fn any_string_reads_back_as_it_was() {
        let text = (0..=0x2100).filter_map(char::from_u32).collect::<String>() + "\u{1f600}";
        assert_eq!(from_str::<Value>(&to_json(&text)).unwrap(), json!(text));
    }
}
