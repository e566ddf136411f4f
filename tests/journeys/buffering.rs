//! Answers behind an nginx that buffers them, as it does by default, behind a compression that does, and behind some that do
//! not.

use anyhow::{Result, ensure};
use beacon::{Defect, Outcome};
use serde_json::json;
use tests::{AppPage, Engine, gzip, nginx};

use crate::{Stage, in_every_engine};

/// A way through the proxy, the number of pieces of text, how many the server sends at once, and whether the proxy
/// buffered them. A piece has 185 to 187 bytes.
type Case = (&'static str, u32, u32, bool);

const NGINX: [Case; 8] = [
    ("", 15, 1, false),
    ("", 30, 1, true),
    ("", 60, 1, true),
    ("", 120, 1, true),
    ("/zipped", 60, 1, true),
    ("/unbuffered", 60, 1, false),
    ("/unbuffered", 60, 10, false),
    ("/unbuffered", 120, 30, false),
];

/// What is compressed comes at the end. Of an answer that takes less than a second nothing is said.
const GZIP: [Case; 6] = [
    ("/held", 15, 1, false),
    ("/held", 30, 1, true),
    ("/held", 60, 1, true),
    ("/flushed", 60, 1, false),
    ("/flushed", 60, 10, false),
    ("/flushed", 120, 30, false),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_buffering_nginx_is_seen_and_a_bundling_server_is_not() -> Result<()> {
    in_every_engine(buffering).await
}

async fn buffering(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let page = page(&stage).await?;
    let folder = tempfile::tempdir()?;
    let app = &page.url;
    let locations = format!(
        "location / {{ proxy_pass {app}; }}\n\
         location /unbuffered/ {{ proxy_buffering off; proxy_pass {app}/; }}\n\
         location /zipped/ {{ gzip on; gzip_types text/event-stream; proxy_pass {app}/; }}"
    );
    let (_nginx, url) = nginx(folder.path(), &locations).await?;
    check(stage, &url, &NGINX).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_buffering_compression_is_seen_in_every_engine() -> Result<()> {
    in_every_engine(compressing).await
}

async fn compressing(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let page = page(&stage).await?;
    let (_gzip, url) = gzip(&page.url).await?;
    check(stage, &url, &GZIP).await
}

async fn page(stage: &Stage) -> Result<AppPage> {
    let head = format!("<script src=\"{}/llm-rum.js\" data-site=\"demo\"></script>", stage.collector.url);
    AppPage::serve(&head, "").await
}

async fn check(stage: Stage, url: &str, cases: &[Case]) -> Result<()> {
    stage.browser.page.goto(url).await?;
    stage.keep_reports().await?;
    for (at, &(way, pieces, bundle, is_buffered)) in cases.iter().enumerate() {
        let address = format!("{way}/paced/{pieces}/{bundle}/api/chat");
        stage.browser.run(READ, vec![json!(address)]).await?;
        let ids = stage.ended_ids(at + 1).await?;
        let report = stage.collector.final_report(&ids[at]).await?;
        let is_right = (report.outcome, report.deltas) == (Outcome::Complete, pieces)
            && (report.defects.get(Defect::Buffered) > 0) == is_buffered;
        ensure!(is_right, "{address}: {report:#?}");
    }
    stage.browser.close().await
}

const READ: &str = "
    const response = await fetch(args[0], { method: 'POST', body: '{\"stream\":true}' });
    const reader = response.body.getReader();
    while (!(await reader.read()).done);";
