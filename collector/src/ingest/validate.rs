//! Parses the body of a beacon and checks every report in it. Only this file makes an [`AcceptedReport`]. Limits:
//! `docs/report-fields.md`.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use beacon::{
    Field, FieldValue, Fields, Layers, MAX_MARKS, MAX_MS, MAX_REPORTS, Rule, SCHEMA_VERSION, StreamReport,
    Value, is_attribute_value,
};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use unicode_properties::{GeneralCategoryGroup as Group, UnicodeGeneralCategory};

use crate::http::error::{ApiError, Reason};
use crate::ingest::site::IngestSite;
use crate::ingest::user_agent;
use crate::report::accepted::{AcceptedReport, Discarded};
use crate::report::stream_id::{StreamId, spread};
use crate::report::visit::VisitHash;

/// A batch within every limit.
#[derive(Debug)]
pub(crate) struct ValidatedBatch {
    pub(crate) reports: Vec<AcceptedReport>,
    pub(crate) discarded: Discarded,
}

/// Parses a body, and checks every report in it. `agent` is the sender's `User-Agent`, empty if it is
/// missing. `hash` replaces the number of a tab.
pub(crate) fn validate(
    body: &[u8],
    agent: &[u8],
    open: &IngestSite,
    hash: impl Fn(u64) -> Option<VisitHash>,
) -> Result<ValidatedBatch, ApiError> {
    let text =
        str::from_utf8(body).map_err(|_| ApiError::new(Reason::BadJson, "the body is not valid UTF-8"))?;
    let (Body { reports: Reports { kept, sent } }, mut ignored_fields) =
        parse(text).map_err(|error| explain(text, &error))?;
    if !(1..=MAX_REPORTS).contains(&sent) {
        let message = format!("the batch has {sent} reports, but must have 1 to {MAX_REPORTS}");
        return Err(ApiError::new(Reason::BadBatch, message));
    }
    let mut reports = Vec::with_capacity(kept.len());
    for (at, mut report) in kept.into_iter().enumerate() {
        ignored_fields += report.attributes.retain(|key, value| {
            open.site.attributes.iter().any(|known| known == key) && is_attribute_value(value)
        });
        reports.push(accept(report, open, &hash).map_err(|refused| refused.at(at))?);
    }
    if open.site.sample < 1.0 {
        reports.retain(|report| is_in_sample(report.id, open.site.sample));
    }
    user_agent::add_families(agent, reports.iter_mut().map(|accepted| &mut accepted.report));
    let discarded = Discarded { sampled_out: (sent - reports.len()) as u64, ignored_fields };
    Ok(ValidatedBatch { reports, discarded })
}

/// Also counts the fields that no type knows, each once, whatever it contains. Their names are not stored, because
/// senders can make up any number of them.
fn parse(text: &str) -> Result<(Body, u64), serde_json::Error> {
    let mut from = serde_json::Deserializer::from_str(text);
    let mut ignored_fields = 0;
    let body = serde_ignored::deserialize(&mut from, |_path| ignored_fields += 1)?;
    from.end()?;
    Ok((body, ignored_fields))
}

/// A [`beacon::Batch`] that builds no more reports than a batch may have.
#[derive(Deserialize)]
struct Body {
    #[serde(deserialize_with = "reports")]
    reports: Reports,
}

struct Reports {
    kept: Vec<StreamReport>,
    sent: usize,
}

fn reports<'de, D: Deserializer<'de>>(from: D) -> Result<Reports, D::Error> {
    from.deserialize_seq(ReportsVisitor)
}

struct ReportsVisitor;

impl<'de> Visitor<'de> for ReportsVisitor {
    type Value = Reports;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of reports")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Reports, A::Error> {
        let mut kept = Vec::new();
        while kept.len() < MAX_REPORTS {
            let Some(report) = sequence.next_element()? else { break };
            kept.push(report);
        }
        let mut sent = kept.len();
        while sent >= MAX_REPORTS && sequence.next_element::<IgnoredAny>()?.is_some() {
            sent += 1;
        }
        Ok(Reports { kept, sent })
    }
}

fn accept(
    mut report: StreamReport,
    IngestSite { site, aliases, .. }: &IngestSite,
    hash: impl Fn(u64) -> Option<VisitHash>,
) -> Result<AcceptedReport, Refused> {
    if report.v != SCHEMA_VERSION {
        return Err(Refused::Version(report.v));
    }
    // Only the backend may send them.
    report.layers = None;
    let id = parse_id(&report.id)?;
    report.id.make_ascii_lowercase();
    check_fields(&report)?;
    check_order(&report)?;
    check_gaps(&report)?;
    report.drop_empty_texts();
    aliases.normalize(&mut report);
    report.site = Some(Cow::Owned(site.name.clone()));
    report.use_case.get_or_insert_with(|| Cow::Owned(site.use_case.clone()));
    let visit = report.visit.take().and_then(|number| hash(u64::from_str_radix(&number, 16).ok()?));
    Ok(AcceptedReport { id, visit, report })
}

/// Decides by the id alone, so that all revisions of a stream are in or out, on every collector.
fn is_in_sample(id: StreamId, share: f64) -> bool {
    (spread(id) as f64) < share * (1_u64 << 53) as f64
}

fn parse_id(id: &str) -> Result<StreamId, Refused> {
    let problem = "must be 32 hexadecimal digits";
    if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Refused::field("id", problem));
    }
    u128::from_str_radix(id, 16).map_err(|_| Refused::field("id", problem))
}

/// Checks the facts of the backend in a report that another collector lists.
pub(crate) fn check_layers(layers: &Layers) -> Result<(), ApiError> {
    check_fields(layers).map_err(|refused| refused.inside("layers").at(0))
}

/// Checks every field against its rule in the field table.
fn check_fields(fields: &dyn Fields) -> Result<(), Refused> {
    let mut checked = Ok(());
    fields.visit(&mut |field, value| {
        if checked.is_ok() {
            checked = check_field(field, value);
        }
    });
    checked
}

fn check_field(field: &'static Field, value: Value<'_>) -> Result<(), Refused> {
    let name = field.name;
    match (field.rule, value) {
        (Rule::Milliseconds, Value::Float(ms)) if !(0.0..=MAX_MS).contains(&ms) => {
            Err(Refused::field(name, "must be a duration from 0 to 24 hours"))
        }
        (Rule::Share, Value::Float(share)) if !(share > 0.0 && share <= 1.0) => {
            Err(Refused::field(name, "must be greater than 0 and at most 1"))
        }
        (Rule::Count(most), Value::Integer(count)) if count > most => {
            Err(Refused::field(name, format!("must be at most {most}")))
        }
        (Rule::Between(least, most), Value::Integer(number)) if !(least..=most).contains(&number) => {
            Err(Refused::field(name, format!("must be a number from {least} to {most}")))
        }
        (Rule::Text(longest), Value::Text(text)) if text.len() > longest || !is_printable(text) => {
            Err(Refused::field(
                name,
                format!("is longer than {longest} bytes or contains non-printable characters"),
            ))
        }
        // An empty text counts as absent, unless the field is required.
        (Rule::Text(_), Value::Text("")) if field.required => Err(Refused::field(name, "is empty")),
        // These names come from a request or a response, so another text could be part of a prompt.
        (Rule::Name(shape), Value::Text(text))
            if (field.required || !text.is_empty()) && !shape.fits(text.as_bytes()) =>
        {
            Err(Refused::field(name, "is not a valid name"))
        }
        (Rule::Visit, Value::Text(number))
            if number.len() > 16 || !number.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            Err(Refused::field(name, "must be at most 16 hexadecimal digits"))
        }
        (Rule::Marks, Value::List(marks)) => {
            let marks = marks.items();
            if marks.len() > MAX_MARKS {
                return Err(Refused::field(name, format!("has more than {MAX_MARKS} marks")));
            }
            marks.into_iter().try_for_each(check_fields).map_err(|refused| refused.inside(name))
        }
        (Rule::Group(_), Value::Group(group)) => check_fields(group).map_err(|refused| refused.inside(name)),
        _ => Ok(()),
    }
}

/// Checks that no moment is earlier than one that it has to follow: all were read from one clock.
fn check_order(report: &StreamReport) -> Result<(), Refused> {
    let mut moments: Vec<(&str, f64)> = Vec::with_capacity(StreamReport::FIELDS.len());
    let mut checked = Ok(());
    report.visit(&mut |field, value| {
        let Value::Float(ms) = value else { return };
        for earlier in field.after {
            let is_late = |(name, moment): &&(&str, f64)| name == earlier && ms + TOLERANCE_MS < *moment;
            if checked.is_ok() && moments.iter().any(|moment| is_late(&moment)) {
                checked = Err(Refused::field(field.name, format!("is earlier than `{earlier}`")));
            }
        }
        moments.push((field.name, ms));
    });
    checked
}

fn check_gaps(report: &StreamReport) -> Result<(), Refused> {
    let Some(gaps) = &report.gaps else { return Ok(()) };
    if gaps.count() > u64::from(report.chunks) {
        return Err(Refused::field("gaps", "has more gaps than the stream has chunks"));
    }
    if gaps.sum() > MAX_MS {
        return Err(Refused::field("gaps", "adds up to more than 24 hours"));
    }
    Ok(())
}

/// Accepts visible text of any script on one line, emoji included. Refuses characters that could break a
/// line, a log or the writing direction.
fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        || text.chars().all(|c| match c.general_category_group() {
            _ if UNSEEN.iter().any(|unseen| unseen.contains(&c)) => false,
            Group::Letter | Group::Mark | Group::Number | Group::Punctuation | Group::Symbol => true,
            Group::Separator => c == ' ',
            Group::Other => matches!(c, JOINER | NON_JOINER),
        })
}

/// Why a report is refused, before its index in the batch is known.
enum Refused {
    Version(u32),
    Field { field: Cow<'static, str>, problem: Cow<'static, str> },
}

impl Refused {
    fn field(field: &'static str, problem: impl Into<Cow<'static, str>>) -> Self {
        Self::Field { field: field.into(), problem: problem.into() }
    }

    /// The same for a field inside a group.
    fn inside(self, group: &str) -> Self {
        match self {
            Self::Field { field, problem } => {
                Self::Field { field: format!("{group}.{field}").into(), problem }
            }
            version @ Self::Version(_) => version,
        }
    }

    fn at(self, index: usize) -> ApiError {
        match self {
            Self::Version(version) => unknown_version(index, u64::from(version)),
            Self::Field { field, problem } => {
                ApiError::new(Reason::BadField, format!("reports[{index}].{field} {problem}"))
            }
        }
    }
}

fn unknown_version(index: usize, version: u64) -> ApiError {
    let message =
        format!("reports[{index}].v is {version}, but this collector supports only {SCHEMA_VERSION}");
    ApiError::new(Reason::UnknownVersion, message)
}

/// Explains why a body did not parse. It parses the body once more, a cost that valid bodies do not have.
fn explain(text: &str, error: &serde_json::Error) -> ApiError {
    match error.classify() {
        Category::Data => explain_data(text),
        // serde_json's message consists of its own words and a position. It never quotes the body.
        Category::Io | Category::Syntax | Category::Eof => {
            ApiError::new(Reason::BadJson, format!("the body is not valid JSON: {error}"))
        }
    }
}

fn explain_data(text: &str) -> ApiError {
    // A later schema version may have changed types: the version explains more than the field that failed.
    if let Ok(versions) = serde_json::from_str::<Versions>(text) {
        let other = |report: &&Version| report.v.is_some_and(|v| v != u64::from(SCHEMA_VERSION));
        if let Some(index) = versions.reports.iter().position(|report| other(&report))
            && let Some(version) = versions.reports[index].v
        {
            return unknown_version(index, version);
        }
    }
    let deserializer = &mut serde_json::Deserializer::from_str(text);
    let message = match serde_path_to_error::deserialize::<_, Body>(deserializer) {
        Err(error) => format!("{}: {}", error.path(), error.inner()),
        Ok(_) => "a field of the body has the wrong type".to_owned(),
    };
    // The message quotes the unexpected value, however long it is.
    ApiError::new(Reason::BadField, message.chars().take(LONGEST_MESSAGE).collect::<String>())
}

#[derive(Deserialize)]
struct Versions {
    reports: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    v: Option<u64>,
}

/// Clocks with a resolution of up to 1 ms may round two moments apart.
const TOLERANCE_MS: f64 = 1.0;
const LONGEST_MESSAGE: usize = 300;
/// Unicode letters and marks that are drawn as nothing: two names that differ only by them look the same.
const UNSEEN: [RangeInclusive<char>; 9] = [
    '\u{34f}'..='\u{34f}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    // U+FE0F is allowed: it turns a character into an emoji.
    '\u{fe00}'..='\u{fe0e}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{e0100}'..='\u{e01ef}',
];
/// Joins emoji, and letters of some scripts. The non-joiner keeps letters apart.
const JOINER: char = '\u{200d}';
const NON_JOINER: char = '\u{200c}';
