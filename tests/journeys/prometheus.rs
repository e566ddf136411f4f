//! A real Prometheus that scrapes the collector: the four queries of the requirement, verbatim, over
//! classic buckets; quantiles of native histograms, and exemplars that lead to single streams.

use anyhow::{Context, Result, ensure};
use beacon::{Batch, Defect, Dropped, Outcome, ServerTiming, StreamReport};
use serde_json::Value;
use tests::{Collector, Server, eventually, free_port, http, report};
use tokio::process::Command;

const TTFT_P95: &str = "histogram_quantile(0.95, rate(llm_first_token_duration_seconds_bucket[5m]))";
const TOKENS: &str = "rate(llm_tokens_generated_total[1m])";
const REQUEST_P99: &str = "histogram_quantile(0.99, rate(llm_request_duration_seconds_bucket[5m]))";
const ERRORS: &str = "rate(llm_generation_errors_total[5m]) / rate(llm_requests_total[5m])";

#[tokio::test(flavor = "multi_thread")]
async fn the_four_queries_are_exact_within_their_buckets() -> Result<()> {
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
async fn streams_without_usage_leave_the_token_rate_unknown() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let prometheus = Prometheus::start(data.path(), &collector.url, &[]).await?;
    for (from, to) in [(0, 100), (100, 200)] {
        let without = |number| StreamReport { output_tokens: None, tpot_ms: None, ..report(number) };
        let reports = (from..to).map(without).collect();
        let (status, body) = collector.post(serde_json::to_string(&Batch { reports })?).await?;
        ensure!(status == 204, "{status} {body}");
        prometheus.scraped("llm_requests_total", to as f64).await?;
    }
    let answer = prometheus.get("query", &[("query", TOKENS)]).await?;
    ensure!(answer["data"]["result"] == serde_json::json!([]), "0 tokens/s would be wrong: {answer}");
    let coverage = "rate(llm_rum_streams_with_usage_total[5m]) / rate(llm_requests_total[5m])";
    ensure!(prometheus.value(coverage).await? == 0.0, "no stream has a count");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn native_histograms_are_exact_within_their_narrower_buckets() -> Result<()> {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_scrape_needs_a_token_with_the_scope_metrics() -> Result<()> {
    let data = tempfile::tempdir()?;
    let config = data.path().join("llm-rum.toml");
    std::fs::write(
        &config,
        "[[tokens]]\nname = 'prometheus'\ntoken = 'scraper-0123456789'\nscopes = ['metrics']\n\
         [[tokens]]\nname = 'people'\ntoken = 'reader-0123456789'\n",
    )?;
    let collector = Collector::start_with(data.path(), &["--config", &config.display().to_string()]).await?;
    for (token, key, up) in [
        ("scraper-0123456789", "authorization: {credentials_file: FILE},", 1.0),
        ("scraper-0123456789", "bearer_token_file: FILE,", 1.0),
        ("reader-0123456789", "authorization: {credentials_file: FILE},", 0.0),
    ] {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("token");
        std::fs::write(&file, token)?;
        let job = key.replace("FILE", &format!("'{}'", file.display()));
        let prometheus =
            Prometheus::start_with(folder.path(), std::slice::from_ref(&collector.url), &[], &job).await?;
        let scraped = eventually("a scrape", || async { prometheus.value("up").await.ok() }).await?;
        ensure!(scraped == up, "{key} with {token}: {scraped}");
    }
    Ok(())
}

/// A Prometheus with a collector, an inference engine of each kind, and alerts.
#[tokio::test(flavor = "multi_thread")]
async fn every_query_of_the_grafana_dashboard_has_a_result() -> Result<()> {
    let data = tempfile::tempdir()?;
    let config = data.path().join("llm-rum.toml");
    std::fs::write(&config, "[limits]\nmodels = 3\n")?;
    let collector = Collector::start_with(data.path(), &["--config", &config.display().to_string()]).await?;
    let targets = [collector.url.clone(), engines().await?];
    let prometheus = Prometheus::start_with(data.path(), &targets, &[], "").await?;
    send_all_kinds(&collector, &prometheus).await?;
    let dashboard = dashboard(&config).await?;
    let asked = questions(&dashboard);
    ensure!(asked.len() > 80, "{} questions", asked.len());
    for question in &asked {
        // A collector that runs alone has no lag, nobody has set a cap, and an hour ago there was nothing.
        let is_unknown = ["llm_rum_replication_lag_seconds", "vector(NaN)"].contains(&question.as_str());
        if is_unknown || question.contains("offset 1h") {
            continue;
        }
        let is_number = |series: &Value| series["value"][1].as_str().is_some_and(|value| value != "NaN");
        // The engine is scraped at its own times, and its rates need two scrapes.
        eventually(question, || async {
            let answer = prometheus.get("query", &[("query", question)]).await.ok()?;
            answer["data"]["result"].as_array()?.iter().any(is_number).then_some(())
        })
        .await?;
    }
    for label in ["use_case", "provider", "model"] {
        let values =
            prometheus.get(&format!("label/{label}/values"), &[("match[]", "llm_requests_total")]).await?;
        ensure!(values["data"].as_array().is_some_and(|values| !values.is_empty()), "{label}: {values}");
    }
    let alerts = dashboard["annotations"]["list"][0]["expr"].as_str().context("the annotation's query")?;
    let firing = prometheus.get("query", &[("query", alerts)]).await?;
    ensure!(firing["data"]["result"][0]["metric"]["alertname"] == "LlmRumTest", "{firing}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_row_is_empty_without_engines() -> Result<()> {
    let data = tempfile::tempdir()?;
    let config = data.path().join("llm-rum.toml");
    std::fs::write(&config, "")?;
    let collector = Collector::start(data.path()).await?;
    let prometheus = Prometheus::start(data.path(), &collector.url, &[]).await?;
    let dashboard = dashboard(&config).await?;
    let rows = dashboard["panels"].as_array().context("panels")?;
    let engines = rows.iter().find(|row| row["collapsed"] == true).context("a collapsed row")?;
    for question in questions(&serde_json::json!({ "panels": [engines] })) {
        let answer = prometheus.get("query", &[("query", &question)]).await?;
        let is_empty = answer["data"]["result"] == serde_json::json!([]);
        ensure!(
            answer["status"] == "success" && (is_empty || question == "vector(NaN)"),
            "{question}: {answer}"
        );
    }
    Ok(())
}

/// Two waves, because a series has no rate before its second sample.
async fn send_all_kinds(collector: &Collector, prometheus: &Prometheus) -> Result<()> {
    for wave in 0..2 {
        let reports = (0..80).map(|number| of_every_kind(wave * 1_000 + number)).collect();
        let (status, body) = collector.post(serde_json::to_string(&Batch { reports })?).await?;
        ensure!(status == 204, "{status} {body}");
        let refused = collector.post("").await?;
        ensure!(refused.0 == 400, "{refused:?}");
        prometheus.scraped("sum(llm_requests_total)", f64::from(80 * (wave as u32 + 1))).await?;
    }
    Ok(())
}

/// What `llm-rum grafana` prints.
async fn dashboard(config: &std::path::Path) -> Result<Value> {
    let mut printed = Command::new(tests::binary("llm-rum"));
    let printed = printed.args(["grafana", "--config"]).arg(config).output().await?;
    ensure!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    Ok(serde_json::from_slice(&printed.stdout)?)
}

/// All queries, with every value of the variables, over five minutes.
fn questions(dashboard: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let panels = list(&dashboard["panels"]);
    // A collapsed row contains its panels.
    let inner: Vec<_> = panels.iter().flat_map(|panel| list(&panel["panels"])).collect();
    let targets: Vec<_> = panels.iter().chain(&inner).flat_map(|panel| list(&panel["targets"])).collect();
    let chosen = |expr: &str| {
        let labels = ["$site", "$use_case", "$provider", "$model"];
        let all = labels.iter().fold(expr.to_owned(), |expr, label| expr.replace(label, ".*"));
        let caps = ["$in_flight_cap", "$queue_cap"];
        let all = caps.iter().fold(all, |expr, cap| expr.replace(cap, "NaN"));
        all.replace("$__rate_interval", "5m")
    };
    targets.iter().filter_map(|target| target["expr"].as_str()).map(chosen).collect()
}

/// An address that answers scrapes like a vLLM, a SGLang and a llama.cpp whose counters rise.
pub(super) async fn engines() -> Result<String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let scrapes = std::sync::atomic::AtomicU64::new(0);
    let scrapes = std::sync::Arc::new(scrapes);
    let answer = move || {
        let scrape = scrapes.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        async move { ENGINE_METRICS.replace("COUNT", &scrape.to_string()) }
    };
    let router = axum::Router::new().route("/metrics", axum::routing::get(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}

const ENGINE_METRICS: &str = r#"vllm:num_requests_waiting{model_name="m"} 3
vllm:num_requests_running{model_name="m"} 5
vllm:kv_cache_usage_perc{model_name="m"} 0.4
vllm:num_preemptions_total{model_name="m"} COUNT
vllm:spec_decode_num_accepted_tokens_total{model_name="m"} COUNT
vllm:spec_decode_num_draft_tokens_total{model_name="m"} COUNT
vllm:time_to_first_token_seconds_bucket{model_name="m",le="1"} COUNT
vllm:time_to_first_token_seconds_bucket{model_name="m",le="+Inf"} COUNT
vllm:request_queue_time_seconds_bucket{model_name="m",le="1"} COUNT
vllm:request_queue_time_seconds_bucket{model_name="m",le="+Inf"} COUNT
sglang:num_queue_reqs{model_name="s"} 3
sglang:num_running_reqs{model_name="s"} 5
sglang:token_usage{model_name="s"} 0.4
sglang:num_retracted_requests_total{model_name="s"} COUNT
sglang:spec_accept_rate{model_name="s"} 0.7
sglang:time_to_first_token_seconds_bucket{model_name="s",le="1"} COUNT
sglang:time_to_first_token_seconds_bucket{model_name="s",le="+Inf"} COUNT
sglang:queue_time_seconds_bucket{model_name="s",le="1"} COUNT
sglang:queue_time_seconds_bucket{model_name="s",le="+Inf"} COUNT
llamacpp:requests_deferred 1
llamacpp:requests_processing 2
llamacpp:spec_decode_num_accepted_tokens_total COUNT
llamacpp:spec_decode_num_draft_tokens_total COUNT
"#;

/// Of each use case with targets: whole, cut, with a defect, with the server's time, and left before any text.
fn of_every_kind(number: u64) -> StreamReport {
    let use_cases = ["chat", "coding", "batch_rag", "extraction"];
    let mut gaps = beacon::Histogram::default();
    gaps.record(30.0);
    let mut report = StreamReport {
        use_case: Some(use_cases[(number % 4) as usize].into()),
        provider: Some("openai".into()),
        model: Some(format!("model-{}", number % 5).into()),
        input_tokens: Some(300),
        gaps: Some(gaps),
        dropped: Some(Dropped { send_failed: 1, ..Dropped::default() }),
        ..report(number)
    };
    match number / 4 % 4 {
        0 => report.outcome = Outcome::Truncated,
        1 => report.defects.add(Defect::Stall),
        2 => {
            report.server = Some(ServerTiming {
                source: "vllm".into(),
                queue_ms: Some(100.0),
                ttft_ms: Some(600.0),
                generation_ms: Some(900.0),
                ..ServerTiming::default()
            });
        }
        _ => {
            report = StreamReport {
                open: false,
                outcome: Outcome::Aborted,
                use_case: report.use_case,
                close_ms: Some(4_000.0),
                ..StreamReport::new(report.id)
            }
        }
    }
    report
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
    ensure!(stream["trace_id"].is_string(), "no trace: {stream}");
    ensure!(exemplar["labels"]["trace_id"] == stream["trace_id"], "{exemplar} of {stream}");
    Ok(())
}

async fn send(collector: &Collector, numbers: std::ops::Range<u64>) -> Result<()> {
    let reports: Vec<_> = numbers
        .map(|number| {
            let mut report = report(number);
            let ttft = (number % 1000 + 1) as f64;
            report.trace_id = Some(format!("{:032x}", number + 1).into());
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
        Self::start_with(folder, &[collector.to_owned()], features, "").await
    }

    /// One that scrapes several addresses, with more keys of the job and an alert that always fires.
    async fn start_with(
        folder: &std::path::Path,
        urls: &[String],
        features: &[&str],
        job: &str,
    ) -> Result<Self> {
        let target = |url: &String| format!("'{}'", url.trim_start_matches("http://"));
        let targets = urls.iter().map(target).collect::<Vec<_>>().join(",");
        let config = folder.join("prometheus.yml");
        let rules = "{groups: [{name: test, rules: [{alert: LlmRumTest, expr: vector(1)}]}]}";
        std::fs::write(folder.join("rules.yml"), rules)?;
        let scrapes = format!("[{{job_name: llm-rum, {job} static_configs: [{{targets: [{targets}]}}]}}]");
        let global = "{scrape_interval: 1s, evaluation_interval: 1s}";
        let text = format!("{{global: {global}, rule_files: [rules.yml], scrape_configs: {scrapes}}}");
        std::fs::write(&config, text)?;
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
        let of_last = format!("timestamp({counter})");
        let seen = self.value(&of_last).await?;
        eventually("another scrape", || async { (self.value(&of_last).await.ok()? > seen).then_some(()) })
            .await
    }
}
