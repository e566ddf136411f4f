//! A stream as the meter has it comes in, its report as plain data goes out: what serde makes of it, an
//! object in a page, JSON elsewhere.
//!
//! What the page says of itself and of the request is not in it: that is the facade's.

use beacon::{Histogram, SCALE};
use probe_core::{Claim, Row, Tally};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A report, of which only those fields are written that have something to say.
pub(crate) struct Report<'a>(pub(crate) &'a Tally);

impl Serialize for Report<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Value::Report(self.0).serialize(serializer)
    }
}

/// Whatever a report is made of. As one type, since the code that writes a field is there once for each type.
enum Value<'a> {
    Name(&'a str),
    Number(f64),
    Counts(&'a [u64]),
    Defects(&'a Tally),
    Gaps(&'a Histogram),
    Server(&'a Claim),
    Report(&'a Tally),
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Value::Name(name) => return serializer.serialize_str(name),
            Value::Number(number) => return serializer.serialize_f64(number),
            // Whole numbers of JavaScript are floats.
            Value::Counts(counts) => {
                return serializer.collect_seq(counts.iter().map(|&count| Value::Number(count as f64)));
            }
            _ => {}
        }
        let mut map = serializer.serialize_map(None)?;
        match *self {
            Value::Report(tally) => report(&mut map, tally)?,
            Value::Gaps(gaps) => {
                let (offset, counts) = gaps.dense();
                let sum = (gaps.sum() * 1000.0).round() / 1000.0;
                let numbers = [SCALE.into(), offset.into(), gaps.zero() as f64, sum];
                row(&mut map, Row { fields: "scale offset zero sum", numbers: &numbers })?;
                map.serialize_entry("counts", &Value::Counts(counts))?;
            }
            Value::Server(claim) => {
                map.serialize_entry("source", &Value::Name(claim.source))?;
                map.serialize_entry("starts_from", &Value::Name(claim.starts_from.as_str()))?;
                row(&mut map, claim.figures())?;
            }
            Value::Defects(tally) => {
                for (word, count) in tally.defects.words() {
                    map.serialize_entry(word, &Value::Number(count.into()))?;
                }
            }
            Value::Name(_) | Value::Number(_) | Value::Counts(_) => {}
        }
        map.end()
    }
}

fn report<M: SerializeMap>(map: &mut M, tally: &Tally) -> Result<(), M::Error> {
    for (field, name) in tally.names() {
        map.serialize_entry(field, &Value::Name(name))?;
    }
    row(map, tally.figures())?;
    if !tally.gaps.is_empty() {
        map.serialize_entry("gaps", &Value::Gaps(&tally.gaps))?;
    }
    if !tally.defects.is_empty() {
        map.serialize_entry("defects", &Value::Defects(tally))?;
    }
    if let Some(claim) = &tally.server {
        map.serialize_entry("server", &Value::Server(claim))?;
    }
    Ok(())
}

fn row<M: SerializeMap>(map: &mut M, row: Row) -> Result<(), M::Error> {
    for (field, number) in row.iter() {
        map.serialize_entry(field, &Value::Number(number))?;
    }
    Ok(())
}
