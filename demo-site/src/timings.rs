//! Sends what the layers of the scripted backend measured to the collector, in the background.

use std::collections::BTreeMap;
use std::error::Error;

use beacon::{LayerTiming, Layers};
use reqwest::Client;
use serde::Serialize;
use serde_json::json;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tracing::warn;

use crate::client::client;
use crate::layers::named;

/// Queue of the timings. A stream never waits for the collector.
#[derive(Debug, Clone)]
pub struct Timings(Sender<Fact>);

/// The queue, for the streams of one site.
#[derive(Debug, Clone)]
pub(crate) struct SiteTimings {
    queue: Timings,
    site: String,
}

/// What one layer measured of the stream with this id.
#[derive(Debug, Serialize)]
struct Fact {
    #[serde(skip)]
    site: String,
    id: String,
    layer: &'static str,
    #[serde(flatten)]
    timing: LayerTiming,
}

impl Timings {
    /// Starts to send to the collector at this address.
    ///
    /// # Errors
    /// If the system's certificates cannot be read.
    pub fn start(collector: &str) -> reqwest::Result<Self> {
        let (sender, facts) = mpsc::channel(QUEUE);
        let url = format!("{}/v1/server-timings", collector.trim_end_matches('/'));
        tokio::spawn(deliver(client()?, url, facts));
        Ok(Self(sender))
    }

    pub(crate) fn of_site(self, name: &str) -> SiteTimings {
        SiteTimings { queue: self, site: name.chars().take(SITE_LIMIT).collect() }
    }
}

impl SiteTimings {
    /// Queues the timings of a stream.
    pub(crate) fn send(&self, id: &str, layers: &Layers) {
        for (layer, timing) in named(layers) {
            let fact = Fact { site: self.site.clone(), id: id.to_owned(), layer, timing: timing.clone() };
            if self.queue.0.try_send(fact).is_err() {
                warn!(layer, "A timing is lost: the collector does not keep up");
            }
        }
    }
}

/// Sends batches until the queue closes.
async fn deliver(client: Client, url: String, mut facts: Receiver<Fact>) {
    let mut batch = Vec::new();
    while facts.recv_many(&mut batch, BATCH).await > 0 {
        let mut by_site: BTreeMap<String, Vec<Fact>> = BTreeMap::new();
        for fact in batch.drain(..) {
            by_site.entry(fact.site.clone()).or_default().push(fact);
        }
        for (site, facts) in by_site {
            let request = client.post(&url).query(&[("site", site)]).json(&json!({ "facts": facts }));
            if let Err(error) = request.send().await.and_then(reqwest::Response::error_for_status) {
                warn!(error = &error as &dyn Error, "The collector did not take timings");
            }
        }
    }
}

const QUEUE: usize = 4_096;
const BATCH: usize = 500;
/// Maximum number of characters of a site's name.
const SITE_LIMIT: usize = 64;
