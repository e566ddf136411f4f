//! The servers of `cargo xtask demo` with its history and its traffic.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use tests::{Collector, DemoSite, binary};
use tokio::process::{Child, Command};

pub(crate) struct Demo {
    pub(crate) collector: Collector,
    _site: DemoSite,
    _traffic: Child,
    _data: TempDir,
}

impl Demo {
    pub(crate) async fn start() -> Result<Self> {
        let data = tempfile::tempdir()?;
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../demo-site/llm-rum.toml");
        import_history(data.path(), &config).await?;
        let config = config.to_str().context("the path is text")?;
        let collector = Collector::start_with(data.path(), &["--config", config]).await?;
        let site = DemoSite::start(&collector.url).await?;
        let mut traffic = Command::new(binary("demo-site"));
        traffic.args(["traffic", "--demo", &site.url, "--collector", &collector.url]).args(TRAFFIC);
        let traffic = traffic.stderr(Stdio::null()).kill_on_drop(true).spawn()?;
        Ok(Self { collector, _site: site, _traffic: traffic, _data: data })
    }
}

/// Stores the simulated streams of the last hour.
async fn import_history(data: &Path, config: &Path) -> Result<()> {
    let history = Command::new(binary("demo-site")).args(HISTORY).output().await?;
    let lines = data.join("history.jsonl");
    std::fs::write(&lines, history.stdout)?;
    let mut import = Command::new(binary("llm-rum"));
    import.arg("import").arg(&lines).arg("--config").arg(config).arg("--data").arg(data);
    let imported = import.output().await?;
    ensure!(imported.status.success(), "the import failed: {}", String::from_utf8_lossy(&imported.stderr));
    Ok(std::fs::remove_file(lines)?)
}

const HISTORY: [&str; 5] = ["history", "--minutes", "60", "--streams", "2400"];
/// As many per minute as the history has.
const TRAFFIC: [&str; 4] = ["--streams", "57600", "--over", "86400"];
