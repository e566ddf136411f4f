//! Delivers reports to the collector in batches. Retries as long as the collector asks for it, and counts
//! every report once.

use std::error::Error;
use std::time::Duration;

use beacon::{Batch, StreamReport};
use reqwest::{Client, Response, StatusCode, header};
use tokio::sync::mpsc::Receiver;
use tokio::time::{sleep, timeout};
use tracing::warn;

/// Number of reports by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    /// The collector responded with 2xx.
    pub accepted: u32,
    /// The collector rejected them permanently.
    pub refused: u32,
    /// All tries failed.
    pub lost: u32,
}

pub(super) struct Delivery {
    client: Client,
    url: String,
    site: String,
}

/// Result of one try.
enum Tried {
    Accepted,
    Refused,
    Again(Option<Duration>),
}

impl Delivery {
    pub(super) fn new(client: Client, collector: &str, site: &str) -> Self {
        let url = format!("{}/v1/beacons", collector.trim_end_matches('/'));
        Self { client, url, site: site.to_owned() }
    }

    /// Delivers batches until the channel closes.
    pub(super) async fn run(self, mut reports: Receiver<StreamReport>) -> Delivered {
        let mut delivered = Delivered::default();
        while let Some(first) = reports.recv().await {
            let batch = fill(first, &mut reports).await;
            let count = batch.reports.len() as u32;
            match self.deliver(&batch).await {
                Tried::Accepted => delivered.accepted += count,
                Tried::Refused => delivered.refused += count,
                Tried::Again(_) => delivered.lost += count,
            }
        }
        delivered
    }

    async fn deliver(&self, batch: &Batch) -> Tried {
        let body = serde_json::to_string(batch).expect("a report is always JSON");
        for attempt in 0..=RETRIES {
            match self.try_once(body.clone()).await {
                Tried::Again(asked) if attempt < RETRIES => {
                    let backoff = Duration::from_millis(250 << attempt);
                    sleep(asked.unwrap_or(backoff).min(LONGEST_WAIT)).await;
                }
                tried => return tried,
            }
        }
        Tried::Again(None)
    }

    async fn try_once(&self, body: String) -> Tried {
        let request = self.client.post(&self.url).query(&[("site", &self.site)]).body(body);
        match request.header(header::CONTENT_TYPE, "text/plain").send().await {
            Ok(response) if response.status().is_success() => Tried::Accepted,
            Ok(response) if is_busy(response.status()) => Tried::Again(retry_after(&response)),
            Ok(response) => {
                let status = response.status();
                let reason = response.text().await.unwrap_or_default();
                warn!(%status, reason, "The collector refused a batch");
                Tried::Refused
            }
            Err(error) => {
                warn!(error = &error as &dyn Error, "The collector did not answer");
                Tried::Again(None)
            }
        }
    }
}

/// Adds more reports to the batch while they arrive in quick succession.
async fn fill(first: StreamReport, reports: &mut Receiver<StreamReport>) -> Batch {
    let mut batch = Batch { reports: vec![first] };
    while batch.reports.len() < BATCH {
        match timeout(SOON, reports.recv()).await {
            Ok(Some(report)) => batch.reports.push(report),
            Ok(None) | Err(_) => break,
        }
    }
    batch
}

fn is_busy(status: StatusCode) -> bool {
    matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// About 25 kB: below the limit for a page that closes.
const BATCH: usize = 20;
const SOON: Duration = Duration::from_millis(200);
const RETRIES: u32 = 8;
const LONGEST_WAIT: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests;
