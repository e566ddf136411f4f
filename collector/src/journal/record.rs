//! Encodes a report for the journal in less than half the bytes of its JSON, and decodes it. The counts of discarded
//! reports are a record too.
//!
//! ```text
//! 0  layout  1   1, or 2 with a country. The JSON of earlier versions begins with `{`, and is read as well
//! 1  country 2   its code, in layout 2 alone
//! …  id      16  big-endian
//! …          …   the fields that are there, then a zero
//! ```
//!
//! A field is a byte, its number above and in the lowest bit whether it is written short, then its value:
//! numbers of seven bits per byte, lowest first; lengths before texts and lists; a duration as 64 bits, or
//! short as a number of tenths. A group such as `page` is its fields, then a zero. Words stand for outcomes
//! and defects, as elsewhere on disk: one more in their middle moves none.
//!
//! Layout 3 is no report: behind it stand two numbers, of reports that were sampled out and of fields ignored.

use std::array;
use std::borrow::Cow;

use beacon::{
    Around, Cost, Defect, Defects, Dropped, Histogram, Observed, Outcome, Page, Phases, Protocol,
    ServerStart, ServerTiming, StreamReport,
};

use crate::report::accepted::Discarded;
use crate::report::country::Country;
use crate::report::stream_id::StreamId;

/// What the journal holds of a report.
#[derive(Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) id: StreamId,
    /// Of the client that sent it. `None` where nobody said.
    pub(crate) country: Option<Country>,
    pub(crate) report: StreamReport,
}

/// Writes a report whose id is `id`.
pub(crate) fn write(id: StreamId, country: Option<Country>, report: &StreamReport, into: &mut Vec<u8>) {
    match country {
        None => into.push(REPORT),
        Some(country) => {
            into.push(REPORT_WITH_COUNTRY);
            into.extend_from_slice(&country.bytes());
        }
    }
    into.extend_from_slice(&id.to_be_bytes());
    report.write_fields(into);
}

/// The record that the bytes are. `None` when no known layout explains them.
pub(crate) fn read(bytes: &[u8]) -> Option<Record> {
    match bytes.split_first()? {
        (&REPORT, rest) => read_report(None, rest),
        (&REPORT_WITH_COUNTRY, rest) => {
            let (code, rest) = rest.split_first_chunk::<2>()?;
            read_report(Some(Country::of_code(str::from_utf8(code).ok()?)?), rest)
        }
        (b'{', _) => {
            let report: StreamReport = serde_json::from_slice(bytes).ok()?;
            Some(Record { id: u128::from_str_radix(&report.id, 16).ok()?, country: None, report })
        }
        _ => None,
    }
}

/// Writes what of a batch was left out.
pub(crate) fn write_discarded(Discarded { sampled_out, ignored_fields }: Discarded, into: &mut Vec<u8>) {
    into.push(DISCARDED);
    put(sampled_out, into);
    put(ignored_fields, into);
}

/// What of a batch was left out. `None` when the bytes are no such record.
pub(crate) fn read_discarded(bytes: &[u8]) -> Option<Discarded> {
    let (&DISCARDED, mut from) = bytes.split_first()? else { return None };
    let discarded = Discarded { sampled_out: u64::take(&mut from)?, ignored_fields: u64::take(&mut from)? };
    from.is_empty().then_some(discarded)
}

fn read_report(country: Option<Country>, from: &[u8]) -> Option<Record> {
    let (id, mut fields) = from.split_first_chunk()?;
    let id = StreamId::from_be_bytes(*id);
    let mut report = StreamReport::new(hexadecimal(id));
    report.read_fields(&mut fields)?;
    fields.is_empty().then_some(Record { id, country, report })
}

fn hexadecimal(id: StreamId) -> String {
    let digits: [u8; 32] = array::from_fn(|at| b"0123456789abcdef"[(id >> (4 * (31 - at))) as usize & 15]);
    str::from_utf8(&digits).expect("digits are ASCII").to_owned()
}

/// A value that is written with a number before it.
trait Field: Sized {
    fn write(&self, number: u8, into: &mut Vec<u8>);
    fn read(short: bool, from: &mut &[u8]) -> Option<Self>;
}

/// Fields with numbers.
trait Fields {
    fn write_fields(&self, into: &mut Vec<u8>);
    fn read_fields(&mut self, from: &mut &[u8]) -> Option<()>;
}

/// Numbers are never used again. A field that is added to the report is missing here until it has one:
/// the compiler says so.
macro_rules! fields {
    ($name:ident: $(($elsewhere:ident))? $($number:literal $field:ident,)+) => {
        impl Fields for $name {
            fn write_fields(&self, into: &mut Vec<u8>) {
                let Self { $($elsewhere: _,)? $($field,)+ } = self;
                $(Field::write($field, $number, into);)+
                into.push(END);
            }

            fn read_fields(&mut self, from: &mut &[u8]) -> Option<()> {
                loop {
                    let key = byte(from)?;
                    let short = key & SHORT != 0;
                    match key >> 1 {
                        0 => return Some(()),
                        $($number => self.$field = Field::read(short, from)?,)+
                        _ => return None,
                    }
                }
            }
        }
    };
}

fields! { StreamReport: (id)
    1 v, 2 rev, 3 open, 4 site, 5 use_case, 6 observed, 7 dialect, 8 provider, 9 model, 10 response_model,
    11 response_id, 12 status, 13 outcome, 14 finish_reason, 15 submit_delay_ms, 16 headers_ms,
    17 first_byte_ms, 18 first_event_ms, 19 ttft_ms, 20 ttfv_ms, 21 ttfp_ms, 22 e2e_ms, 23 close_ms,
    24 chunks, 25 events, 26 deltas, 27 bytes, 28 input_tokens, 29 output_tokens, 30 reasoning_tokens,
    31 cached_tokens, 32 tpot_ms, 33 longest_gap_ms, 34 gaps, 35 stalls, 36 defects, 37 phases, 38 server,
    39 page, 40 clock_resolution_ms, 41 dropped, 42 around, 43 sample_rate,
    44 cost,
}

fields! { Phases: 1 dns_ms, 2 connect_ms, 3 tls_ms, 4 wait_ms, }

fields! { Around:
    1 protocol, 2 end_delay_ms, 3 hidden_ms, 4 freezes, 5 restored, 6 prerendered, 7 long_frames,
    8 long_frames_ms, 9 hidden_bytes, 10 after_stop_bytes,
}

fields! { Cost: 1 timed_chunks, 2 chunks_ms, 3 memory_bytes, 4 sent_bytes, }

fields! { ServerTiming:
    1 source, 2 starts_from, 3 queue_ms, 4 ttft_ms, 5 generation_ms, 6 output_tokens,
}

fields! { Page: 1 browser, 2 os, 3 device, 4 connection, 5 visibility, 6 release, 7 route, }

fields! { Dropped: 1 queue_full, 2 send_failed, 3 refused, 4 early, }

impl<T: Fields + Default> Field for T {
    fn write(&self, number: u8, into: &mut Vec<u8>) {
        into.push(number << 1);
        self.write_fields(into);
    }

    fn read(_: bool, from: &mut &[u8]) -> Option<Self> {
        let mut group = Self::default();
        group.read_fields(from)?;
        Some(group)
    }
}

impl<T: Field> Field for Option<T> {
    fn write(&self, number: u8, into: &mut Vec<u8>) {
        if let Some(value) = self {
            value.write(number, into);
        }
    }

    fn read(short: bool, from: &mut &[u8]) -> Option<Self> {
        T::read(short, from).map(Some)
    }
}

/// Values that go out and come back by way of another.
macro_rules! by_way_of {
    ($($name:ty: $way:ty, $out:expr, $back:expr;)+) => {$(
        impl Field for $name {
            fn write(&self, number: u8, into: &mut Vec<u8>) {
                into.push(number << 1);
                let out: fn(&Self, &mut Vec<u8>) = $out;
                out(self, into);
            }

            fn read(_: bool, from: &mut &[u8]) -> Option<Self> {
                let back: fn($way) -> Option<Self> = $back;
                back(<$way>::take(from)?)
            }
        }
    )+};
}

by_way_of! {
    u64: u64, |value, into| put(*value, into), Some;
    u32: u64, |value, into| put(u64::from(*value), into), |value| value.try_into().ok();
    u16: u64, |value, into| put(u64::from(*value), into), |value| value.try_into().ok();
    bool: u64, |value, into| put(u64::from(*value), into), |value| Some(value != 0);
    Cow<'static, str>: Text, |value, into| put_text(value, into), |Text(text)| Some(Self::Owned(text));
    Outcome: Text, |value, into| put_text(value.as_str(), into),
        |Text(word)| Self::ALL.into_iter().find(|known| known.as_str() == word);
    Observed: u64, |value, into| put(*value as u64, into),
        |value| [Self::Events, Self::Chunks, Self::Arrival].get(value as usize).copied();
    ServerStart: Text, |value, into| put_text(value.as_str(), into),
        |Text(word)| [Self::Arrival, Self::Scheduled, Self::Prefill].into_iter()
            .find(|known| known.as_str() == word);
    Protocol: Text, |value, into| put_text(value.as_str(), into),
        |Text(word)| [Self::Http1, Self::Http2, Self::Http3, Self::Other].into_iter()
            .find(|known| known.as_str() == word);
}

impl Field for f64 {
    fn write(&self, number: u8, into: &mut Vec<u8>) {
        // Clocks of pages step by a tenth of a millisecond: most durations are whole tenths.
        let tenths = (*self * 10.0) as u64;
        if (tenths as Self / 10.0).to_bits() == self.to_bits() {
            into.push(number << 1 | SHORT);
            put(tenths, into);
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

impl Field for Histogram {
    fn write(&self, number: u8, into: &mut Vec<u8>) {
        into.push(number << 1);
        let (first, counts) = self.dense();
        put(self.zero(), into);
        into.extend_from_slice(&self.sum().to_le_bytes());
        into.extend_from_slice(&first.to_le_bytes());
        put(counts.len() as u64, into);
        counts.iter().for_each(|count| put(*count, into));
    }

    fn read(_: bool, from: &mut &[u8]) -> Option<Self> {
        let zero = u64::take(from)?;
        let sum = f64::from_le_bytes(chunk(from)?);
        let first = i32::from_le_bytes(chunk(from)?);
        let len = u64::take(from)? as usize;
        // Each count takes a byte at least: no length in the bytes makes this larger than they are.
        let mut counts = Vec::with_capacity(len.min(from.len()));
        for _ in 0..len {
            counts.push(u64::take(from)?);
        }
        Self::from_dense(zero, sum, first, counts).ok()
    }
}

impl Field for Defects {
    fn write(&self, number: u8, into: &mut Vec<u8>) {
        into.push(number << 1);
        put(self.iter().count() as u64, into);
        for (defect, count) in self.iter() {
            put_text(defect.as_str(), into);
            put(u64::from(count), into);
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

/// What other values go by way of.
trait Way: Sized {
    fn take(from: &mut &[u8]) -> Option<Self>;
}

struct Text(String);

impl Way for Text {
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(Self(text(from)?.to_owned()))
    }
}

impl Way for u64 {
    fn take(from: &mut &[u8]) -> Option<Self> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let next = byte(from)?;
            value |= Self::from(next & 0x7f) << shift;
            if next < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

fn put(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

fn put_text(text: &str, into: &mut Vec<u8>) {
    put(text.len() as u64, into);
    into.extend_from_slice(text.as_bytes());
}

fn text<'a>(from: &mut &'a [u8]) -> Option<&'a str> {
    let len = u64::take(from)?;
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

const REPORT: u8 = 1;
const REPORT_WITH_COUNTRY: u8 = 2;
const DISCARDED: u8 = 3;
const SHORT: u8 = 1;
const END: u8 = 0;

#[cfg(test)]
mod tests;
