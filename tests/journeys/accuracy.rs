//! How far the probe's TTFT is from what the server sent when.

use anyhow::{Result, ensure};

use crate::Stage;

const STREAMS: u64 = 100;
const WARM_UP: u64 = 4;

#[tokio::test(flavor = "multi_thread")]
async fn ttft_is_within_5_ms_of_the_servers_log_at_p95() -> Result<()> {
    let stage = Stage::set().await?;
    stage.open("").await?;
    // The first streams of a page compile its scripts and open its connections.
    stage.browser.run(READ_STREAMS, vec![WARM_UP.into()]).await?;
    let warm = stage.demo.latest().await?;
    let counts = stage.browser.run(READ_STREAMS, vec![STREAMS.into()]).await?;
    let counts: Vec<u32> = serde_json::from_value(counts)?;
    let ids = stage.ended_ids((WARM_UP + STREAMS) as usize).await?;
    let log = stage.demo.log(warm).await?;
    let mut errors = Vec::new();
    for ((id, entry), chunks) in ids[WARM_UP as usize..].iter().zip(&log).zip(counts) {
        let report = stage.collector.final_report(id).await?;
        // One stream at a time: the order of ends is the order of requests.
        if report.response_id.is_some() {
            ensure!(report.response_id.as_deref() == entry.id.as_deref(), "{report:#?} is not {entry:?}");
        }
        ensure!(report.chunks == chunks, "the page read {chunks} chunks, the probe saw {}", report.chunks);
        ensure!(report.bytes == entry.bytes(), "{} bytes of {}", report.bytes, entry.bytes());
        let (Some(seen), Some(sent)) = (report.ttft_ms, entry.first_token_ms) else {
            anyhow::bail!("no TTFT in {report:#?} or {entry:?}");
        };
        errors.push(seen - sent);
    }
    ensure!(errors.len() == STREAMS as usize, "{} streams", errors.len());
    errors.sort_by(f64::total_cmp);
    let at = |q: f64| errors[((q * STREAMS as f64).ceil() as usize).clamp(1, errors.len()) - 1];
    println!(
        "TTFT error over {STREAMS} streams, ms: min {:.2} p50 {:.2} p95 {:.2} p99 {:.2} max {:.2}",
        at(0.0),
        at(0.5),
        at(0.95),
        at(0.99),
        at(1.0)
    );
    let mut magnitude: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    magnitude.sort_by(f64::total_cmp);
    let p95 = magnitude[94];
    ensure!(p95 <= 5.0, "|error| at p95 is {p95:.2} ms");
    stage.browser.close().await
}

/// Reads streams of each API one after the other, as an app would, and counts its reads.
const READ_STREAMS: &str = "
    const routes = ['v1/chat/completions', 'v1/responses', 'v1/messages', 'api/chat'];
    const counts = [];
    for (let i = 0; i < args[0]; i++) {
        const response = await fetch(`/llm/normal/${routes[i % 4]}`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ model: 'demo', stream: true, max_tokens: 64, messages: [{ role: 'user', content: 'hi' }], input: 'hi' }),
        });
        const reader = response.body.getReader();
        let chunks = 0;
        while (!(await reader.read()).done) chunks++;
        counts.push(chunks);
    }
    return counts;";
