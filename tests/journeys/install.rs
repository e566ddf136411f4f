//! The probe as `/snippet` says to install it, in pages of another origin, under the policies that
//! careful teams have.

use anyhow::{Context, Result, ensure};
use beacon::{Observed, Outcome, StreamReport};
use serde_json::{Value, json};
use tests::{AppPage, Engine};

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn the_snippet_measures_under_the_policy_that_it_names() -> Result<()> {
    in_every_engine(under_policies).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_with_another_hash_does_not_run() -> Result<()> {
    in_every_engine(tampered).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rare_format_needs_the_second_wasm_or_reports_chunks() -> Result<()> {
    in_every_engine(rarer).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_install_page_shows_the_same_snippet_as_the_api() -> Result<()> {
    let stage = Stage::set().await?;
    let snippet = Snippet::ask(&stage).await?;
    stage.browser.page.goto(&format!("{}/snippet", stage.collector.url)).await?;
    let shown = stage.browser.run(SHOWN, vec![]).await?;
    let (script_src, connect_src) = snippet.policy();
    let (own_script_src, own_connect_src) = snippet.npm_policy();
    let install = snippet.0["npm"]["install"].clone();
    let module = snippet.0["npm"]["module"].clone();
    ensure!(
        shown["tag"] == snippet.0["tag"]
            && shown["more"] == snippet.0["more"]["tag"]
            && shown["stub"] == snippet.0["stub"]["tag"]
            && shown["csp"] == format!("script-src{script_src}; connect-src{connect_src}")
            && shown["npm-csp"] == format!("script-src{own_script_src}; connect-src{own_connect_src}")
            && shown["install"] == install
            && shown["module"] == module,
        "{shown:#} {:#}",
        snippet.0
    );
    ensure!(shown["styled"] == true, "the page's own policy lets its style in");
    let package = snippet.text("/npm/install").strip_prefix("npm install ").context("npm installs it")?;
    let path = package.strip_prefix(&stage.collector.url).context("from the collector")?;
    ensure!(path.starts_with("/probe/"), "{path} changes with the collector");
    let named = stage.collector.text(path).await?;
    ensure!(named == stage.collector.text("/llm-rum.tgz").await?, "{path} is no package: {named}");
    stage.browser.close().await
}

async fn under_policies(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let snippet = Snippet::ask(&stage).await?;
    let (script_src, connect_src) = snippet.policy();
    let connect_src = format!("{connect_src} {}", stage.demo.url);
    let head = format!("{}{}", snippet.text("/stub/tag"), snippet.text("/tag"));

    let named = format!(
        "default-src 'none'; img-src 'self'; script-src 'self'{script_src}; connect-src{connect_src}"
    );
    let report = measured(&stage, &head, &named).await?;
    ensure!(report.observed == Observed::Events && report.outcome == Outcome::Complete, "{report:#?}");

    let typed = format!("{named}; require-trusted-types-for 'script'; trusted-types 'none'");
    // In front of the other, as either may come first.
    let with_more = format!("{}{head}", snippet.text("/more/tag"));
    let report = measured(&stage, &with_more, &typed).await?;
    ensure!(report.observed == Observed::Events && report.outcome == Outcome::Complete, "{report:#?}");
    ensure!(report.page_lifecycle.is_some(), "the extensions were there: {report:#?}");

    // Served by the app itself, and nothing allowed beyond that.
    let own = format!(
        r#"<script async src="/own/llm-rum.js" data-collector="{}" data-site="demo"></script>"#,
        stage.collector.url
    );
    let strict = format!("default-src 'self'; script-src 'self'; connect-src 'self'{connect_src}");
    stage.browser.page.goto("about:blank").await?;
    let (report, violations) = read_once(&stage, &own, &strict, completions(&stage)).await?;
    ensure!(report.observed == Observed::Chunks && report.outcome == Outcome::Unobserved, "{report:#?}");
    ensure!(
        violations.iter().all(|violation| violation.contains("wasm-eval")),
        "nothing but Wasm was stopped: {violations:?}"
    );
    stage.browser.close().await
}

async fn tampered(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let snippet = Snippet::ask(&stage).await?;
    let connect_src = format!("{} {}", stage.collector.url, stage.demo.url);
    let policy =
        format!("script-src 'self' {} 'wasm-unsafe-eval'; connect-src {connect_src}", stage.collector.url);

    let wasm = snippet.text("/wasm/integrity");
    let head = snippet.text("/tag").replace(wasm, OTHER_HASH);
    let (report, _) = read_once(&stage, &head, &policy, completions(&stage)).await?;
    ensure!(report.observed == Observed::Chunks, "Wasm with another hash does not run: {report:#?}");

    let more = snippet.text("/more/tag").replace(snippet.text("/more/integrity"), OTHER_HASH);
    let page = AppPage::serve(&more, &policy).await?;
    stage.browser.page.goto(&page.url).await?;
    let seen = stage.browser.run(REFUSED, vec![completions(&stage)]).await?;
    ensure!(seen["refused"] == json!([snippet.text("/more/url")]), "so are the extensions: {seen}");

    let script = snippet.text("/script/integrity");
    let page = AppPage::serve(&snippet.text("/tag").replace(script, OTHER_HASH), &policy).await?;
    stage.browser.page.goto(&page.url).await?;
    let seen = stage.browser.run(REFUSED, vec![completions(&stage)]).await?;
    ensure!(seen["refused"] == json!([snippet.text("/script/url")]), "the script is refused: {seen}");
    ensure!(seen["probe"] == false && seen["bytes"].as_u64() > Some(0), "the app goes on without it: {seen}");
    stage.browser.close().await
}

async fn rarer(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let snippet = Snippet::ask(&stage).await?;
    let collector = &stage.collector.url;
    let policy = format!("script-src 'self' {collector} 'wasm-unsafe-eval'; connect-src 'self' {collector}");

    let (report, violations) = read_once(&stage, snippet.text("/tag"), &policy, RARER.into()).await?;
    ensure!(violations.is_empty(), "{violations:?}");
    ensure!(report.dialect.as_deref() == Some("cohere"), "{report:#?}");
    ensure!(report.outcome == Outcome::Complete && report.observed == Observed::Events, "{report:#?}");
    // A busy machine may read all of it at once: then there is no gap.
    ensure!(report.ttft_ms >= report.first_byte_ms && report.deltas > 1, "{report:#?}");

    let other = snippet.text("/tag").replace(snippet.text("/wasm_all/integrity"), OTHER_HASH);
    let (report, _) = read_once(&stage, &other, &policy, RARER.into()).await?;
    ensure!(report.observed == Observed::Chunks && report.outcome == Outcome::Unobserved, "{report:#?}");
    ensure!(report.chunks > 0 && report.ttft_ms.is_none() && report.dialect.is_none(), "{report:#?}");
    stage.browser.close().await
}

/// A stream that is read in a page with that head, of which the policy has stopped nothing.
async fn measured(stage: &Stage, head: &str, policy: &str) -> Result<StreamReport> {
    let (report, violations) = read_once(stage, head, policy, completions(stage)).await?;
    ensure!(violations.is_empty(), "under {policy}: {violations:?}");
    Ok(report)
}

/// The same, of a stream that lies at `answer`, with what the policy has stopped.
async fn read_once(
    stage: &Stage,
    head: &str,
    policy: &str,
    answer: Value,
) -> Result<(StreamReport, Vec<String>)> {
    let page = AppPage::serve(head, policy).await?;
    stage.browser.page.goto(&page.url).await?;
    stage.keep_reports().await?;
    stage.browser.run(WAIT_FOR_MORE, vec![head.contains("llm-rum-more.js").into()]).await?;
    stage.browser.run(READ, vec![answer]).await?;
    let ids = stage.ended_ids(1).await?;
    let report = stage.collector.final_report(&ids[0]).await?;
    let violations = stage.browser.run("return window.violations", vec![]).await?;
    Ok((report, serde_json::from_value(violations)?))
}

fn completions(stage: &Stage) -> Value {
    format!("{}/llm/normal/v1/chat/completions", stage.demo.url).into()
}

/// What `/snippet.json` answers.
struct Snippet(Value);

impl Snippet {
    async fn ask(stage: &Stage) -> Result<Self> {
        Ok(Self(stage.collector.get("/snippet.json?site=demo").await.context("the collector has the probe")?))
    }

    fn text(&self, pointer: &str) -> &str {
        self.0.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// What `script-src` and `connect-src` have to allow, each with a blank before it.
    fn policy(&self) -> (String, String) {
        Self::policy_of(&self.0["csp"])
    }

    /// The same, where the app brings the probe's script.
    fn npm_policy(&self) -> (String, String) {
        Self::policy_of(&self.0["npm"]["csp"])
    }

    fn policy_of(csp: &Value) -> (String, String) {
        let words = |name: &str| {
            let words = csp[name].as_array().into_iter().flatten().filter_map(Value::as_str);
            words.map(|word| format!(" {word}")).collect()
        };
        (words("script-src"), words("connect-src"))
    }
}

/// An answer in a format that takes the second Wasm, at the page's own origin.
const RARER: &str = "/recorded/cohere_text/api/chat";

/// Of something else.
const OTHER_HASH: &str = "sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

const WAIT_FOR_MORE: &str =
    "while (args[0] && !window.llmRumMore) await new Promise(resolve => setTimeout(resolve, 10));";

const READ: &str = "
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const response = await fetch(args[0], { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const reader = response.body.getReader();
    for (let bytes = 0; ; ) {
        const { done, value } = await reader.read();
        if (done) return bytes;
        bytes += value.length;
    }";

const REFUSED: &str = "
    while (!window.refused.length) await new Promise(resolve => setTimeout(resolve, 10));
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const response = await fetch(args[0], { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const { byteLength } = await response.arrayBuffer();
    return { refused: window.refused, probe: 'llmRum' in window, bytes: byteLength };";

const SHOWN: &str = "
    const text = (id) => document.getElementById(id).textContent;
    const shown = Object.fromEntries(['tag', 'more', 'stub', 'csp', 'install', 'module', 'npm-csp'].map(id => [id, text(id)]));
    return { ...shown, styled: getComputedStyle(document.querySelector('pre code')).userSelect === 'all' };";
