//! A real Prometheus that scrapes the collector: the four queries of the requirement, verbatim, over
//! classic buckets; quantiles of native histograms, and exemplars that lead to single streams.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beacon::{Batch, Outcome};
use serde_json::Value;
use tests::{Collector, Server, eventually, free_port, http, report};
use tokio::process::Command;

const TTFT_P95: &str = "histogram_quantile(0.95, rate(llm_first_token_duration_seconds_bucket[5m]))";
const TOKENS: &str = "rate(llm_tokens_generated_total[1m])";
const REQUEST_P99: &str = "histogram_quantile(0.99, rate(llm_request_duration_seconds_bucket[5m]))";
const ERRORS: &str = "rate(llm_generation_errors_total[5m]) / rate(llm_requests_total[5m])";

#[tokio::test(flavor = "multi_thread")]
async fn the_four_queries_give_the_truth_within_their_buckets() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let prometheus = Prometheus::start(data.path(), &collector.url, &[]).await?;

    // A series has no rate before its second sample: the first wave only brings it into being.
    send(&collector, 0..20).await?;
    prometheus.scraped("llm_requests_total", 20.0).await?;
    send(&collector, 20..1020).await?;
    prometheus.scraped("llm_requests_total", 1020.0).await?;

    // TTFTs run evenly from 1 ms to 1,000 ms: the 95th percentile is 950 ms, in the bucket from 750.
    let p95 = prometheus.value(TTFT_P95).await?;
    ensure!((0.75..=1.0).contains(&p95), "TTFT p95 {p95}");
    // Requests end 2 s after their first token: 2.99 s at the 99th, in the bucket from 2.5.
    let p99 = prometheus.value(REQUEST_P99).await?;
    ensure!((2.5..=5.0).contains(&p99), "request p99 {p99}");
    let errors = prometheus.value(ERRORS).await?;
    ensure!((errors - 0.1).abs() < 1e-9, "one in ten failed, not {errors}");
    let tokens = prometheus.value(TOKENS).await?;
    ensure!(tokens > 0.0, "tokens per second {tokens}");
    println!("TTFT p95 {p95:.3} s, request p99 {p99:.3} s, errors {errors:.4}, tokens {tokens:.1}/s");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn native_histograms_give_the_truth_within_their_narrower_buckets() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let features = ["--enable-feature=native-histograms,exemplar-storage"];
    let prometheus = Prometheus::start(data.path(), &collector.url, &features).await?;
    send(&collector, 0..20).await?;
    prometheus.scraped("llm_requests_total", 20.0).await?;
    send(&collector, 20..1020).await?;
    prometheus.scraped("llm_requests_total", 1020.0).await?;

    let seen = prometheus.value("histogram_count(llm_first_token_duration_seconds)").await?;
    ensure!(seen == 1020.0, "a native histogram of {seen} streams");
    for (q, exact) in [(0.5, 0.5), (0.95, 0.95), (0.99, 0.99)] {
        let query = format!("histogram_quantile({q}, rate(llm_first_token_duration_seconds[5m]))");
        let answer = prometheus.value(&query).await?;
        // A bucket is 2^(1/8) wide.
        ensure!((answer / exact - 1.0).abs() < 0.0906, "TTFT quantile {q}: {answer} for {exact}");
        println!("TTFT quantile {q}: {answer:.4} s for {exact} s");
    }
    check_exemplar(&prometheus, &collector).await
}

/// An exemplar names a stream that the collector knows, and the stream has the exemplar's value.
async fn check_exemplar(prometheus: &Prometheus, collector: &Collector) -> Result<()> {
    let query = [("query", "llm_first_token_duration_seconds"), ("start", "0"), ("end", "9999999999")];
    let answer = prometheus.get("query_exemplars", &query).await?;
    let exemplar = &answer["data"][0]["exemplars"][0];
    let id = exemplar["labels"]["stream_id"].as_str().with_context(|| format!("no exemplar: {answer}"))?;
    let value: f64 = exemplar["value"].as_str().context("a value")?.parse()?;
    let stream = collector.get(&format!("/v1/streams/{id}")).await?;
    ensure!(stream["ttft_ms"] == value * 1_000.0, "{exemplar} of {stream}");
    Ok(())
}

async fn send(collector: &Collector, numbers: std::ops::Range<u64>) -> Result<()> {
    let reports: Vec<_> = numbers
        .map(|number| {
            let mut report = report(number);
            let ttft = (number % 1000 + 1) as f64;
            report.headers_ms = Some(0.5);
            report.first_byte_ms = Some(1.0);
            report.first_event_ms = Some(1.0);
            report.ttft_ms = Some(ttft);
            report.ttfv_ms = Some(ttft);
            report.e2e_ms = Some(ttft + 2000.0);
            report.close_ms = Some(ttft + 2001.0);
            if number % 10 == 3 {
                report.outcome = Outcome::Truncated;
            }
            report
        })
        .collect();
    for reports in reports.chunks(50) {
        let (status, body) =
            collector.post(serde_json::to_string(&Batch { reports: reports.to_vec() })?).await?;
        ensure!(status == 204, "{status} {body}");
    }
    Ok(())
}

struct Prometheus {
    _server: Server,
    url: String,
    http: reqwest::Client,
}

impl Prometheus {
    async fn start(folder: &std::path::Path, collector: &str, features: &[&str]) -> Result<Self> {
        let target = collector.strip_prefix("http://").context("an address")?;
        let config = folder.join("prometheus.yml");
        std::fs::write(
            &config,
            format!(
                "{{global: {{scrape_interval: 1s}}, scrape_configs: [{{job_name: llm-rum, static_configs: [{{targets: ['{target}']}}]}}]}}"
            ),
        )?;
        let port = free_port()?;
        let mut command = Command::new("sh");
        // Prometheus logs to standard error only; the harness listens to standard output.
        command.arg("-c").arg("exec prometheus \"$@\" 2>&1").arg("prometheus");
        command.arg(format!("--config.file={}", config.display()));
        command.arg(format!("--storage.tsdb.path={}", folder.join("tsdb").display()));
        command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
        command.args(["--web.console.templates=/nonexistent", "--web.console.libraries=/nonexistent"]);
        command.args(features);
        let ready = |line: &str| line.contains("Server is ready").then(String::new);
        let (server, _) = Server::start(command, ready).await?;
        Ok(Self { _server: server, url: format!("http://127.0.0.1:{port}"), http: http() })
    }

    async fn get(&self, route: &str, query: &[(&str, &str)]) -> Result<Value> {
        let request = self.http.get(format!("{}/api/v1/{route}", self.url)).query(query);
        Ok(request.send().await?.json().await?)
    }

    /// The value of a query that answers with exactly one series.
    async fn value(&self, query: &str) -> Result<f64> {
        let answer = self.get("query", &[("query", query)]).await?;
        let series = answer["data"]["result"].as_array().with_context(|| format!("{query}: {answer}"))?;
        ensure!(series.len() == 1, "{query}: {answer}");
        series[0]["value"][1].as_str().context("a value")?.parse().context("a number")
    }

    /// Waits until a scrape has seen the counter at `value`.
    async fn scraped(&self, counter: &str, value: f64) -> Result<()> {
        eventually(&format!("{counter} at {value}"), || async {
            (self.value(counter).await.ok()? == value).then_some(())
        })
        .await?;
        // One more, so that a rate has a sample after the change.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        Ok(())
    }
}
