//! kill -9 in the middle of ingest: what was answered with 2xx is there exactly once.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use beacon::Batch;
use tests::{Collector, eventually, http, report};
use tokio::sync::Notify;
use tokio::task::JoinSet;

const BEACONS: u64 = 10_000;
const CONNECTIONS: u64 = 8;
const KILL_AFTER: u64 = 3_000;

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_reports_survive_kill_9_exactly_once() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let sent = send_until_killed(collector).await?;
    ensure!(
        sent.stored.len() as u64 >= KILL_AFTER && !sent.unanswered.is_empty(),
        "killed too late: {}",
        sent.stored.len()
    );
    ensure!(!sent.refused.is_empty(), "some were refused");

    let collector = Collector::start(data.path()).await?;
    let kept = kept(&collector).await?;
    ensure!(sent.stored.is_subset(&kept), "{} answered ones are lost", sent.stored.difference(&kept).count());
    ensure!(sent.refused.is_disjoint(&kept), "a refused one was stored");
    let extra: BTreeSet<_> = kept.difference(&sent.stored).copied().collect();
    ensure!(extra.is_subset(&sent.unanswered), "{extra:?} were never sent");
    ensure!(counted(&collector).await? == kept.len() as u64, "windows count what the journal kept");
    ensure!(prometheus_counts(&collector).await? == kept.len() as u64, "and so do the totals");

    // Whoever got no answer sends again: none is counted twice.
    let mut whole = sent.stored.len();
    for number in &sent.unanswered {
        let (status, body) = collector.post(body(*number)).await?;
        ensure!(status == if is_bad(*number) { 400 } else { 204 }, "{status} {body}");
        whole += usize::from(status == 204);
    }
    eventually("every beacon counted once", || async {
        (counted(&collector).await.ok()? == whole as u64).then_some(())
    })
    .await?;
    println!(
        "{} answered before the kill, {} without an answer, {} of those stored",
        sent.stored.len(),
        sent.unanswered.len(),
        extra.len()
    );
    Ok(())
}

struct Sent {
    stored: BTreeSet<u64>,
    refused: BTreeSet<u64>,
    unanswered: BTreeSet<u64>,
}

async fn send_until_killed(collector: Collector) -> Result<Sent> {
    let answered = Arc::new(AtomicU64::new(0));
    let enough = Arc::new(Notify::new());
    let mut connections = JoinSet::new();
    for connection in 0..CONNECTIONS {
        let url = format!("{}/v1/beacons?site=demo", collector.url);
        connections.spawn(send_share(connection, url, answered.clone(), enough.clone()));
    }
    enough.notified().await;
    collector.kill().await?;
    let mut sent = Sent { stored: BTreeSet::new(), refused: BTreeSet::new(), unanswered: BTreeSet::new() };
    for (number, status) in connections.join_all().await.into_iter().flatten() {
        match status {
            Some(204) => sent.stored.insert(number),
            Some(_) => sent.refused.insert(number),
            None => sent.unanswered.insert(number),
        };
    }
    Ok(sent)
}

/// One connection's share of the beacons, one after the other, and how each was answered; ends at the
/// first without an answer.
async fn send_share(
    connection: u64,
    url: String,
    answered: Arc<AtomicU64>,
    enough: Arc<Notify>,
) -> HashMap<u64, Option<u16>> {
    let http = http();
    let mut answers = HashMap::new();
    for number in (connection..BEACONS).step_by(CONNECTIONS as usize) {
        let request = http.post(&url).header("content-type", "text/plain").body(body(number));
        let status = request.send().await.ok().map(|response| response.status().as_u16());
        answers.insert(number, status);
        if status.is_none() {
            break;
        }
        if answered.fetch_add(1, Ordering::Relaxed) == KILL_AFTER + KILL_AFTER / 10 {
            enough.notify_one();
        }
    }
    answers
}

/// Every hundredth beacon is one that must be refused.
fn is_bad(number: u64) -> bool {
    number % 100 == 99
}

fn body(number: u64) -> String {
    let mut report = report(number);
    if is_bad(number) {
        report.ttft_ms = Some(-1.0);
    }
    let batch = Batch { reports: vec![report] };
    serde_json::to_string(&batch).unwrap_or_default()
}

/// Numbers of the streams that the collector lists, each at most once.
async fn kept(collector: &Collector) -> Result<BTreeSet<u64>> {
    // The list follows the journal within a second.
    let total = eventually("a count that stands still", || async {
        let before = counted(collector).await.ok()?;
        let listed = collector.streams().await.ok()?.len() as u64;
        (before > 0 && before == listed).then_some(listed)
    })
    .await?;
    let streams = collector.streams().await?;
    let numbers: BTreeSet<u64> =
        streams.iter().filter_map(|stream| u64::from_str_radix(&stream.id, 16).ok()).collect();
    ensure!(numbers.len() as u64 == total, "{} rows for {} streams", total, numbers.len());
    Ok(numbers)
}

async fn counted(collector: &Collector) -> Result<u64> {
    Ok(collector.get("/v1/summary?range=1h").await?["streams"].as_u64().unwrap_or(0))
}

async fn prometheus_counts(collector: &Collector) -> Result<u64> {
    let text = collector.text("/metrics").await?;
    let values = text.lines().filter(|line| line.starts_with("llm_requests_total{"));
    Ok(values.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64)
}
