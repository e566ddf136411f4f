//! An nginx as docs/server-timing-edge.md sets it up: the line of its log becomes the layer `edge` of the stream.

use anyhow::{Context, Result, ensure};
use beacon::Outcome;
use tests::{AppPage, Engine, eventually, nginx_with};

use crate::{Stage, in_every_engine};

const GUIDE: &str = include_str!("../../docs/server-timing-edge.md");

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_nginx_is_the_edge_in_every_engine() -> Result<()> {
    in_every_engine(edge).await
}

async fn edge(engine: Engine) -> Result<()> {
    let stage = Stage::set_with(engine, "[server]\nwithout_token = true\n").await?;
    let collector = &stage.collector;
    let head = format!(
        "<script src=\"{0}/llm-rum.js\" data-site=\"demo\"></script>
         <script src=\"{0}/llm-rum-more.js\" data-with=\"traceId\"></script>",
        collector.url
    );
    let page = AppPage::serve(&head, "").await?;
    let mut blocks = GUIDE.split("```nginx\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    let (of_http, of_location) = blocks.next().zip(blocks.next()).context("the guide has two blocks")?;
    let locations = format!("location / {{ proxy_pass {}; {of_location} }}", page.url);
    let folder = tempfile::tempdir()?;
    let (_nginx, url) = nginx_with(folder.path(), of_http, &locations).await?;
    stage.browser.page.goto(&url).await?;
    stage.keep_reports().await?;
    stage.browser.run(READ, vec![]).await?;
    let [id] = &stage.ended_ids(1).await?[..] else { anyhow::bail!("more than one stream") };
    let report = collector.final_report(id).await?;
    let trace_id = report.trace_id.as_deref().with_context(|| format!("no trace: {report:#?}"))?;
    let line = eventually("the line of the log", || async {
        let log = std::fs::read_to_string(folder.path().join("llm-rum.log")).ok()?;
        log.lines().find(|line| line.contains(trace_id)).map(str::to_owned)
    })
    .await?;
    let request = reqwest::Client::new().post(format!("{}/v1/server-timings?site=demo", collector.url));
    let answer = request.header("content-type", "application/json").body(format!("[{line}]")).send().await?;
    let answer = answer.error_for_status()?.text().await?;
    ensure!(answer == r#"{"accepted":1,"skipped":0,"refused":0}"#, "{answer}");
    let found = eventually("the layer", || async {
        let report = collector.final_report(id).await.ok()?;
        report.layers.as_ref()?.edge.clone().map(|edge| (report.outcome, edge))
    })
    .await?;
    let (outcome, edge) = found;
    let is_right = outcome == Outcome::Complete
        && edge.source == "nginx"
        && edge.trace_id.as_deref() == Some(trace_id)
        && edge.duration_ms.is_some_and(|ms| ms > 0.0);
    ensure!(is_right, "{outcome:?} {edge:?}");
    stage.browser.close().await
}

const READ: &str = "
    const response = await fetch('/paced/10/1/api/chat', { method: 'POST', body: '{\"stream\":true}' });
    const reader = response.body.getReader();
    while (!(await reader.read()).done);";
