//! Pictures of the dashboard and the chat page over the history of the demo: one file per state, into the folder
//! that the first argument names.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tests::{Browser, Collector, DemoSite, binary, eventually};
use tokio::process::Command;

#[tokio::main]
async fn main() -> Result<()> {
    tests::until_told(run()).await
}

async fn run() -> Result<()> {
    let folder: PathBuf = std::env::args().nth(1).context("the folder for the pictures is missing")?.into();
    let data = tempfile::tempdir()?;
    let camera = Camera { browser: Browser::start().await?, folder };

    let collector = Collector::start(data.path()).await?;
    camera.take(&collector.url, "empty", SHORT, Theme::Light, "dashboard-empty").await?;
    collector.terminate().await?;
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../demo-site/llm-rum.toml");
    for history in HISTORIES {
        import(history, data.path(), &config).await?;
    }
    let config = config.to_str().context("the path is text")?;
    let collector = Collector::start_with(data.path(), &["--config", config]).await?;
    for (size, theme, name) in [
        (WIDE, Theme::Light, "dashboard-light"),
        (WIDE, Theme::Dark, "dashboard-dark"),
        (NARROW, Theme::Light, "dashboard-narrow"),
        (NARROW, Theme::Dark, "dashboard-narrow-dark"),
    ] {
        camera.take(&collector.url, "ready", size, theme, name).await?;
    }
    let heatmap = format!("{}/?drawing=heatmap", collector.url);
    camera.take(&heatmap, "ready", WIDE, Theme::Light, "dashboard-heatmap").await?;
    camera.filters(&collector.url).await?;
    let streams = collector.get("/v1/streams?limit=50&outcome=complete").await?;
    let stream = streams["streams"][0]["id"].as_str().context("a complete stream")?;
    let opened = format!("{}/?stream={stream}", collector.url);
    camera.take(&opened, "ready", WIDE, Theme::Light, "stream").await?;
    let demo = DemoSite::start(&collector.url).await?;
    camera.chat(&demo.url).await?;

    camera.browser.page.goto(&format!("{}/?theme=light", collector.url)).await?;
    camera.state("ready", "the last picture").await?;
    collector.kill().await?;
    camera.shoot("error", SHORT, "dashboard-error").await?;
    camera.browser.close().await
}

/// Simulated streams of the past, up to now: a month, for the budgets, and the last hour with its incident.
const HISTORIES: [[&str; 5]; 2] = [
    ["history", "--minutes", "41760", "--streams", "9000"],
    ["history", "--minutes", "60", "--streams", "1500"],
];

/// Stores the streams of one history in the data folder.
async fn import(history: [&str; 5], data: &Path, config: &Path) -> Result<()> {
    let lines = Command::new(binary("demo-site")).args(history).output().await?;
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), lines.stdout)?;
    let mut import = Command::new(binary("llm-rum"));
    import.arg("import").arg(file.path()).arg("--config").arg(config).arg("--data").arg(data);
    let imported = import.output().await?;
    ensure!(imported.status.success(), "the import failed: {}", String::from_utf8_lossy(&imported.stderr));
    Ok(())
}

#[derive(Clone, Copy)]
enum Theme {
    Light,
    Dark,
}

struct Camera {
    browser: Browser,
    folder: PathBuf,
}

impl Camera {
    /// Opens a page of the dashboard, waits for its state, and takes a picture.
    async fn take(&self, url: &str, state: &str, size: (u32, u32), theme: Theme, name: &str) -> Result<()> {
        let word = match theme {
            Theme::Light => "light",
            Theme::Dark => "dark",
        };
        let join = if url.contains('?') { '&' } else { '?' };
        self.browser.page.goto(&format!("{url}{join}theme={word}")).await?;
        self.shoot(state, size, name).await
    }

    async fn shoot(&self, state: &str, (width, height): (u32, u32), name: &str) -> Result<()> {
        self.browser.page.set_window_size(width, height).await?;
        self.state(state, name).await?;
        self.save(name).await
    }

    async fn state(&self, state: &str, name: &str) -> Result<()> {
        let script = "return document.documentElement.dataset.state";
        eventually(&format!("state {state} for {name}"), || async {
            (self.browser.page.execute(script, vec![]).await.ok()? == state).then_some(())
        })
        .await
    }

    /// What is asked beside the screen's own question has come, where it is shown.
    async fn asked_of(&self, name: &str) -> Result<()> {
        let script = "return document.querySelector('[data-budgets=loading], [data-live=joining]') === null";
        eventually(&format!("budgets and the present for {name}"), || async {
            (self.browser.page.execute(script, vec![]).await.ok()? == true).then_some(())
        })
        .await
    }

    /// The open panel of the filters, with one set.
    async fn filters(&self, url: &str) -> Result<()> {
        self.browser.page.set_window_size(SHORT.0, SHORT.1).await?;
        self.browser.page.goto(&format!("{url}/?use_case=chat&use_case=coding&theme=light")).await?;
        self.state("ready", "the filters").await?;
        self.browser.run(OPEN_FILTERS, vec![]).await?;
        self.save("dashboard-filters").await
    }

    /// One answer on the chat page.
    async fn chat(&self, demo: &str) -> Result<()> {
        self.browser.page.set_window_size(SHORT.0, SHORT.1).await?;
        self.browser.page.goto(demo).await?;
        self.browser.run(ASK, vec![]).await?;
        self.save("chat").await
    }

    async fn save(&self, name: &str) -> Result<()> {
        self.asked_of(name).await?;
        // Two frames, so that the charts have drawn what the state promises.
        self.browser
            .run(
                "await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))",
                vec![],
            )
            .await?;
        let path: &Path = &self.folder.join(name).with_extension("png");
        std::fs::write(path, self.browser.page.screenshot().await?)?;
        println!("{}", path.display());
        Ok(())
    }
}

const WIDE: (u32, u32) = (1280, 1500);
const SHORT: (u32, u32) = (1280, 800);
const NARROW: (u32, u32) = (500, 2400);

const OPEN_FILTERS: &str = "
    document.querySelector('.filter-menu summary').click();
    while (!document.querySelector('.filter-values input')) await new Promise(requestAnimationFrame);";

const ASK: &str = "
    document.querySelector('#prompt').value = 'How does a river find its way?';
    document.querySelector('#prompt').dispatchEvent(new Event('input', { bubbles: true }));
    document.querySelector('#send').click();
    while (document.documentElement.dataset.state !== 'done') await new Promise(resolve => setTimeout(resolve, 20));
    await new Promise(resolve => setTimeout(resolve, 300));";
