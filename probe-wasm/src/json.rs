//! A report comes in, its JSON goes out.
//!
//! Every page downloads this: serde_json would add 20 kB to it, most of them for reading and for
//! exact floats, and serde's derived code 1 kB. Floats are whole thousandths, since a duration's
//! third decimal is a microsecond and no browser's clock is finer.

use std::borrow::Cow;

use beacon::{Defects, Histogram, Outcome, Page, Phases, SCALE, ServerStart, ServerTiming, StreamReport};

/// The named fields of a struct, as names and values.
macro_rules! members {
    ($of:expr => $($name:ident)*) => {
        (stringify!($($name)*), &[$(Value::from(&$of.$name)),*])
    };
}

/// The JSON of `report`, without what the facade (`observed`, `around`, `sample_rate`, `dropped`) and the
/// collector (`site`) say.
pub(crate) fn to_json(report: &StreamReport) -> String {
    let mut json = Json(String::new());
    json.object(members!(report =>
        v id rev open use_case dialect provider model response_model response_id status outcome
        finish_reason submit_delay_ms headers_ms first_byte_ms first_event_ms ttft_ms ttfv_ms ttfp_ms
        e2e_ms close_ms chunks events deltas bytes input_tokens output_tokens reasoning_tokens
        cached_tokens tpot_ms longest_gap_ms gaps stalls defects phases server page
        clock_resolution_ms
    ));
    json.0
}

/// What a field holds. One that is absent, false or empty is left out.
#[derive(Clone, Copy)]
enum Value<'a> {
    Flag(bool),
    Count(&'a u32),
    LongCount(&'a u64),
    Name(&'a str),
    Status(&'a Option<u16>),
    Text(&'a Option<Cow<'static, str>>),
    Ms(&'a Option<f64>),
    Tokens(&'a Option<u64>),
    Gaps(&'a Option<Histogram>),
    Defects(&'a Defects),
    Phases(&'a Option<Phases>),
    Server(&'a Option<ServerTiming>),
    Page(&'a Option<Page>),
}

/// One way from each type of field.
macro_rules! values {
    ($($variant:ident($type:ty),)*) => {$(
        impl<'a> From<&'a $type> for Value<'a> {
            fn from(value: &'a $type) -> Self {
                Self::$variant(value)
            }
        }
    )*};
}

values! {
    Count(u32),
    LongCount(u64),
    Name(String),
    Name(Cow<'static, str>),
    Status(Option<u16>),
    Text(Option<Cow<'static, str>>),
    Ms(Option<f64>),
    Tokens(Option<u64>),
    Gaps(Option<Histogram>),
    Defects(Defects),
    Phases(Option<Phases>),
    Server(Option<ServerTiming>),
    Page(Option<Page>),
}

impl From<&bool> for Value<'_> {
    fn from(flag: &bool) -> Self {
        Self::Flag(*flag)
    }
}

impl From<&Outcome> for Value<'_> {
    fn from(outcome: &Outcome) -> Self {
        Self::Name(outcome.as_str())
    }
}

impl From<&Option<ServerStart>> for Value<'_> {
    fn from(start: &Option<ServerStart>) -> Self {
        start.map_or(Self::Flag(false), |start| Self::Name(start.as_str()))
    }
}

struct Json(String);

impl Json {
    fn object(&mut self, (names, values): (&str, &[Value])) {
        self.raw("{");
        for (name, value) in names.split_ascii_whitespace().zip(values) {
            let before = self.0.len();
            self.name(name);
            if !self.value(value) {
                self.0.truncate(before);
            }
        }
        self.raw("}");
    }

    /// False when there is nothing to write.
    fn value(&mut self, value: &Value) -> bool {
        match *value {
            Value::Flag(flag) => {
                self.raw("true");
                return flag;
            }
            Value::Count(&count) => self.integer(count.into()),
            Value::LongCount(&count) | Value::Tokens(&Some(count)) => self.integer(count),
            Value::Status(&Some(status)) => self.integer(status.into()),
            Value::Name(text) => self.quoted(text),
            Value::Text(Some(text)) => self.quoted(text),
            Value::Ms(&Some(ms)) => self.float(ms),
            Value::Gaps(Some(gaps)) => self.histogram(gaps),
            Value::Defects(defects) => return self.defects(defects),
            Value::Phases(Some(phases)) => {
                self.object(members!(phases => dns_ms connect_ms tls_ms wait_ms));
            }
            Value::Server(Some(server)) => {
                self.object(
                    members!(server => source starts_from queue_ms ttft_ms generation_ms output_tokens),
                );
            }
            Value::Page(Some(page)) => {
                self.object(members!(page => browser os device connection visibility release route));
            }
            _ => return false,
        }
        true
    }

    fn histogram(&mut self, gaps: &Histogram) {
        let (offset, counts) = gaps.dense();
        self.raw("{\"scale\":");
        self.integer(SCALE.into());
        self.name("offset");
        if offset < 0 {
            self.raw("-");
        }
        self.integer(offset.unsigned_abs().into());
        self.name("counts");
        self.raw("[");
        for &count in counts {
            self.comma();
            self.integer(count);
        }
        self.raw("]");
        self.name("zero");
        self.integer(gaps.zero());
        self.name("sum");
        self.float(gaps.sum());
        self.raw("}");
    }

    fn defects(&mut self, defects: &Defects) -> bool {
        self.raw("{");
        let empty = self.0.len();
        for (word, count) in defects.words() {
            self.name(word);
            self.integer(count.into());
        }
        let any = self.0.len() > empty;
        self.raw("}");
        any
    }

    fn name(&mut self, name: &str) {
        self.comma();
        self.quoted(name);
        self.raw(":");
    }

    /// What stands before another member or element, unless it is the first.
    fn comma(&mut self) {
        if !matches!(self.0.as_bytes().last(), Some(b'{' | b'[')) {
            self.raw(",");
        }
    }

    fn raw(&mut self, text: &str) {
        self.0.push_str(text);
    }

    fn integer(&mut self, value: u64) {
        if value > 9 {
            self.integer(value / 10);
        }
        self.digit(value % 10);
    }

    fn digit(&mut self, digit: u64) {
        self.0.push(char::from(b'0' + digit as u8));
    }

    fn float(&mut self, value: f64) {
        if value < 0.0 {
            self.raw("-");
        }
        let thousandths = (value.abs() * 1000.0).round() as u64;
        self.integer(thousandths / 1000);
        let mut rest = thousandths % 1000;
        if rest > 0 {
            self.raw(".");
        }
        while rest > 0 {
            self.digit(rest / 100);
            rest = rest % 100 * 10;
        }
    }

    fn quoted(&mut self, text: &str) {
        self.raw("\"");
        for char in text.chars() {
            match char {
                '"' | '\\' => self.raw("\\"),
                '\0'..' ' => {
                    self.raw(if char < '\x10' { "\\u000" } else { "\\u001" });
                    self.0.extend(char::from_digit(char as u32 % 16, 16));
                    continue;
                }
                _ => {}
            }
            self.0.push(char);
        }
        self.raw("\"");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_str, json, to_value};

    use super::*;

    const GOLDEN: [&str; 3] = [
        include_str!("../../beacon/tests/golden/v1-full.json"),
        include_str!("../../beacon/tests/golden/v1-open.json"),
        include_str!("../../beacon/tests/golden/v1-bare.json"),
    ];

    #[test]
    fn every_field_of_a_report_is_written_as_serde_json_does() {
        for golden in GOLDEN {
            let mut report: StreamReport = from_str(golden).unwrap();
            report.site = None;
            (report.around, report.sample_rate, report.dropped) = (None, None, None);
            let ours: StreamReport = from_str(&to_json(&report)).unwrap();
            report.tpot_ms = report.tpot_ms.map(|ms| (ms * 1000.0).round() / 1000.0);
            assert_eq!(ours, report);
        }
    }

    #[test]
    fn the_golden_report_has_every_field() {
        let mut report: StreamReport = from_str(GOLDEN[0]).unwrap();
        report.open = true;
        let written: Value = from_str(&to_json(&report)).unwrap();
        let theirs = to_value(&report).unwrap();
        for (name, value) in theirs.as_object().unwrap() {
            let elsewhere = ["site", "around", "sample_rate", "dropped"].contains(&name.as_str());
            assert_eq!(written.get(name).is_none(), elsewhere, "{name}");
            if let (false, Some(inner)) = (elsewhere, value.as_object()) {
                assert_eq!(written[name].as_object().unwrap().len(), inner.len(), "{name}");
            }
        }
    }

    #[test]
    fn numbers_are_whole_thousandths() {
        let cases = [
            (0.0, "0"),
            (0.1, "0.1"),
            (12.34, "12.34"),
            (107.999_999_999_999_99, "108"),
            (50.2175, "50.218"),
            (0.0004, "0"),
            (-1.5, "-1.5"),
            (1_700_000_000_000.5, "1700000000000.5"),
        ];
        for (value, expected) in cases {
            assert_eq!(written(|json| json.float(value)), expected);
        }
        assert_eq!(written(|json| json.integer(u64::MAX)), "18446744073709551615");
    }

    #[test]
    fn any_string_reads_back_as_it_was() {
        let text = (0..=0x2100).filter_map(char::from_u32).collect::<String>() + "\u{1f600}";
        let quoted = written(|json| json.quoted(&text));
        assert_eq!(from_str::<Value>(&quoted).unwrap(), json!(text));
    }

    fn written(write: impl FnOnce(&mut Json)) -> String {
        let mut json = Json(String::new());
        write(&mut json);
        json.0
    }
}
