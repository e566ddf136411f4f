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
    /// Site key of all reports. `None`: each report has the one of its sender.
    site: Option<String>,
}

/// Origin of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sender {
    pub(super) site: &'static str,
    pub(super) country: &'static str,
}

/// Result of one try.
enum Tried {
    Accepted,
    Refused,
    Again(Option<Duration>),
}

impl Delivery {
    pub(super) fn new(client: Client, collector: &str, site: Option<String>) -> Self {
        let url = format!("{}/v1/beacons", collector.trim_end_matches('/'));
        Self { client, url, site }
    }

    /// Delivers batches until the channel closes.
    pub(super) async fn run(self, mut reports: Receiver<(Sender, StreamReport)>) -> Delivered {
        let mut delivered = Delivered::default();
        let mut next = reports.recv().await;
        while let Some((sender, first)) = next {
            let batch;
            (batch, next) = fill(sender, first, &mut reports).await;
            let count = batch.reports.len() as u32;
            match self.deliver(sender, &batch).await {
                Tried::Accepted => delivered.accepted += count,
                Tried::Refused => delivered.refused += count,
                Tried::Again(_) => delivered.lost += count,
            }
            if next.is_none() {
                next = reports.recv().await;
            }
        }
        delivered
    }

    async fn deliver(&self, sender: Sender, batch: &Batch) -> Tried {
        let body = serde_json::to_string(batch).expect("a report is always JSON");
        for attempt in 0..=RETRIES {
            match self.try_once(sender, body.clone()).await {
                Tried::Again(asked) if attempt < RETRIES => {
                    let backoff = Duration::from_millis(250 << attempt);
                    sleep(asked.unwrap_or(backoff).min(LONGEST_WAIT)).await;
                }
                tried => return tried,
            }
        }
        Tried::Again(None)
    }

    async fn try_once(&self, sender: Sender, body: String) -> Tried {
        let site = self.site.as_deref().unwrap_or(sender.site);
        let request = self.client.post(&self.url).query(&[("site", site)]).body(body);
        let request = request.header(COUNTRY_HEADER, sender.country);
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

/// Adds more reports of the sender to the batch while they arrive in quick succession. Returns the first report of
/// another sender with it.
async fn fill(
    sender: Sender,
    first: StreamReport,
    reports: &mut Receiver<(Sender, StreamReport)>,
) -> (Batch, Option<(Sender, StreamReport)>) {
    let mut batch = Batch { reports: vec![first] };
    while batch.reports.len() < BATCH {
        match timeout(SOON, reports.recv()).await {
            Ok(Some((from, report))) if from == sender => batch.reports.push(report),
            Ok(other) => return (batch, other),
            Err(_) => break,
        }
    }
    (batch, None)
}

fn is_busy(status: StatusCode) -> bool {
    matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Header of a proxy that knows the client's country, see `demo-site/llm-rum.toml`.
const COUNTRY_HEADER: &str = "x-demo-country";
/// About 25 kB: below the limit for a page that closes.
const BATCH: usize = 20;
const SOON: Duration = Duration::from_millis(200);
const RETRIES: u32 = 8;
const LONGEST_WAIT: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests;
