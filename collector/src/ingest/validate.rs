//! Validates a body: the only source of [`AcceptedReport`]s. Limits: `docs/api.md#what-a-report-may-say`.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use beacon::{MAX_REPORTS, Phases, SCHEMA_VERSION, ServerTiming, StreamReport};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use unicode_properties::{GeneralCategoryGroup as Group, UnicodeGeneralCategory};

use crate::http::error::{ApiError, Reason};
use crate::ingest::site::IngestSite;
use crate::ingest::unknown_fields::counting;
use crate::ingest::user_agent;
use crate::report::accepted::{AcceptedReport, Discarded};
use crate::report::stream_id::{StreamId, spread};
use crate::time::DAY_MS;

/// A batch within every limit.
#[derive(Debug)]
pub(crate) struct ValidatedBatch {
    pub(crate) reports: Vec<AcceptedReport>,
    pub(crate) discarded: Discarded,
}

/// Takes a body apart, and judges every report in it. `agent` is its sender's `User-Agent`, empty where
/// there is none.
pub(crate) fn validate(body: &[u8], agent: &[u8], open: &IngestSite) -> Result<ValidatedBatch, ApiError> {
    let text = str::from_utf8(body).map_err(|_| ApiError::new(Reason::BadJson, "the body is not UTF-8"))?;
    let (Body { reports: Reports { kept, sent } }, ignored_fields) =
        parse(text).map_err(|error| explain(text, &error))?;
    if !(1..=MAX_REPORTS).contains(&sent) {
        let message = format!("a batch holds 1 to {MAX_REPORTS} reports, this one {sent}");
        return Err(ApiError::new(Reason::BadBatch, message));
    }
    let mut reports = Vec::with_capacity(kept.len());
    for (at, report) in kept.into_iter().enumerate() {
        reports.push(accept(report, open).map_err(|refused| refused.at(at))?);
    }
    if open.site.sample < 1.0 {
        reports.retain(|report| is_in_sample(report.id, open.site.sample));
    }
    user_agent::add_families(agent, reports.iter_mut().map(|accepted| &mut accepted.report));
    let discarded = Discarded { sampled_out: (sent - reports.len()) as u64, ignored_fields };
    Ok(ValidatedBatch { reports, discarded })
}

fn parse(text: &str) -> Result<(Body, u64), serde_json::Error> {
    let mut from = serde_json::Deserializer::from_str(text);
    let parsed = counting(&mut from)?;
    from.end()?;
    Ok(parsed)
}

/// A [`beacon::Batch`] of which no more is built than may be in it.
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
) -> Result<AcceptedReport, Refused> {
    if report.v != SCHEMA_VERSION {
        return Err(Refused::Version(report.v));
    }
    let id = parse_id(&report.id)?;
    report.id.make_ascii_lowercase();
    check_durations(&report)?;
    check_order(&report)?;
    check_counts(&report)?;
    check_texts(&mut report)?;
    aliases.normalize(&mut report);
    report.site = Some(Cow::Owned(site.name.clone()));
    report.use_case.get_or_insert_with(|| Cow::Owned(site.use_case.clone()));
    Ok(AcceptedReport { id, report })
}

/// By the id alone, so that all revisions of a stream are in or out, on every collector.
fn is_in_sample(id: StreamId, share: f64) -> bool {
    (spread(id) as f64) < share * (1_u64 << 53) as f64
}

fn parse_id(id: &str) -> Result<StreamId, Refused> {
    let problem = "is not 32 hexadecimal digits";
    if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Refused::field("id", problem));
    }
    u128::from_str_radix(id, 16).map_err(|_| Refused::field("id", problem))
}

fn check_durations(report: &StreamReport) -> Result<(), Refused> {
    let Phases { dns_ms, connect_ms, tls_ms, wait_ms } = report.phases.unwrap_or_default();
    let around = report.around.unwrap_or_default();
    let cost = report.cost.unwrap_or_default();
    let server = report.server.as_ref();
    let server_ms = |field: fn(&ServerTiming) -> Option<f64>| server.and_then(field);
    for (field, value) in [
        ("submit_delay_ms", report.submit_delay_ms),
        ("headers_ms", report.headers_ms),
        ("first_byte_ms", report.first_byte_ms),
        ("first_event_ms", report.first_event_ms),
        ("ttft_ms", report.ttft_ms),
        ("ttfv_ms", report.ttfv_ms),
        ("ttfp_ms", report.ttfp_ms),
        ("e2e_ms", report.e2e_ms),
        ("close_ms", report.close_ms),
        ("tpot_ms", report.tpot_ms),
        ("longest_gap_ms", report.longest_gap_ms),
        ("clock_resolution_ms", report.clock_resolution_ms),
        ("phases.dns_ms", dns_ms),
        ("phases.connect_ms", connect_ms),
        ("phases.tls_ms", tls_ms),
        ("phases.wait_ms", wait_ms),
        ("around.end_delay_ms", around.end_delay_ms),
        ("around.hidden_ms", around.hidden_ms),
        ("around.long_frames_ms", around.long_frames_ms),
        ("cost.chunks_ms", cost.chunks_ms),
        ("server.queue_ms", server_ms(|server| server.queue_ms)),
        ("server.ttft_ms", server_ms(|server| server.ttft_ms)),
        ("server.generation_ms", server_ms(|server| server.generation_ms)),
    ] {
        if value.is_some_and(|value| !(0.0..=LONGEST_MS).contains(&value)) {
            return Err(Refused::field(field, "is not a duration from 0 to 24 hours"));
        }
    }
    Ok(())
}

/// Moments read from one clock cannot come before what they follow.
fn check_order(report: &StreamReport) -> Result<(), Refused> {
    for (field, earlier, later) in [
        ("first_event_ms", report.first_byte_ms, report.first_event_ms),
        ("ttft_ms", report.first_event_ms, report.ttft_ms),
        ("ttfv_ms", report.ttft_ms, report.ttfv_ms),
        ("ttfp_ms", report.ttfv_ms, report.ttfp_ms),
        ("e2e_ms", report.ttft_ms, report.e2e_ms),
        ("e2e_ms", report.ttfv_ms, report.e2e_ms),
        ("close_ms", report.e2e_ms, report.close_ms),
    ] {
        if let (Some(earlier), Some(later)) = (earlier, later)
            && later + TOLERANCE_MS < earlier
        {
            return Err(Refused::field(field, "lies before what it follows"));
        }
    }
    Ok(())
}

fn check_counts(report: &StreamReport) -> Result<(), Refused> {
    let server_tokens = report.server.as_ref().and_then(|server| server.output_tokens);
    let around = report.around.unwrap_or_default();
    let cost = report.cost.unwrap_or_default();
    for (field, count, most) in [
        ("chunks", Some(u64::from(report.chunks)), MOST_EVENTS),
        ("events", Some(u64::from(report.events)), MOST_EVENTS),
        ("deltas", Some(u64::from(report.deltas)), MOST_EVENTS),
        ("stalls", Some(u64::from(report.stalls)), MOST_EVENTS),
        ("bytes", Some(report.bytes), MOST_BYTES),
        ("input_tokens", report.input_tokens, MOST_TOKENS),
        ("output_tokens", report.output_tokens, MOST_TOKENS),
        ("reasoning_tokens", report.reasoning_tokens, MOST_TOKENS),
        ("cached_tokens", report.cached_tokens, MOST_TOKENS),
        ("server.output_tokens", server_tokens, MOST_TOKENS),
        ("around.freezes", around.freezes.map(u64::from), MOST_EVENTS),
        ("around.long_frames", around.long_frames.map(u64::from), MOST_EVENTS),
        ("around.hidden_bytes", around.hidden_bytes, MOST_BYTES),
        ("around.after_stop_bytes", around.after_stop_bytes, MOST_BYTES),
        ("cost.timed_chunks", cost.timed_chunks.map(u64::from), MOST_EVENTS),
        ("cost.memory_bytes", cost.memory_bytes, MOST_MEMORY),
        ("cost.sent_bytes", cost.sent_bytes, MOST_BYTES),
    ] {
        if count.is_some_and(|count| count > most) {
            return Err(Refused::field(field, "is more than can be"));
        }
    }
    if report.status.is_some_and(|status| !(100..=599).contains(&status)) {
        return Err(Refused::field("status", "is no HTTP status"));
    }
    if report.sample_rate.is_some_and(|rate| !(rate > 0.0 && rate <= 1.0)) {
        return Err(Refused::field("sample_rate", "is no share above 0 and up to 1"));
    }
    let Some(gaps) = &report.gaps else { return Ok(()) };
    if gaps.count() > u64::from(report.chunks) {
        return Err(Refused::field("gaps", "holds more gaps than there were chunks"));
    }
    if gaps.sum() > LONGEST_MS {
        return Err(Refused::field("gaps", "holds more than 24 hours"));
    }
    Ok(())
}

/// Every text is a name of something, short and printable. An empty one says nothing: it is dropped.
fn check_texts(report: &mut StreamReport) -> Result<(), Refused> {
    check_text("use_case", &mut report.use_case, LONGEST_NAME)?;
    check_text("dialect", &mut report.dialect, LONGEST_NAME)?;
    check_text("provider", &mut report.provider, LONGEST_NAME)?;
    check_text("model", &mut report.model, LONGEST_NAME)?;
    check_text("response_model", &mut report.response_model, LONGEST_NAME)?;
    check_text("response_id", &mut report.response_id, LONGEST_PATH)?;
    check_text("finish_reason", &mut report.finish_reason, LONGEST_NAME)?;
    let source = report.server.as_ref().map(|server| server.source.as_ref());
    if source.is_some_and(|source| source.is_empty() || source.len() > LONGEST_NAME || !is_printable(source))
    {
        return Err(Refused::field("server.source", NO_NAME));
    }
    let Some(page) = &mut report.page else { return Ok(()) };
    check_text("page.browser", &mut page.browser, LONGEST_NAME)?;
    check_text("page.os", &mut page.os, LONGEST_NAME)?;
    check_text("page.device", &mut page.device, LONGEST_NAME)?;
    check_text("page.connection", &mut page.connection, LONGEST_NAME)?;
    check_text("page.visibility", &mut page.visibility, LONGEST_NAME)?;
    check_text("page.release", &mut page.release, LONGEST_NAME)?;
    check_text("page.route", &mut page.route, LONGEST_PATH)
}

fn check_text(
    field: &'static str,
    text: &mut Option<Cow<'static, str>>,
    longest: usize,
) -> Result<(), Refused> {
    match text {
        Some(value) if value.is_empty() => *text = None,
        Some(value) if value.len() > longest || !is_printable(value) => {
            return Err(Refused::field(field, NO_NAME));
        }
        _ => {}
    }
    Ok(())
}

/// What of any script is seen on a line, emoji too: nothing that could break a line, a log or the order of
/// writing.
fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        || text.chars().all(|c| match c.general_category_group() {
            _ if UNSEEN.iter().any(|unseen| unseen.contains(&c)) => false,
            Group::Letter | Group::Mark | Group::Number | Group::Punctuation | Group::Symbol => true,
            Group::Separator => c == ' ',
            Group::Other => matches!(c, JOINER | NON_JOINER),
        })
}

/// Why a report is refused, before its place in the batch is known.
enum Refused {
    Version(u32),
    Field { field: &'static str, problem: &'static str },
}

impl Refused {
    const fn field(field: &'static str, problem: &'static str) -> Self {
        Self::Field { field, problem }
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
    let message = format!("reports[{index}].v is {version}, and {SCHEMA_VERSION} is known");
    ApiError::new(Reason::UnknownVersion, message)
}

/// What is wrong with a body that did not parse. Costs a second look at it, which good bodies do
/// not pay.
fn explain(text: &str, error: &serde_json::Error) -> ApiError {
    match error.classify() {
        Category::Data => explain_data(text),
        // serde_json's text here is of its own words and a place, never of the body.
        Category::Io | Category::Syntax | Category::Eof => {
            ApiError::new(Reason::BadJson, format!("the body is not JSON: {error}"))
        }
    }
}

fn explain_data(text: &str) -> ApiError {
    // A later version may have changed types: its number says more than the field it broke at.
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
        Ok(_) => "the body has a field of a wrong type".to_owned(),
    };
    // The text quotes the value it did not expect, however long that is.
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

const LONGEST_MS: f64 = DAY_MS as f64;
/// Clocks that step by up to a millisecond may round two moments apart.
const TOLERANCE_MS: f64 = 1.0;
const MOST_EVENTS: u64 = 10_000_000;
const MOST_BYTES: u64 = 1 << 40;
/// What 32 bits can address.
const MOST_MEMORY: u64 = 1 << 32;
const MOST_TOKENS: u64 = 1_000_000_000;
const LONGEST_NAME: usize = 128;
/// Ids of answers and routes may be longer than names: neither is a label.
const LONGEST_PATH: usize = 256;
const LONGEST_MESSAGE: usize = 300;
const NO_NAME: &str = "is too long, or has characters that nobody sees";
/// Letters and marks of Unicode that nothing is drawn for: two names that differ by them alone look the same.
const UNSEEN: [RangeInclusive<char>; 9] = [
    '\u{34f}'..='\u{34f}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    // But the one by which a sign is an emoji.
    '\u{fe00}'..='\u{fe0e}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{e0100}'..='\u{e01ef}',
];
/// Emoji are joined by it, and letters of some scripts; the other keeps letters apart.
const JOINER: char = '\u{200d}';
const NON_JOINER: char = '\u{200c}';
