//! ClickHouse's engine behind HTTP: `tests/clickhouse/shim.py`, in the Python that `cargo xtask test` makes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tokio::process::Command;

use crate::http::http;
use crate::process::{Server, free_port};
use crate::world::said_address;

/// A running engine over a folder.
pub struct ClickHouse {
    server: Server,
    folder: PathBuf,
    /// `http://127.0.0.1:PORT`
    pub url: String,
}

impl ClickHouse {
    /// Starts one on a free port.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start(folder: &Path) -> Result<Self> {
        Self::start_at(folder, &free_port()?.to_string()).await
    }

    /// Stops it; what comes back starts it again, over the same folder and on the same port.
    ///
    /// # Errors
    /// When it does not stop.
    pub async fn stop(self) -> Result<impl AsyncFnOnce() -> Result<Self>> {
        self.server.terminate().await?;
        let port = self.url.rsplit(':').next().context("an address has a port")?.to_owned();
        Ok(async move || Self::start_at(&self.folder, &port).await)
    }

    /// The first row that a query answers with.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn query(&self, query: &str) -> Result<String> {
        let answer = http().post(&self.url).body(query.to_owned()).send().await?;
        let text = answer.error_for_status()?.text().await?;
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    /// Process id, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.server.pid()
    }

    async fn start_at(folder: &Path, port: &str) -> Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new(here.join("../target/python/bin/python"));
        command.arg(here.join("clickhouse/shim.py")).arg(folder).arg(port);
        let started = Server::start(command, said_address).await;
        let (server, url) = started.context("ClickHouse's engine: `cargo xtask test` installs it")?;
        Ok(Self { server, folder: folder.to_owned(), url })
    }
}
