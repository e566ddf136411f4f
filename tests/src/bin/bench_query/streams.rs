//! A day of single streams of the demo, for the questions that windows cannot answer.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tests::{Collector, binary};
use tokio::process::Command;

/// A data folder with the streams.
pub(crate) struct Day {
    config: PathBuf,
    data: PathBuf,
}

impl Day {
    pub(crate) async fn make(folder: &Path) -> Result<Self> {
        let (lines, data) = (folder.join("streams.jsonl"), folder.join("data"));
        let config = folder.join("bench.toml");
        std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../demo-site/llm-rum.toml"), &config)?;
        let mut history = Command::new(binary("demo-site"));
        history.args(["history", "--minutes", "1440", "--streams", &STREAMS.to_string()]);
        ensure!(history.stdout(File::create(&lines)?).status().await?.success(), "no history");
        let mut import = Command::new(binary("llm-rum"));
        import.arg("import").arg(&lines).arg("--config").arg(&config).arg("--data").arg(&data);
        ensure!(import.stdout(Stdio::null()).status().await?.success(), "the import failed");
        std::fs::remove_file(lines)?;
        Ok(Self { config, data })
    }

    pub(crate) async fn start(&self) -> Result<Collector> {
        let config = self.config.to_str().context("a plain name")?;
        Collector::start_with(&self.data, &["--config", config]).await
    }

    /// Of its files of streams.
    pub(crate) fn megabytes(&self) -> Result<f64> {
        let mut bytes = 0;
        for file in std::fs::read_dir(self.data.join("streams"))? {
            bytes += file?.metadata()?.len();
        }
        Ok(bytes as f64 / 1e6)
    }
}

pub(crate) const STREAMS: u64 = 1_000_000;
