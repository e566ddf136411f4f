//! The lines of the README in a page: unchanged, except for the collector's address and the site's key.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use beacon::{Observed, Outcome, StreamReport};
use tests::AppPage;
use tokio::process::Command;

use crate::Stage;

const README: &str = include_str!("../../README.md");

#[tokio::test(flavor = "multi_thread")]
async fn the_script_tag_of_the_readme_measures() -> Result<()> {
    let stage = Stage::set().await?;
    let page = AppPage::serve(&block(&stage, "html")?, "").await?;
    let report = read(&stage, &page).await?;
    ensure!(report.observed == Observed::Events && report.outcome == Outcome::Complete, "{report:#?}");
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_package_of_the_readme_installs_bundles_and_measures() -> Result<()> {
    let stage = Stage::set().await?;
    let app = tempfile::tempdir()?;
    std::fs::write(app.path().join("package.json"), r#"{ "private": true, "type": "module" }"#)?;
    let install = block(&stage, "sh")?;
    run(Command::new("sh").args(["-c", install.trim()]), app.path()).await?;
    std::fs::write(app.path().join("app.ts"), format!("{}\nwindow.probe = probe;\n", block(&stage, "ts")?))?;
    std::fs::write(app.path().join("index.html"), r#"<script type="module" src="/app.ts"></script>"#)?;
    run(Command::new("node").arg(vite()).args(["build", "--logLevel", "warn"]), app.path()).await?;

    let page = AppPage::serve_built(&app.path().join("dist")).await?;
    stage.browser.page.goto(&page.url).await?;
    stage.browser.run("window.llmRum = { probe: window.probe }", vec![]).await?;
    let report = read_there(&stage).await?;
    ensure!(
        report.observed == Observed::Events
            && report.outcome == Outcome::Complete
            && report.use_case.as_deref() == Some("chat"),
        "{report:#?}"
    );
    stage.browser.close().await
}

async fn read(stage: &Stage, page: &AppPage) -> Result<StreamReport> {
    stage.browser.page.goto(&page.url).await?;
    read_there(stage).await
}

async fn read_there(stage: &Stage) -> Result<StreamReport> {
    stage.keep_reports().await?;
    let url = format!("{}/llm/normal/v1/chat/completions", stage.demo.url);
    stage.browser.run(READ, vec![url.into()]).await?;
    let ids = stage.ended_ids(1).await?;
    stage.collector.final_report(&ids[0]).await
}

/// The first block of that language below “Add the probe”, for this collector.
fn block(stage: &Stage, language: &str) -> Result<String> {
    let (_, section) = README.split_once("### 2. Add the probe").context("the README has the section")?;
    let (_, rest) = section.split_once(&format!("```{language}\n")).context("it has the block")?;
    let (block, _) = rest.split_once("```").context("it ends")?;
    let own = block.replace("https://rum.example", &stage.collector.url).replace("pk_live_1", "demo");
    ensure!(own != block, "it names the collector: {block}");
    Ok(own)
}

/// The dashboard's own bundler.
fn vite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/node_modules/vite/bin/vite.js")
}

async fn run(command: &mut Command, folder: &Path) -> Result<()> {
    let output = command.current_dir(folder).output().await?;
    let said = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&said));
    Ok(())
}

const READ: &str = "
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const response = await fetch(args[0], { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    await response.text();";
