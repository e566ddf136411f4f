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
use probe_core::{Row, Tally, Timestamp};
use serde::ser::{Serialize, SerializeSeq, Serializer};

/// A report as a list.
pub(crate) struct Report<'a>(pub(crate) &'a Tally);

impl Serialize for Report<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(tally) = self;
        let mut list = serializer.serialize_seq(None)?;
        let names = tally.names();
        list.serialize_element(names.fields)?;
        names.values.iter().try_for_each(|name| list.serialize_element(&**name))?;
        numbers(&mut list, tally.figures())?;
        if let Some(claim) = &tally.server {
            for name in ["server: source starts_from", claim.source, claim.starts_from.as_str()] {
                list.serialize_element(name)?;
            }
            numbers(&mut list, claim.figures())?;
        }
        if !tally.defects.is_empty() {
            list.serialize_element("defects:")?;
            list.serialize_element(Defects::WORDS)?;
            for &count in tally.defects.counts() {
                list.serialize_element(&if count > 0 { f64::from(count) } else { f64::NAN })?;
            }
        }
        if !tally.gaps.is_empty() {
            let (offset, counts) = tally.gaps.dense();
            let sum = Timestamp::from_ms(tally.gaps.sum()).since(Timestamp::from_ms(0.0));
            let values = [SCALE.into(), offset.into(), tally.gaps.zero() as f64, sum];
            numbers(&mut list, Row { fields: "gaps: scale offset zero sum", values: &values })?;
            list.serialize_element("counts")?;
            counts.iter().try_for_each(|&count| list.serialize_element(&(count as f64)))?;
        }
        list.end()
    }
}

fn numbers<S: SerializeSeq>(list: &mut S, row: Row<'_, f64>) -> Result<(), S::Error> {
    list.serialize_element(row.fields)?;
    row.values.iter().try_for_each(|number| list.serialize_element(number))
}
