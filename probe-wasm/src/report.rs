//! Serializes a report as a flat list: an array in a page, JSON elsewhere.
//!
//! The list has rows. A row is a text with the names of fields, followed by their values. A name with a colon begins a
//! nested object, and the names after it are that object's. An empty text is an absent value, like `undefined`. The row of
//! histogram counts is the last, and its one field takes all that is left. `js/watcher/wasm-watcher.js` makes an object
//! of the list, because names of fields take less code there.
//!
//! JavaScript adds the fields of the page and of the request.

use beacon::{Defects, SCALE};
use probe_core::{FieldValues, ReportBuilder, Timestamp};
use serde::ser::{Serialize, SerializeSeq, Serializer};

/// A report that is serialized as a list.
pub(crate) struct Report<'a>(pub(crate) &'a ReportBuilder);

impl Serialize for Report<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(report) = self;
        let mut list = serializer.serialize_seq(None)?;
        let mut texts = report.texts();
        list.serialize_element(texts.fields)?;
        texts.values.try_for_each(|text| list.serialize_element(text))?;
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
                list.serialize_element(&(count > 0).then_some(f64::from(count)))?;
            }
        }
        if let Some(gaps) = report.gaps() {
            let (offset, counts) = gaps.dense();
            let sum = Timestamp::from_ms(gaps.sum()).since(Timestamp::from_ms(0.0));
            list.serialize_element("gaps: scale offset zero sum")?;
            for number in [SCALE.into(), offset.into(), gaps.zero() as f64, sum] {
                list.serialize_element(&number)?;
            }
            list.serialize_element("counts")?;
            counts.iter().try_for_each(|&count| list.serialize_element(&(count as f64)))?;
        }
        list.end()
    }
}

fn numbers<S: SerializeSeq>(
    list: &mut S,
    mut row: FieldValues<impl Iterator<Item = Option<f64>>>,
) -> Result<(), S::Error> {
    list.serialize_element(row.fields)?;
    row.values.try_for_each(|number| list.serialize_element(&number))
}
