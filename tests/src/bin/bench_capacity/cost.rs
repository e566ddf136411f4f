//! What streams cost as they come in: each as one or two beacons of its own, over many connections, into a
//! collector that is asked nothing else.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rusqlite::Connection;
use tests::{Collector, Usage, Wire, eventually};
use tokio::task::JoinSet;

use crate::disk::{self, Table};
use crate::post::{Prepared, request};

/// How streams come in, and what the collector is told to keep.
pub(crate) struct Load {
    pub(crate) name: &'static str,
    pub(crate) streams: u64,
    /// `None` as fast as the collector takes them.
    pub(crate) per_second: Option<u64>,
    pub(crate) sync: &'static str,
    pub(crate) ids: u64,
}

/// What they cost.
pub(crate) struct Cost {
    pub(crate) load: &'static Load,
    pub(crate) reports: u64,
    pub(crate) seconds: f64,
    /// Of the collector, until all is counted.
    pub(crate) cpu_seconds: f64,
    pub(crate) rss_mb: f64,
    pub(crate) peak_rss_mb: f64,
    /// Requests with their heads.
    pub(crate) sent_bytes: u64,
    /// Bodies.
    pub(crate) body_bytes: u64,
    /// Written to the journal since ever.
    pub(crate) journal_bytes: u64,
    /// Files of the journal at the end.
    pub(crate) journal_mb: f64,
    /// Tables of the store at the end.
    pub(crate) tables: Vec<Table>,
    pub(crate) remembered: u64,
    /// Data folder of the collector that ran.
    pub(crate) folder: PathBuf,
}

impl Cost {
    pub(crate) async fn of(load: &'static Load, folder: &Path, pool: &Arc<Vec<Prepared>>) -> Result<Self> {
        let config = folder.join(format!("{}.toml", load.name));
        std::fs::write(&config, configuration(load))?;
        let folder = folder.join(load.name);
        let collector =
            Collector::start_with(&folder, &["--config", config.to_str().context("a plain name")?]).await?;
        let before = Usage::of(collector.pid())?;
        let begun = Instant::now();
        let sent = send(&collector.url, load, pool).await?;
        let seconds = begun.elapsed().as_secs_f64();
        eventually("every stream to be counted", || async {
            let summary = collector.get("/v1/summary").await.ok()?;
            (summary["streams"] == load.streams && summary["open"] == 0).then_some(())
        })
        .await?;
        let after = Usage::of(collector.pid())?;
        ensure!(collector.terminate().await? == Some(0), "the collector did not stop well");

        let store = Connection::open(folder.join(disk::FILE))?;
        let journal_bytes: i64 = store.query_row("SELECT applied FROM journal", [], |row| row.get(0))?;
        let remembered: i64 = store.query_row(
            "SELECT max(place) - remembered_from FROM journal, (SELECT max(newest) AS place FROM remembered)",
            [],
            |row| row.get(0),
        )?;
        Ok(Self {
            load,
            reports: sent.reports,
            seconds,
            cpu_seconds: (after.cpu - before.cpu).as_secs_f64(),
            rss_mb: after.rss_mb,
            peak_rss_mb: after.peak_rss_mb,
            sent_bytes: sent.bytes,
            body_bytes: sent.body_bytes,
            journal_bytes: journal_bytes.cast_unsigned(),
            journal_mb: disk::megabytes_in(&folder.join("journal"))?,
            tables: disk::tables(&store)?,
            remembered: remembered.cast_unsigned(),
            folder,
        })
    }

    pub(crate) fn per_stream(&self, bytes: u64) -> f64 {
        bytes as f64 / self.load.streams as f64
    }

    pub(crate) fn cpu_seconds_per_million(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.load.streams as f64
    }
}

fn configuration(load: &Load) -> String {
    let sites = SITES
        .map(|site| format!("[[sites]]\nname = \"{site}\"\nkeys = [\"{site}\"]\norigins = [\"loopback\"]\n"));
    format!(
        "[journal]\nsync = \"{}\"\n[ingest]\ntrust_loopback = true\n[dedupe]\nids = {}\n{}",
        load.sync,
        load.ids,
        sites.concat()
    )
}

#[derive(Default)]
struct Sent {
    reports: u64,
    bytes: u64,
    body_bytes: u64,
}

async fn send(url: &str, load: &Load, pool: &Arc<Vec<Prepared>>) -> Result<Sent> {
    let address = url.strip_prefix("http://").context("an address")?;
    let mut connections = JoinSet::new();
    for connection in 0..CONNECTIONS {
        let line = Line {
            address: address.to_owned(),
            pool: pool.clone(),
            numbers: (connection..load.streams).step_by(CONNECTIONS as usize).collect(),
            pause: load.per_second.map(|rate| Duration::from_secs_f64(CONNECTIONS as f64 / rate as f64)),
            sent: Sent::default(),
        };
        connections.spawn(line.send());
    }
    let mut all = Sent::default();
    while let Some(sent) = connections.join_next().await {
        let sent = sent??;
        all.reports += sent.reports;
        all.bytes += sent.bytes;
        all.body_bytes += sent.body_bytes;
    }
    Ok(all)
}

/// One connection and its streams.
struct Line {
    address: String,
    pool: Arc<Vec<Prepared>>,
    numbers: Vec<u64>,
    pause: Option<Duration>,
    sent: Sent,
}

impl Line {
    /// Between the two reports of a stream come those of others.
    async fn send(mut self) -> Result<Sent> {
        let mut wire = Wire::connect(&self.address).await?;
        let mut pace = self.pause.map(tokio::time::interval);
        for at in 0..self.numbers.len() + AT_A_TIME {
            if let Some(pace) = &mut pace {
                pace.tick().await;
            }
            if let Some(begun) = self.numbers.get(at).copied() {
                self.post(&mut wire, begun, true).await?;
            }
            if let Some(ended) = at.checked_sub(AT_A_TIME).map(|at| self.numbers[at]) {
                self.post(&mut wire, ended, false).await?;
            }
        }
        Ok(self.sent)
    }

    async fn post(&mut self, wire: &mut Wire, number: u64, open: bool) -> Result<()> {
        let prepared = &self.pool[number as usize % self.pool.len()];
        let cut = if open { prepared.open.as_ref() } else { Some(&prepared.ended) };
        let Some(cut) = cut else { return Ok(()) };
        let mut report = String::new();
        cut.write(number, "", &mut report);
        // Half of all are of the first, half of the rest of the second.
        let site = SITES[(number.trailing_ones() as usize).min(SITES.len() - 1)];
        let request = request(&self.address, site, &report);
        self.sent.reports += 1;
        self.sent.bytes += request.len() as u64;
        self.sent.body_bytes += report.len() as u64 + 14;
        wire.post(&request).await
    }
}

pub(crate) const SITES: [&str; 4] = ["shop", "docs", "desk", "code"];
const CONNECTIONS: u64 = 32;
/// Open streams of one connection.
const AT_A_TIME: usize = 50;
