//! A recorded stream, as a raw body or a timeline of reads.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use beacon::StreamReport;
use probe_core::{End, Meter, Timestamp};
use serde_json::Value;

/// One response as a browser got it.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    /// `None` without a response.
    pub(crate) response: Option<Response>,
    /// In the order of arrival.
    pub(crate) reads: Vec<Recorded>,
    /// How and when the reading ended.
    pub(crate) end: (End, f64),
    /// The times are real. Otherwise the report has no durations.
    pub(crate) timed: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) at_ms: f64,
    pub(crate) status: u16,
    pub(crate) content_type: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) at_ms: f64,
    pub(crate) bytes: Vec<u8>,
}

/// Why a timeline cannot be read.
#[derive(Debug)]
pub(crate) struct BadRow {
    row: usize,
    what: String,
}

impl Recording {
    /// A whole body without times.
    pub(crate) fn body(bytes: Vec<u8>) -> Self {
        Self {
            response: Some(Response { at_ms: 0.0, status: 200, content_type: String::new() }),
            reads: vec![Recorded { at_ms: 0.0, bytes }],
            end: (End::Closed, 0.0),
            timed: false,
        }
    }

    /// A timeline, one JSON row per read.
    pub(crate) fn timeline(rows: &[u8]) -> Result<Self, BadRow> {
        let mut recording = Self { response: None, reads: Vec::new(), end: (End::Closed, 0.0), timed: true };
        let rows = rows.split(|&byte| byte == b'\n').enumerate();
        for (row, line) in rows.filter(|(_, line)| !line.trim_ascii().is_empty()) {
            recording.add(line).map_err(|what| BadRow { row: row + 1, what })?;
        }
        Ok(recording)
    }

    fn add(&mut self, line: &[u8]) -> Result<(), String> {
        let row: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let at_ms = row["t_ms"].as_f64();
        self.timed &= at_ms.is_some();
        let at_ms = at_ms.unwrap_or(0.0);
        self.end.1 = at_ms;
        if let Some(end) = row["end"].as_str() {
            self.end.0 = end_named(end).ok_or_else(|| format!("no such end: {end}"))?;
        }
        let status = row["status"].as_u64();
        if status.is_some() || row["headers"].is_object() {
            let status = status.unwrap_or(200).try_into().map_err(|_| "no such status")?;
            self.response = Some(Response { at_ms, status, content_type: content_type(&row) });
        }
        let bytes = match (row["text"].as_str(), row["b64"].as_str()) {
            (Some(text), _) => text.as_bytes().to_vec(),
            (None, Some(b64)) => STANDARD.decode(b64).map_err(|error| error.to_string())?,
            (None, None) => return Ok(()),
        };
        self.response.get_or_insert(Response { at_ms, status: 200, content_type: String::new() });
        self.reads.push(Recorded { at_ms, bytes });
        Ok(())
    }

    /// The report of a meter for this recording.
    pub(crate) fn report(&self) -> StreamReport {
        let at = Timestamp::from_ms;
        let mut meter = Meter::new("0".repeat(32), at(0.0));
        if let Some(response) = &self.response {
            meter.on_headers(at(response.at_ms), response.status, response.content_type.as_str());
        }
        for read in &self.reads {
            meter.on_chunk(at(read.at_ms), &read.bytes);
        }
        meter.on_end(at(self.end.1), self.end.0);
        if self.timed { meter.report() } else { without_durations(meter.report()) }
    }
}

impl std::fmt::Display for BadRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "row {}: {}", self.row, self.what)
    }
}

impl std::error::Error for BadRow {}

/// The same report without the fields that need real times.
pub(crate) fn without_durations(report: StreamReport) -> StreamReport {
    StreamReport {
        submit_delay_ms: None,
        headers_ms: None,
        first_byte_ms: None,
        first_event_ms: None,
        ttft_ms: None,
        ttfv_ms: None,
        e2e_ms: None,
        close_ms: None,
        tpot_ms: None,
        longest_gap_ms: None,
        gaps: None,
        ..report
    }
}

fn content_type(row: &Value) -> String {
    let headers = row["headers"].as_object();
    let header =
        headers.and_then(|all| all.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type")));
    header.and_then(|(_, value)| value.as_str()).unwrap_or_default().to_owned()
}

fn end_named(name: &str) -> Option<End> {
    Some(match name {
        "closed" => End::Closed,
        "failed" => End::Failed,
        "cancelled" => End::Cancelled,
        "timed_out" => End::TimedOut,
        "page_gone" => End::PageGone,
        _ => return None,
    })
}
