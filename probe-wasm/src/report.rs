//! A stream as the meter has it comes in, its report as a list goes out: what serde makes of it, an array in
//! a page, JSON elsewhere.
//!
//! The list has rows: a text that names fields, then what each holds. A word with a colon begins an object
//! in the report, and the fields behind it are that object's. NaN and an empty text hold nothing. A row of
//! histogram counts is the last, and has one field for all that is left. `js/watcher/wasm-watcher.js` makes an object of it:
//! to name a field takes a page less to load there.
//!
//! What the page says of itself and of the request is not in it: that is the facade's.

use beacon::{Defects, SCALE};
use probe_core::{FieldValues, ReportBuilder, Timestamp};
use serde::ser::{Serialize, SerializeSeq, Serializer};

/// A report as a list.
pub(crate) struct Report<'a>(pub(crate) &'a ReportBuilder);

impl Serialize for Report<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(report) = self;
        let mut list = serializer.serialize_seq(None)?;
        let texts = report.texts();
        list.serialize_element(texts.fields)?;
        texts.values.iter().try_for_each(|text| list.serialize_element(&**text))?;
        numbers(&mut list, report.numbers())?;
        if let Some(claim) = &report.server {
            for name in ["server: source starts_from", claim.source, claim.starts_from.as_str()] {
                list.serialize_element(name)?;
            }
            numbers(&mut list, claim.numbers())?;
        }
        if !report.defects.is_empty() {
            list.serialize_element("defects:")?;
            list.serialize_element(Defects::WORDS)?;
            for &count in report.defects.counts() {
                list.serialize_element(&if count > 0 { f64::from(count) } else { f64::NAN })?;
            }
        }
        if !report.gaps.is_empty() {
            let (offset, counts) = report.gaps.dense();
            let sum = Timestamp::from_ms(report.gaps.sum()).since(Timestamp::from_ms(0.0));
            let values = [SCALE.into(), offset.into(), report.gaps.zero() as f64, sum];
            numbers(&mut list, FieldValues { fields: "gaps: scale offset zero sum", values: &values })?;
            list.serialize_element("counts")?;
            counts.iter().try_for_each(|&count| list.serialize_element(&(count as f64)))?;
        }
        list.end()
    }
}

fn numbers<S: SerializeSeq>(list: &mut S, row: FieldValues<'_, f64>) -> Result<(), S::Error> {
    list.serialize_element(row.fields)?;
    row.values.iter().try_for_each(|number| list.serialize_element(number))
}
