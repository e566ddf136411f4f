//! `llm-rum import`: stores reports from a file under the time at which they arrived, for example those that another
//! collector lists.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use serde::Serialize;

use crate::cli::lines::{Line, Lines};
use crate::cli::report_line::{LineSites, ReportLine, UnknownSite};
use crate::config::{Config, Ingest};
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
    let Ingest { body_bytes, queue_batches, queue_bytes, .. } = &mut config.ingest;
    *queue_batches = LINES_AT_ONCE.max(*queue_batches);
    *queue_bytes = (2 * LINES_AT_ONCE * *body_bytes).max(*queue_bytes);
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
    // The journal writes several lines at a time: each write waits for the disk.
    let mut writes = FuturesOrdered::new();
    loop {
        if writes.len() >= LINES_AT_ONCE {
            imported.finish(&mut writes).await?;
        }
        let unread = lines.read() + 1;
        let (number, line) = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(source) => {
                imported.finish(&mut writes).await?;
                return Err(ImportError::Read { line: unread, source });
            }
        };
        let parsed = match line {
            Line::Whole(line) => sites.parse(line).and_then(arrival),
            Line::TooLong => Err(ApiError::new(Reason::BodyTooLarge, "the line is too long")),
        };
        match parsed {
            Ok((received_ms, ReportLine { batch, country, .. })) => {
                let written = state.ingest().import(received_ms, country, batch);
                writes.push_back(async move {
                    let stored = match written {
                        Ok(written) => written.await,
                        Err(refused) => Err(refused),
                    };
                    stored.map_err(|refused| ImportError::Journal {
                        line: number,
                        message: refused.message().to_owned(),
                    })
                });
            }
            Err(refused) => imported.refuse(number, &refused),
        }
    }
    imported.finish(&mut writes).await?;
    Ok(imported)
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
    /// Waits until all of `writes` are stored. They end in the order of their lines.
    async fn finish(
        &mut self,
        writes: &mut FuturesOrdered<impl Future<Output = Result<(), ImportError>>>,
    ) -> Result<(), ImportError> {
        while let Some(written) = writes.next().await {
            written?;
            self.stored += 1;
        }
        Ok(())
    }

    fn refuse(&mut self, line: u64, refused: &ApiError) {
        *self.refused.entry(refused.reason.code()).or_default() += 1;
        self.first_refusal.get_or_insert_with(|| format!("line {line}: {}", refused.message()));
    }
}

/// Lines that are written to the journal together.
const LINES_AT_ONCE: usize = 64;

/// Counting starts with the first line, so little is left to count at the end.
const CLOSE_WITHIN: Duration = Duration::from_secs(60);
