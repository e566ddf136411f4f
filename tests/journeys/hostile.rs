//! Bad input over a real socket: a documented status and code, a counter by reason, nothing stored.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use beacon::Batch;
use serde_json::{Value, json};
use tests::{Collector, eventually, http, report};

/// One bad request and how it must be answered.
struct Case {
    name: &'static str,
    query: &'static str,
    content_type: &'static str,
    origin: Option<&'static str>,
    body: String,
    status: u16,
    code: &'static str,
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_with_a_reason_and_stored_nowhere() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let http = http();
    let mut by_reason = BTreeMap::new();
    for case in cases()? {
        let mut request = http.post(format!("{}/v1/beacons{}", collector.url, case.query));
        request = request.header("content-type", case.content_type).body(case.body);
        if let Some(origin) = case.origin {
            request = request.header("origin", origin);
        }
        let response = request.send().await.with_context(|| case.name)?;
        let status = response.status().as_u16();
        let answer: Value = response.json().await.with_context(|| case.name)?;
        ensure!(status == case.status, "{}: {status} {answer}", case.name);
        ensure!(answer["error"]["code"] == case.code, "{}: {answer}", case.name);
        ensure!(
            answer["error"]["message"].as_str().is_some_and(|message| !message.is_empty()),
            "{}: {answer}",
            case.name
        );
        *by_reason.entry(case.code).or_insert(0) += 1;
    }
    for (code, count) in by_reason {
        let what = format!("{count} refusals counted as {code}");
        eventually(&what, || async { (refused(&collector, code).await.ok()? == count).then_some(()) })
            .await?;
    }
    let (status, _) = collector.post(serde_json::to_string(&Batch { reports: vec![report(1)] })?).await?;
    ensure!(status == 204, "and it lives on");
    let summary = eventually("what is counted", || async {
        let summary = collector.get("/v1/summary").await.ok()?;
        (summary["streams"] != 0).then_some(summary)
    })
    .await?;
    ensure!(summary["streams"] == 1, "nothing bad was counted: {summary}");
    ensure!(collector.streams().await?.len() == 1, "nothing bad is kept");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_made_up_models_end_in_other() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    for number in 0..1000 {
        let mut report = report(number);
        report.model = Some(format!("made-up-{number}").into());
        let (status, body) = collector.post(serde_json::to_string(&Batch { reports: vec![report] })?).await?;
        ensure!(status == 204, "{status} {body}");
    }
    let summary = eventually("all of them", || async {
        let summary = collector.get("/v1/summary").await.ok()?;
        (summary["streams"] == 1000).then_some(summary)
    })
    .await?;
    ensure!(summary["overflow"]["model"] == 925, "{}", summary["overflow"]);
    let metrics = collector.text("/metrics").await?;
    let series = metrics.lines().filter(|line| line.starts_with("llm_requests_total{")).count();
    ensure!(series == 76, "{series} series for three quarters of 100 models and `other`");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_collector_refuses_public_addresses_without_a_token() -> Result<()> {
    let data = tempfile::tempdir()?;
    let mut command = std::process::Command::new(tests::binary("llm-rum"));
    let output = command.args(["serve", "--listen", "0.0.0.0:0", "--data"]).arg(data.path()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success() && said.contains("[[tokens]]"), "{} {said}", output.status);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_collector_stops_gracefully() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    collector.post(serde_json::to_string(&Batch { reports: vec![report(1)] })?).await?;
    ensure!(collector.terminate().await? == Some(0), "exit code 0");
    let collector = Collector::start(data.path()).await?;
    ensure!(collector.streams().await?.len() == 1, "and what was answered is there");
    Ok(())
}

fn cases() -> Result<Vec<Case>> {
    let good = serde_json::to_string(&Batch { reports: vec![report(7)] })?;
    let with = |field: &str, value: Value| -> Result<String> {
        let mut report = serde_json::to_value(report(7))?;
        report[field] = value;
        Ok(json!({ "reports": [report] }).to_string())
    };
    let case = |name, body: String, status, code| Case {
        name,
        query: "?site=demo",
        content_type: "text/plain",
        origin: None,
        body,
        status,
        code,
    };
    Ok(vec![
        case("truncated JSON", good[..good.len() / 2].to_owned(), 400, "bad_json"),
        case("no JSON at all", "hello".to_owned(), 400, "bad_json"),
        case("empty body", String::new(), 400, "bad_json"),
        case("wrong type of a field", with("ttft_ms", json!("soon"))?, 400, "bad_field"),
        case("NaN", good.replace("800.0", "NaN"), 400, "bad_json"),
        case("a number beyond f64", good.replace("800.0", "1e999"), 400, "bad_json"),
        // What is not known is skipped without recursion, however deep it is.
        case(
            "deep nesting",
            format!("{{\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000)),
            400,
            "bad_field",
        ),
        case("arrays for objects", format!("{}{}", "[".repeat(1_000), "]".repeat(1_000)), 400, "bad_field"),
        case("negative duration", with("ttft_ms", json!(-1))?, 400, "bad_field"),
        case("a TTFT of 40 days", with("ttft_ms", json!(3_456_000_000_u64))?, 400, "bad_field"),
        case("an id that is none", with("id", json!("../../etc/passwd"))?, 400, "bad_field"),
        case("a model of 10 kB", with("model", json!("m".repeat(10_000)))?, 400, "bad_field"),
        case(
            "more gaps than chunks",
            with("gaps", json!({"scale":5,"offset":0,"counts":[u64::MAX]}))?,
            400,
            "bad_field",
        ),
        case("unknown version", with("v", json!(99))?, 400, "unknown_version"),
        case("10 MB", "x".repeat(10_000_000), 413, "body_too_large"),
        Case { query: "?site=nobody", ..case("unknown site", good.clone(), 403, "unknown_site") },
        Case { query: "", ..case("no site", good.clone(), 403, "unknown_site") },
        Case {
            origin: Some("https://evil.example"),
            ..case("foreign origin", good.clone(), 403, "foreign_origin")
        },
        Case { content_type: "image/png", ..case("wrong content type", good, 415, "unsupported_media_type") },
    ])
}

async fn refused(collector: &Collector, code: &str) -> Result<u64> {
    let metrics = collector.text("/metrics").await?;
    let label = format!("result=\"{code}\"");
    let line =
        metrics.lines().find(|line| line.starts_with("llm_rum_beacons_total{") && line.contains(&label));
    Ok(line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).unwrap_or(0.0) as u64)
}
