//! `llm-rum import`: stores reports from a file under the time at which they arrived, for example those that another
//! collector lists.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Duration;

use serde::Serialize;

use crate::cli::lines::{Line, Lines};
use crate::cli::report_line::{LineSites, ReportLine, UnknownSite};
use crate::config::Config;
use crate::http::error::{ApiError, Reason};
use crate::server::collector::Collector;
use crate::store::error::StoreError;
use crate::time;

/// Result of an import.
#[derive(Debug, Default, Serialize)]
pub struct Imported {
    /// Lines whose reports are stored, or left out by the `sample` of their site.
    stored: u64,
    /// Refused lines by the error code of a beacon.
    refused: BTreeMap<&'static str, u64>,
    /// The first refused line and the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_refusal: Option<String>,
}

/// Why an import failed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// `--site` names no configured site.
    #[error(transparent)]
    UnknownSite(#[from] UnknownSite),
    /// The data folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The input cannot be read.
    #[error("cannot read line {line}; the lines before it are stored")]
    Read {
        /// Counted from 1.
        line: u64,
        /// The system's error.
        source: std::io::Error,
    },
    /// The journal refused a line.
    #[error("cannot store line {line}: {message}; the lines before it are stored")]
    Journal {
        /// Counted from 1.
        line: u64,
        /// The reason.
        message: String,
    },
}

impl Imported {
    /// Whether every line was accepted.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.refused.is_empty()
    }
}

/// Stores each line in the data folder of the configuration. No collector may use the folder.
///
/// A single report needs `received_ms`; the body of a beacon arrives now. A line that is imported twice counts once if
/// the first import was not longer ago than `dedupe.minutes`.
///
/// # Errors
/// If the folder or the input cannot be used. An invalid line is counted, and never an error.
pub async fn import(
    mut config: Config,
    site: Option<&str>,
    from: impl BufRead,
) -> Result<Imported, ImportError> {
    let sites = LineSites::new(&config, site)?;
    let mut lines = Lines::new(from, config.ingest.body_bytes);
    // The next start of the collector evaluates the alerts.
    config.notify.clear();
    let collector = Collector::open(config)?;
    let imported = store(&collector, &sites, &mut lines).await;
    collector.close(CLOSE_WITHIN)?;
    imported
}

async fn store(
    collector: &Collector,
    sites: &LineSites,
    lines: &mut Lines<impl BufRead>,
) -> Result<Imported, ImportError> {
    let state = collector.state();
    let mut imported = Imported::default();
    loop {
        let unread = lines.read() + 1;
        let Some((number, line)) =
            lines.next().map_err(|source| ImportError::Read { line: unread, source })?
        else {
            return Ok(imported);
        };
        let parsed = match line {
            Line::Whole(line) => sites.parse(line).and_then(arrival),
            Line::TooLong => Err(ApiError::new(Reason::BodyTooLarge, "the line is too long")),
        };
        match parsed {
            Ok((received_ms, ReportLine { batch, country, .. })) => {
                let written = state.ingest().import(received_ms, country, batch).await;
                written.map_err(|refused| ImportError::Journal {
                    line: number,
                    message: refused.message().to_owned(),
                })?;
                imported.stored += 1;
            }
            Err(refused) => imported.refuse(number, &refused),
        }
    }
}

/// The arrival of a line, in milliseconds since 1970.
fn arrival(line: ReportLine) -> Result<(i64, ReportLine), ApiError> {
    let now_ms = time::now_ms();
    match line.received_ms {
        Some(received_ms) if (0..=now_ms).contains(&received_ms) => Ok((received_ms, line)),
        Some(_) => Err(ApiError::new(Reason::BadField, "`received_ms` is not in the past")),
        None => Ok((now_ms, line)),
    }
}

impl Imported {
    fn refuse(&mut self, line: u64, refused: &ApiError) {
        *self.refused.entry(refused.reason.code()).or_default() += 1;
        self.first_refusal.get_or_insert_with(|| format!("line {line}: {}", refused.message()));
    }
}

/// Counting starts with the first line, so little is left to count at the end.
const CLOSE_WITHIN: Duration = Duration::from_secs(60);
