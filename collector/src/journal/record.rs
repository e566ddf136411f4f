//! One record of the journal: a report that was accepted, or the counts of what a batch left out.
//!
//! ```text
//! 0  layout  1   1, or 2 with a country. The JSON of earlier versions begins with `{` and is read as well
//! 1  country 2   its code, in layout 2 alone
//! …  id      16  big-endian
//! …          …   the fields that are present, then a zero (`beacon::record`)
//! ```
//!
//! Layout 3 is not a report: two numbers follow, of reports that were sampled out and of fields that were ignored.

use std::array;

use beacon::StreamReport;
use beacon::record::{Record as _, put_number, take_number};

use crate::report::accepted::Discarded;
use crate::report::country::Country;
use crate::report::stream_id::StreamId;

/// A report as stored in the journal.
#[derive(Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) id: StreamId,
    /// Country of the client that sent it. `None` if unknown.
    pub(crate) country: Option<Country>,
    pub(crate) report: StreamReport,
}

/// Encodes a report whose id is `id`.
pub(crate) fn write(id: StreamId, country: Option<Country>, report: &StreamReport, into: &mut Vec<u8>) {
    match country {
        None => into.push(REPORT),
        Some(country) => {
            into.push(REPORT_WITH_COUNTRY);
            into.extend_from_slice(&country.bytes());
        }
    }
    into.extend_from_slice(&id.to_be_bytes());
    report.write_record(into);
}

/// Decodes a record. `None` if its layout is unknown or its bytes are damaged.
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

/// Encodes the counts of reports and fields that a batch left out.
pub(crate) fn write_discarded(Discarded { sampled_out, ignored_fields }: Discarded, into: &mut Vec<u8>) {
    into.push(DISCARDED);
    put_number(sampled_out, into);
    put_number(ignored_fields, into);
}

/// Decodes the counts of reports and fields that a batch left out. `None` if this is another record.
pub(crate) fn read_discarded(bytes: &[u8]) -> Option<Discarded> {
    let (&DISCARDED, mut from) = bytes.split_first()? else { return None };
    let discarded =
        Discarded { sampled_out: take_number(&mut from)?, ignored_fields: take_number(&mut from)? };
    from.is_empty().then_some(discarded)
}

fn read_report(country: Option<Country>, from: &[u8]) -> Option<Record> {
    let (id, mut fields) = from.split_first_chunk()?;
    let id = StreamId::from_be_bytes(*id);
    let mut report = StreamReport { id: hexadecimal(id), ..StreamReport::default() };
    report.read_record(&mut fields)?;
    fields.is_empty().then_some(Record { id, country, report })
}

fn hexadecimal(id: StreamId) -> String {
    let digits: [u8; 32] = array::from_fn(|at| b"0123456789abcdef"[(id >> (4 * (31 - at))) as usize & 15]);
    str::from_utf8(&digits).expect("digits are ASCII").to_owned()
}

const REPORT: u8 = 1;
const REPORT_WITH_COUNTRY: u8 = 2;
const DISCARDED: u8 = 3;

#[cfg(test)]
pub(crate) mod tests;
