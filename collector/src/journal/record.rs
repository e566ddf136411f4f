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
//! Layout 4 is a fact of the backend: the site and the response's id, each after its length, the number of the layer, then
//! the fields of its timing and a zero. In layout 5, the 8 bytes of a visit's hash follow, and then a record of layout 1
//! or 2.

use std::array;

use beacon::LayerTiming;
use beacon::StreamReport;
use beacon::record::{Record as _, put_number, take_number};

use crate::report::accepted::Discarded;
use crate::report::country::Country;
use crate::report::server_fact::{Layer, ServerFact};
use crate::report::stream_id::StreamId;
use crate::report::visit::VisitHash;

/// A report as stored in the journal.
#[derive(Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) id: StreamId,
    /// Country of the client that sent it. `None` if unknown.
    pub(crate) country: Option<Country>,
    /// `None` if the tab sent no number.
    pub(crate) visit: Option<VisitHash>,
    pub(crate) report: StreamReport,
}

/// Encodes a report whose id is `id`.
pub(crate) fn write(
    id: StreamId,
    country: Option<Country>,
    visit: Option<VisitHash>,
    report: &StreamReport,
    into: &mut Vec<u8>,
) {
    if let Some(visit) = visit {
        into.push(VISIT);
        into.extend_from_slice(&visit.to_be_bytes());
    }
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
        (&VISIT, rest) => {
            let (visit, rest) = rest.split_first_chunk()?;
            read_report(Some(VisitHash::from_be_bytes(*visit)), rest)
        }
        (b'{', _) => {
            let report: StreamReport = serde_json::from_slice(bytes).ok()?;
            let id = u128::from_str_radix(&report.id, 16).ok()?;
            Some(Record { id, country: None, visit: None, report })
        }
        _ => read_report(None, bytes),
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

/// Encodes a fact of the backend.
pub(crate) fn write_fact(fact: &ServerFact, into: &mut Vec<u8>) {
    into.push(FACT);
    for text in [&fact.site, &fact.response_id] {
        put_number(text.len() as u64, into);
        into.extend_from_slice(text.as_bytes());
    }
    put_number(fact.layer as u64, into);
    fact.timing.write_record(into);
}

/// Decodes a fact of the backend. `None` if this is another record, or damaged.
pub(crate) fn read_fact(bytes: &[u8]) -> Option<ServerFact> {
    let (&FACT, mut from) = bytes.split_first()? else { return None };
    let site = take_text(&mut from)?;
    let response_id = take_text(&mut from)?;
    let layer = *Layer::ALL.get(usize::try_from(take_number(&mut from)?).ok()?)?;
    let mut timing = LayerTiming::default();
    timing.read_record(&mut from)?;
    from.is_empty().then_some(ServerFact { site, response_id, layer, timing })
}

fn take_text(from: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(take_number(from)?).ok()?;
    let (text, rest) = from.split_at_checked(length)?;
    *from = rest;
    String::from_utf8(text.to_vec()).ok()
}

fn read_report(visit: Option<VisitHash>, bytes: &[u8]) -> Option<Record> {
    let (country, from) = match bytes.split_first()? {
        (&REPORT, rest) => (None, rest),
        (&REPORT_WITH_COUNTRY, rest) => {
            let (code, rest) = rest.split_first_chunk::<2>()?;
            (Some(Country::of_code(str::from_utf8(code).ok()?)?), rest)
        }
        _ => return None,
    };
    let (id, mut fields) = from.split_first_chunk()?;
    let id = StreamId::from_be_bytes(*id);
    let mut report = StreamReport { id: hexadecimal(id), ..StreamReport::default() };
    report.read_record(&mut fields)?;
    fields.is_empty().then_some(Record { id, country, visit, report })
}

fn hexadecimal(id: StreamId) -> String {
    let digits: [u8; 32] = array::from_fn(|at| b"0123456789abcdef"[(id >> (4 * (31 - at))) as usize & 15]);
    str::from_utf8(&digits).expect("digits are ASCII").to_owned()
}

const REPORT: u8 = 1;
const REPORT_WITH_COUNTRY: u8 = 2;
const DISCARDED: u8 = 3;
const FACT: u8 = 4;
const VISIT: u8 = 5;

#[cfg(test)]
pub(crate) mod tests;
