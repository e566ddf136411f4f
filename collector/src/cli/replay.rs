//! `llm-rum replay`: counts a file of beacons and reports as a collector with this configuration would. It
//! stores nothing.

use std::collections::{BTreeMap, VecDeque};
use std::io::BufRead;
use std::sync::PoisonError;

use beacon::StreamReport;
use serde::Serialize;

use crate::aggregate::aggregator::{Aggregator, StoredState};
use crate::aggregate::changes::LoadedState;
use crate::aggregate::cumulative_stats::CumulativeStats;
use crate::aggregate::internal_metrics::Kind;
use crate::aggregate::sampling::StoredSample;
use crate::aggregate::series::CumulativeKey;
use crate::aggregate::window::{Window, WindowKey};
use crate::aggregate::window_stats::{Sum, WindowStats};
use crate::api::answer::ratio::Ratio;
use crate::api::answer::stream_stats::StreamStats;
use crate::cli::lines::{Line, Lines};
use crate::cli::report_line::{LineSites, ReportLine, UnknownSite};
use crate::config::Config;
use crate::http::error::{ApiError, Reason};
use crate::ingest::validate::ValidatedBatch;
use crate::journal::batch::JournaledReport;
use crate::journal::record;
use crate::journal::segments::RecordLocation;
use crate::report::accepted::{AcceptedReport, Discarded};
use crate::report::source::ReportSource;

/// Result of a replay: what happened to the lines, and the statistics of their streams.
#[derive(Debug, Serialize)]
pub struct Replayed {
    lines: LineCounts,
    /// The first refused lines.
    refusals: Vec<Refusal>,
    reports: ReportCounts,
    /// Unknown fields.
    ignored_fields: u64,
    streams: u64,
    /// Streams whose end is in no line: they count with their last report.
    never_ended: u64,
    #[serde(flatten)]
    figures: StreamStats,
    goodput: Ratio,
    /// Streams with a label value that counts as `other`, by label.
    overflow: BTreeMap<String, u64>,
}

#[derive(Debug, Default, Serialize)]
struct LineCounts {
    read: u64,
    accepted: u64,
    /// Refused lines by the error code of a beacon.
    refused: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Serialize)]
struct Refusal {
    /// Counted from 1.
    line: u64,
    code: &'static str,
    message: String,
}

#[derive(Debug, Serialize)]
struct ReportCounts {
    received: u64,
    /// Valid reports outside the `sample` of their site.
    sampled_out: u64,
    by_result: BTreeMap<String, u64>,
}

/// Why a replay failed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// `--site` names no configured site.
    #[error(transparent)]
    UnknownSite(#[from] UnknownSite),
    /// The input cannot be read.
    #[error("cannot read line {line}")]
    Read {
        /// Counted from 1.
        line: u64,
        /// The system's error.
        source: std::io::Error,
    },
    /// A sampled report cannot be serialized as JSON.
    #[error(transparent)]
    Report(#[from] serde_json::Error),
}

impl Replayed {
    /// Whether every line was accepted.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.lines.refused.is_empty()
    }
}

/// Counts each line as if it were the body of a beacon that arrived at `now_ms`. The site is `site`, else the
/// one that the report names, else the first of the configuration.
///
/// # Errors
/// If there is no such site, or the input cannot be read. An invalid line is counted, and never an error.
pub fn replay(
    config: &Config,
    site: Option<&str>,
    from: impl BufRead,
    now_ms: i64,
) -> Result<Replayed, ReplayError> {
    let mut replay = Replay::new(config, site, now_ms)?;
    let mut lines = Lines::new(from, config.ingest.body_bytes);
    loop {
        let unread = lines.read() + 1;
        match lines.next().map_err(|source| ReplayError::Read { line: unread, source })? {
            None => return Ok(replay.close()?),
            Some((number, Line::Whole(line))) => {
                let taken = replay.sites.parse(line);
                replay.note(number, taken)?;
            }
            Some((number, Line::TooLong)) => {
                let message = format!("the line is longer than {} bytes", config.ingest.body_bytes);
                replay.note(number, Err(ApiError::new(Reason::BodyTooLarge, message)))?;
            }
        }
    }
}

/// State of a replay.
struct Replay {
    sites: LineSites,
    now_ms: i64,
    aggregator: Aggregator,
    earlier: Remembered,
    lines: LineCounts,
    refusals: Vec<Refusal>,
    received: u64,
    sampled_out: u64,
    ignored_fields: u64,
}

/// Reports that a later revision may replace, in the form of journal records.
#[derive(Default)]
struct Remembered {
    /// Position of the first record.
    first: u64,
    records: VecDeque<Box<[u8]>>,
}

impl Replay {
    fn new(config: &Config, site: Option<&str>, now_ms: i64) -> Result<Self, ReplayError> {
        let mut config = config.clone();
        // A replay never lists single streams.
        config.store.samples = 0;
        config.store.row_files_days = 0;
        Ok(Self {
            sites: LineSites::new(&config, site)?,
            now_ms,
            aggregator: Aggregator::new(config, LoadedState::default()),
            earlier: Remembered::default(),
            lines: LineCounts::default(),
            refusals: Vec::new(),
            received: 0,
            sampled_out: 0,
            ignored_fields: 0,
        })
    }

    fn note(&mut self, line: u64, taken: Result<ReportLine, ApiError>) -> Result<(), serde_json::Error> {
        self.lines.read += 1;
        match taken {
            Ok(ReportLine { batch: ValidatedBatch { reports, discarded }, .. }) => {
                let Discarded { sampled_out, ignored_fields } = discarded;
                self.lines.accepted += 1;
                self.received += reports.len() as u64;
                self.sampled_out += sampled_out;
                self.ignored_fields += ignored_fields;
                reports.into_iter().try_for_each(|accepted| self.count(accepted))
            }
            Err(refused) => {
                let code = refused.reason.code();
                *self.lines.refused.entry(code).or_default() += 1;
                if self.refusals.len() < MOST_REFUSALS {
                    self.refusals.push(Refusal { line, code, message: refused.message().to_owned() });
                }
                Ok(())
            }
        }
    }

    fn count(&mut self, AcceptedReport { id, report, .. }: AcceptedReport) -> Result<(), serde_json::Error> {
        let mut record = Vec::new();
        record::write(id, None, None, &report, &mut record);
        let at = self.earlier.keep(record.into());
        self.aggregator.add(
            &JournaledReport { id, source: ReportSource::Operator, country: None, visit: None, report, at },
            self.now_ms,
            &self.earlier,
        )?;
        while self.aggregator.evict_some(self.now_ms, &self.earlier)? {}
        let streams = self.aggregator.streams();
        let needs_from = streams.read().unwrap_or_else(PoisonError::into_inner).needs_from();
        self.earlier.drop_before(needs_from);
        Ok(())
    }

    fn close(mut self) -> Result<Replayed, serde_json::Error> {
        let streams = self.aggregator.streams();
        let never_ended = streams.read().unwrap_or_else(PoisonError::into_inner).open().count() as u64;
        while self.aggregator.finalize_next(i64::MAX, &self.earlier)? {}
        let mut all = WindowStats::default();
        // Nothing was flushed, so the changes contain all windows.
        self.aggregator.changes().windows.iter().for_each(|(_, window)| all.merge(&window.stats));
        let counts = &self.aggregator.counts;
        let mut overflow = BTreeMap::new();
        for (key, count) in counts.iter(Kind::Overflow) {
            *overflow.entry(key.word.clone()).or_default() += count;
        }
        let by_result = counts.iter(Kind::Report).map(|(key, count)| (key.word.clone(), count)).collect();
        Ok(Replayed {
            lines: self.lines,
            refusals: self.refusals,
            reports: ReportCounts { received: self.received, sampled_out: self.sampled_out, by_result },
            ignored_fields: self.ignored_fields,
            streams: all.streams(),
            never_ended,
            figures: StreamStats::of(&all),
            goodput: Ratio::of(all.sum(Sum::WithinSlo), all.eligible()),
            overflow,
        })
    }
}

impl Remembered {
    fn keep(&mut self, record: Box<[u8]>) -> RecordLocation {
        self.records.push_back(record);
        RecordLocation { position: self.first + self.records.len() as u64 - 1, len: 1 }
    }

    fn drop_before(&mut self, needs_from: Option<u64>) {
        while needs_from.is_none_or(|from| self.first < from) && self.records.pop_front().is_some() {
            self.first += 1;
        }
    }
}

impl StoredState for Remembered {
    type Error = serde_json::Error;

    /// No window was ever flushed, so all of them are in memory.
    fn window(&self, _: WindowKey) -> Result<Window, Self::Error> {
        Ok(Window::default())
    }

    fn total(&self, _: CumulativeKey) -> Result<CumulativeStats, Self::Error> {
        Ok(CumulativeStats::default())
    }

    fn report(&self, at: RecordLocation) -> Result<Option<StreamReport>, Self::Error> {
        let place = at.position.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        let record = place.and_then(|place| self.records.get(place));
        Ok(record.and_then(|record| record::read(record)).map(|record| record.report))
    }

    fn samples(&self, _: &str, _: i64) -> Result<Vec<StoredSample>, Self::Error> {
        Ok(Vec::new())
    }
}

/// Enough to see the error in a file.
const MOST_REFUSALS: usize = 10;

#[cfg(test)]
mod tests;
