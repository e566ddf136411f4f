//! Pictures of the dashboard and the chat page over real traffic: one file per state, into the folder
//! that the first argument names.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tests::{Browser, Collector, DemoSite, binary, eventually};
use tokio::process::Command;

const STREAMS: &str = "2000";
const SECONDS: &str = "420";

#[tokio::main]
async fn main() -> Result<()> {
    let folder: PathBuf = std::env::args().nth(1).context("the folder for the pictures is missing")?.into();
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let demo = DemoSite::start(&collector.url).await?;
    let camera = Camera { browser: Browser::start().await?, folder };

    let empty = format!("{}/?range=1h", collector.url);
    camera.take(&empty, "empty", SHORT, Theme::Light, "dashboard-empty").await?;
    traffic(&collector.url, &demo.url).await?;
    let ready = format!("{}/?range=15m", collector.url);
    for (size, theme, name) in [
        (WIDE, Theme::Light, "dashboard-light"),
        (WIDE, Theme::Dark, "dashboard-dark"),
        (NARROW, Theme::Light, "dashboard-narrow"),
        (NARROW, Theme::Dark, "dashboard-narrow-dark"),
    ] {
        camera.take(&ready, "ready", size, theme, name).await?;
    }
    let streams = collector.get("/v1/streams?limit=50&outcome=complete").await?;
    let stream = streams["streams"][0]["id"].as_str().context("a complete stream")?;
    let opened = format!("{ready}&stream={stream}");
    camera.take(&opened, "ready", WIDE, Theme::Light, "stream").await?;
    camera.chat(&demo.url).await?;

    camera.browser.page.goto(&format!("{ready}&theme=light")).await?;
    camera.state("ready", "the last picture").await?;
    collector.kill().await?;
    camera.shoot("error", SHORT, "dashboard-error").await?;
    camera.browser.close().await
}

async fn traffic(collector: &str, demo: &str) -> Result<()> {
    let mut command = Command::new(binary("demo-site"));
    command.args(["traffic", "--demo", demo, "--collector", collector, "--site", "demo"]);
    let status = command.args(["--streams", STREAMS, "--over", SECONDS]).status().await?;
    ensure!(status.success(), "the traffic ended with {status}");
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
        self.browser.page.goto(&format!("{url}&theme={word}")).await?;
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

    /// One answer on the chat page.
    async fn chat(&self, demo: &str) -> Result<()> {
        self.browser.page.set_window_size(SHORT.0, SHORT.1).await?;
        self.browser.page.goto(demo).await?;
        self.browser.run(ASK, vec![]).await?;
        self.save("chat").await
    }

    async fn save(&self, name: &str) -> Result<()> {
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

const ASK: &str = "
    document.querySelector('#prompt').value = 'How does a river find its way?';
    document.querySelector('#prompt').dispatchEvent(new Event('input', { bubbles: true }));
    document.querySelector('#send').click();
    while (document.documentElement.dataset.state !== 'done') await new Promise(resolve => setTimeout(resolve, 20));
    await new Promise(resolve => setTimeout(resolve, 300));";
