//! Parses the body of a beacon and checks every report in it. Only this file makes an [`AcceptedReport`]. Limits:
//! `docs/report-fields.md`.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use beacon::{
    FieldValue, Layers, MAX_REPORTS, Misfit, SCHEMA_VERSION, StreamReport, check_fields, is_attribute_value,
};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;

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
        ignored_fields += report.drop_unfit_own_texts();
        report.lower_amounts();
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
    report.check()?;
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

fn parse_id(id: &str) -> Result<StreamId, Misfit> {
    let problem = "must be 32 hexadecimal digits";
    if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Misfit::new("id", problem));
    }
    u128::from_str_radix(id, 16).map_err(|_| Misfit::new("id", problem))
}

/// Checks the facts of the backend in a report that another collector lists.
pub(crate) fn check_layers(layers: &Layers) -> Result<(), ApiError> {
    check_fields(layers).map_err(|misfit| Refused::from(misfit.inside("layers")).at(0))
}

/// Why a report is refused, before its index in the batch is known.
enum Refused {
    Version(u32),
    Misfit(Misfit),
}

impl Refused {
    fn at(self, index: usize) -> ApiError {
        match self {
            Self::Version(version) => unknown_version(index, u64::from(version)),
            Self::Misfit(misfit) => ApiError::new(Reason::BadField, format!("reports[{index}].{misfit}")),
        }
    }
}

impl From<Misfit> for Refused {
    fn from(misfit: Misfit) -> Self {
        Self::Misfit(misfit)
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

const LONGEST_MESSAGE: usize = 300;
