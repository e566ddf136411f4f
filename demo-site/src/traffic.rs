//! Synthetic traffic: reads real streams from the demo server, measures them as a page would, and sends their
//! reports to the collector.

mod deliver;
mod history;
mod mix;
mod simulate;
mod visit;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use beacon::Outcome;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::answer::Random;
use crate::client::client;
pub use deliver::Delivered;
use deliver::{Delivery, Sender};
pub use history::History;
use mix::{State, Visit};

/// Settings of the traffic.
#[derive(Debug, Clone)]
pub struct Traffic {
    /// Base URL of the demo site.
    pub demo: String,
    /// Base URL of the collector.
    pub collector: String,
    /// Site key for the beacons. `None`: each stream has its own site.
    pub site: Option<String>,
    /// Number of streams.
    pub streams: u32,
    /// Duration over which the starts are spread evenly. If zero, streams start as soon as `concurrency`
    /// allows.
    pub over: Duration,
    /// Maximum number of open streams.
    pub concurrency: usize,
    /// The same seed gives the same streams.
    pub seed: u64,
}

/// Result of the traffic.
#[derive(Debug, Default)]
pub struct Sent {
    /// Number of streams by outcome.
    pub outcomes: BTreeMap<Outcome, u32>,
    /// Delivery of the reports.
    pub delivered: Delivered,
}

impl Traffic {
    /// Creates the traffic. Calls `progress` with the number of streams that have ended.
    ///
    /// # Errors
    /// If the demo site does not respond, because streams would then report a network error that no user had.
    pub async fn send(self, progress: impl Fn(u32)) -> reqwest::Result<Sent> {
        let client = client()?;
        let demo: Arc<str> = self.demo.trim_end_matches('/').into();
        client.get(format!("{demo}/healthz")).send().await?.error_for_status()?;
        let (reports, to_deliver) = mpsc::channel(1_024);
        let site = self.site.clone();
        let delivery = Delivery::new(client.clone(), &self.collector, self.site);
        let delivery = tokio::spawn(delivery.run(to_deliver));
        let permits = Arc::new(Semaphore::new(self.concurrency.max(1)));
        let mut random = Random::new(self.seed);
        let mut sent = Sent::default();
        let mut open = JoinSet::new();
        let began = Instant::now();
        for number in 0..self.streams {
            sleep_until(began + self.over.mul_f64(f64::from(number) / f64::from(self.streams))).await;
            let permit = Arc::clone(&permits).acquire_owned().await.expect("the semaphore is never closed");
            let visit = Visit::draw(&mut random, State::NOW);
            let (client, demo, reports) = (client.clone(), Arc::clone(&demo), reports.clone());
            let site = site.clone().unwrap_or_else(|| visit.site.to_owned());
            open.spawn(async move {
                let from = Sender { site: visit.site, country: visit.country };
                let report = visit.read(&client, &demo, &site).await;
                drop(permit);
                let outcome = report.outcome;
                reports.send((from, report)).await.expect("the delivery reads to the end");
                outcome
            });
            while let Some(ended) = open.try_join_next() {
                progress(sent.count(ended.expect("no visit panics")));
            }
        }
        drop(reports);
        while let Some(ended) = open.join_next().await {
            progress(sent.count(ended.expect("no visit panics")));
        }
        sent.delivered = delivery.await.expect("the delivery does not panic");
        Ok(sent)
    }
}

impl Sent {
    /// Counts one stream and returns the new total.
    fn count(&mut self, outcome: Outcome) -> u32 {
        *self.outcomes.entry(outcome).or_default() += 1;
        self.outcomes.values().sum()
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcomes: Vec<_> =
            self.outcomes.iter().map(|(outcome, count)| format!("{} {count}", outcome.as_str())).collect();
        let Delivered { accepted, refused, lost } = self.delivered;
        write!(
            f,
            "{} streams: {}; reports: accepted {accepted}, refused {refused}, lost {lost}",
            self.outcomes.values().sum::<u32>(),
            outcomes.join(", "),
        )
    }
}
