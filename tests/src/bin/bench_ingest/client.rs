//! The client: prepared requests over many connections, and how long each took.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use beacon::{Batch, Histogram, Page, StreamReport};
use tests::{Wire, report};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// What every request carries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beacons {
    /// One report of about 800 bytes.
    Single,
    /// Twenty such reports.
    Batches,
    /// One report, of one of [`SERIES`] models.
    ManySeries,
}

/// Connections that send at the same time, each one request after the other.
pub(crate) const CONNECTIONS: u64 = 32;
/// The more there are, the more beacons share a write.
pub(crate) const MANY_CONNECTIONS: u64 = 128;
/// Models that [`Beacons::ManySeries`] names.
pub(crate) const SERIES: u64 = 10_000;

impl Beacons {
    /// Reports in one request.
    pub(crate) const fn reports(self) -> usize {
        match self {
            Self::Batches => 20,
            Self::Single | Self::ManySeries => 1,
        }
    }
}

/// Every connection sends beacons until the time is over; gives back how long each request took.
pub(crate) async fn send_all(
    address: &str,
    beacons: Beacons,
    connections: u64,
    first_id: u64,
    for_: Duration,
) -> Result<Vec<Duration>> {
    let until = Instant::now() + for_;
    let mut sending = JoinSet::new();
    for connection in 0..connections {
        sending.spawn(send(address.to_owned(), beacons, first_id + (connection << 24), until));
    }
    let mut latencies = Vec::new();
    while let Some(sent) = sending.join_next().await {
        latencies.extend(sent??);
    }
    Ok(latencies)
}

async fn send(address: String, beacons: Beacons, first_id: u64, until: Instant) -> Result<Vec<Duration>> {
    let mut wire = Wire::connect(&address).await?;
    let mut request = Request::prepare(&address, beacons)?;
    let mut latencies = Vec::new();
    let mut id = first_id;
    loop {
        let now = Instant::now();
        if now >= until {
            return Ok(latencies);
        }
        request.number(&mut id);
        wire.post(&request.bytes).await?;
        latencies.push(now.elapsed());
    }
}

/// Sends so many reports a second, whatever the answers do; gives back how long each request took from the
/// moment that it was due. One that is due while all connections wait is sent late, and that counts too.
pub(crate) async fn send_at_rate(
    address: &str,
    beacons: Beacons,
    first_id: u64,
    reports_per_second: u32,
    for_: Duration,
) -> Result<Vec<Duration>> {
    let (tell, due) = unbounded_channel();
    let due = Arc::new(Mutex::new(due));
    let mut connections = JoinSet::new();
    for connection in 0..CONNECTIONS {
        connections.spawn(send_due(address.to_owned(), beacons, first_id + (connection << 24), due.clone()));
    }
    let every = Duration::from_secs(beacons.reports() as u64) / reports_per_second;
    // The runtime's own timer knows whole milliseconds only.
    let clock = thread::spawn(move || tell_when_due(&tell, every, for_));
    let mut latencies = Vec::new();
    while let Some(sent) = connections.join_next().await {
        latencies.extend(sent??);
    }
    clock.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    Ok(latencies)
}

fn tell_when_due(tell: &UnboundedSender<Instant>, every: Duration, for_: Duration) {
    let begun = Instant::now();
    let mut due = begun;
    while due < begun + for_ {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        // When a connection has failed, the failure is told.
        if tell.send(due).is_err() {
            return;
        }
        due += every;
    }
}

/// Sends what is due whenever this connection is free.
async fn send_due(
    address: String,
    beacons: Beacons,
    first_id: u64,
    due: Arc<Mutex<UnboundedReceiver<Instant>>>,
) -> Result<Vec<Duration>> {
    let mut wire = Wire::connect(&address).await?;
    let mut request = Request::prepare(&address, beacons)?;
    let mut latencies = Vec::new();
    let mut id = first_id;
    loop {
        let next = due.lock().await.recv().await;
        let Some(due) = next else { return Ok(latencies) };
        request.number(&mut id);
        wire.post(&request.bytes).await?;
        latencies.push(due.elapsed());
    }
}

/// A whole request, and where in it the stream ids and the model stand.
struct Request {
    bytes: Vec<u8>,
    ids_at: Vec<usize>,
    model_at: Option<usize>,
}

impl Request {
    fn prepare(address: &str, beacons: Beacons) -> Result<Self> {
        let mut report = typical();
        if beacons == Beacons::ManySeries {
            report.model = Some(MODEL.into());
        }
        let body = serde_json::to_string(&Batch { reports: vec![report; beacons.reports()] })?;
        let head = format!(
            "POST /v1/beacons?site=demo HTTP/1.1\r\nhost: {address}\r\n\
             content-type: text/plain;charset=UTF-8\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let text = format!("{head}{body}");
        let ids_at: Vec<_> = text.match_indices(&"0".repeat(32)).map(|(at, _)| at).collect();
        ensure!(ids_at.len() == beacons.reports(), "every report has an id");
        let model_at = text.find(MODEL);
        Ok(Self { bytes: text.into_bytes(), ids_at, model_at })
    }

    /// Gives every report an id that was not there before.
    fn number(&mut self, id: &mut u64) {
        for at in &self.ids_at {
            self.bytes[*at..at + 32].copy_from_slice(format!("{id:032x}").as_bytes());
            *id += 1;
        }
        if let Some(at) = self.model_at {
            // Connections begin at ids far apart: a factor spreads each over all models.
            let model = (*id).wrapping_mul(0x9e37_79b9_7f4a_7c15) % SERIES;
            self.bytes[at..at + MODEL.len()].copy_from_slice(format!("model-{model:05}").as_bytes());
        }
    }
}

/// Bytes of a request body with one report.
pub(crate) fn beacon_bytes() -> Result<usize> {
    let body = serde_json::to_string(&Batch { reports: vec![typical()] });
    Ok(body.context("a report is JSON")?.len())
}

fn typical() -> StreamReport {
    let mut report = report(0);
    report.provider = Some("openai".into());
    report.response_model = Some("gpt-5-2026-08-01".into());
    report.finish_reason = Some("stop".into());
    report.input_tokens = Some(412);
    report.longest_gap_ms = Some(212.4);
    let mut gaps = Histogram::default();
    for step in 0..40 {
        gaps.record(30.0 + f64::from(step));
    }
    report.gaps = Some(gaps);
    report.page = Some(Page {
        browser: Some("chrome".into()),
        os: Some("windows".into()),
        device: Some("desktop".into()),
        visibility: Some("visible".into()),
        route: Some("/chat/:id".into()),
        ..Page::default()
    });
    report.clock_resolution_ms = Some(0.1);
    report
}

const MODEL: &str = "model-00000";
