//! A fact as a request brings it, checked against the limits of the report's fields.

use std::fmt;

use beacon::{Field, Fields, LayerTiming, MAX_MS, NameShape, Rule, Value};

use crate::report::server_fact::{Layer, ServerFact, round};

/// What a request contains.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReceivedFacts {
    pub(crate) facts: Vec<ServerFact>,
    /// Items that are no facts of streams, such as spans of other work. They are normal.
    pub(crate) skipped: u64,
    /// Items that are refused.
    pub(crate) refused: u64,
    /// The first reason for it.
    pub(crate) first_refusal: Option<String>,
}

impl ReceivedFacts {
    /// Adds the next item.
    pub(crate) fn add(&mut self, fact: Result<ServerFact, Invalid>) {
        match fact {
            Ok(_) if self.facts.len() >= MOST_FACTS => {
                self.refuse(&Invalid::new("", format!("is more than the {MOST_FACTS} of a request")));
            }
            Ok(fact) => self.facts.push(fact),
            Err(invalid) => self.refuse(&invalid),
        }
    }

    fn refuse(&mut self, invalid: &Invalid) {
        let index = self.facts.len() as u64 + self.skipped + self.refused;
        self.refused += 1;
        self.first_refusal.get_or_insert_with(|| format!("item {index}: {invalid}"));
    }
}

/// Why an item is refused. It quotes no value of the request.
#[derive(Debug, PartialEq)]
pub(crate) struct Invalid {
    field: &'static str,
    problem: String,
}

impl Invalid {
    pub(crate) fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self { field, problem: problem.into() }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            "" => f.write_str(&self.problem),
            field => write!(f, "`{field}` {}", self.problem),
        }
    }
}

/// Checks a fact of a site, and rounds its times to a microsecond, as the probe does. Without the id of a response it
/// has to name a trace.
pub(crate) fn checked(
    site: &str,
    response_id: Option<&str>,
    layer: Layer,
    mut timing: LayerTiming,
) -> Result<ServerFact, Invalid> {
    round(&mut timing);
    if response_id.is_some_and(|id| !NameShape::MODEL.fits(id.as_bytes())) {
        return Err(Invalid::new("id", "is not the id of a response"));
    }
    let has_trace = timing.trace_id.is_some();
    if response_id.is_none() && !has_trace {
        return Err(Invalid::new("", "has neither `id` nor `trace_id`"));
    }
    let mut checked = Ok(());
    let mut values = 0;
    timing.visit(&mut |field, value| {
        values += 1;
        if checked.is_ok() {
            checked = check(field, value);
        }
    });
    checked?;
    // The source, and a trace, say nothing of time.
    if values < 2 + usize::from(has_trace) {
        return Err(Invalid::new("", "has no time and no count"));
    }
    let response_id = response_id.unwrap_or_default().to_owned();
    Ok(ServerFact { site: site.to_owned(), response_id, layer, timing })
}

fn check(field: &'static Field, value: Value<'_>) -> Result<(), Invalid> {
    match (field.rule, value) {
        (Rule::Milliseconds, Value::Float(ms)) if !(0.0..=MAX_MS).contains(&ms) => {
            Err(Invalid::new(field.name, "must be a duration from 0 to 24 hours"))
        }
        (Rule::Count(most), Value::Integer(count)) if count > most => {
            Err(Invalid::new(field.name, format!("must be at most {most}")))
        }
        (Rule::Name(shape), Value::Text(text)) if !shape.fits(text.as_bytes()) => {
            Err(Invalid::new(field.name, "is not a valid name"))
        }
        (Rule::Id, Value::Text(text)) if !is_trace_id(text) => {
            Err(Invalid::new(field.name, "must be 32 hexadecimal digits"))
        }
        _ => Ok(()),
    }
}

/// Whether it is the id of a trace as W3C writes it.
pub(crate) fn is_trace_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// More than any of the known senders packs into one request.
pub(crate) const MOST_FACTS: usize = 5_000;
