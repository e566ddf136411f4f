//! The servers of a journey, and what can be asked of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use beacon::{Outcome, StreamReport};
use serde::Deserialize;
use serde_json::Value;
use tokio::process::Command;

use crate::http::http;
use crate::process::{PATIENCE, Server, binary, faketime};

/// A collector on a free port.
pub struct Collector {
    server: Server,
    /// `http://127.0.0.1:PORT`
    pub url: String,
    http: reqwest::Client,
}

impl Collector {
    /// Starts one over a data folder, with the default configuration.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start(data: &Path) -> Result<Self> {
        Self::start_with(data, &[]).await
    }

    /// Starts one with more arguments.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start_with(data: &Path, arguments: &[&str]) -> Result<Self> {
        let mut command = Self::command(data);
        command.args(arguments);
        Self::from(command).await
    }

    /// Starts one whose clock of the day is so long ago, by Debian's `faketime`. Durations are measured as ever.
    ///
    /// # Errors
    /// When `faketime` is not there, or it does not start.
    pub async fn start_earlier(data: &Path, ago: Duration, arguments: &[&str]) -> Result<Self> {
        let mut command = Self::command_in_the_past(data, arguments)?;
        command.env("FAKETIME", format!("-{}", ago.as_secs()));
        Self::from(command).await
    }

    /// Starts one whose clock of the day is that of the file, even after a change of the file.
    ///
    /// # Errors
    /// When `faketime` is not there, or it does not start.
    pub async fn start_by_clock(data: &Path, clock: &ClockFile, arguments: &[&str]) -> Result<Self> {
        let mut command = Self::command_in_the_past(data, arguments)?;
        command.env("FAKETIME_TIMESTAMP_FILE", &clock.path).env("FAKETIME_NO_CACHE", "1");
        Self::from(command).await
    }

    fn command_in_the_past(data: &Path, arguments: &[&str]) -> Result<Command> {
        let mut command = Self::command(data);
        command
            .args(arguments)
            .env("LD_PRELOAD", faketime()?)
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            // Where a day passes at once, no stream may count as left because it takes three seconds.
            .env("LLM_RUM__SETTLE_AFTER_SECONDS", "7200")
            .env("LLM_RUM__DEDUPE__MINUTES", "1440");
        Ok(command)
    }

    fn command(data: &Path) -> Command {
        let mut command = Command::new(binary("llm-rum"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
        // All pages, and all reports of a test, come from this machine.
        command.env("LLM_RUM__INGEST__TRUST_LOOPBACK", "true");
        command
    }

    async fn from(command: Command) -> Result<Self> {
        let (server, url) = Server::start(command, said_address).await?;
        Ok(Self { server, url, http: http() })
    }

    /// Asks the query API; `path` begins with a slash.
    ///
    /// # Errors
    /// When the answer is not 200 with JSON.
    pub async fn get(&self, path: &str) -> Result<Value> {
        let response = self.http.get(format!("{}{path}", self.url)).send().await?;
        let status = response.status();
        let body = response.text().await?;
        if !status.is_success() {
            bail!("GET {path} answered {status}: {body}");
        }
        Ok(serde_json::from_str(&body)?)
    }

    /// The text of a page or of `/metrics`.
    ///
    /// # Errors
    /// When no answer comes.
    pub async fn text(&self, path: &str) -> Result<String> {
        Ok(self.http.get(format!("{}{path}", self.url)).send().await?.text().await?)
    }

    /// Posts a body to the beacon route of site `demo`; gives back status and body.
    ///
    /// # Errors
    /// When no answer comes.
    pub async fn post(&self, body: impl Into<reqwest::Body>) -> Result<(u16, String)> {
        self.post_with(&[], body).await
    }

    /// The same with more headers.
    ///
    /// # Errors
    /// When no answer comes.
    pub async fn post_with(
        &self,
        headers: &[(&str, &str)],
        body: impl Into<reqwest::Body>,
    ) -> Result<(u16, String)> {
        let request = self.http.post(format!("{}/v1/beacons?site=demo", self.url));
        let request = request.header("content-type", "text/plain");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let response = request.body(body).send().await?;
        Ok((response.status().as_u16(), response.text().await?))
    }

    /// Posts a body to the beacon route of a site that takes its own name for a key.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn send(&self, site: &str, body: String) -> Result<()> {
        let request = self.http.post(format!("{}/v1/beacons?site={site}", self.url));
        let response = request.header("content-type", "text/plain").body(body).send().await?;
        let status = response.status();
        ensure!(status.is_success(), "{status}: {}", response.text().await?);
        Ok(())
    }

    /// Every stored stream, newest first, over all pages.
    ///
    /// # Errors
    /// When a page is refused.
    pub async fn streams(&self) -> Result<Vec<StreamReport>> {
        let report = |stream| Ok(serde_json::from_value(stream)?);
        self.raw_streams().await?.into_iter().map(report).collect()
    }

    /// The same as they stand in the answer, with what the collector adds.
    ///
    /// # Errors
    /// When a page is refused.
    pub async fn raw_streams(&self) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self.get(&format!("/v1/streams?limit=500{cursor}")).await?;
            all.extend_from_slice(page["streams"].as_array().context("streams is a list")?);
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(all),
            }
        }
    }

    /// Waits for the final report of one stream.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn final_report(&self, id: &str) -> Result<StreamReport> {
        let path = format!("/v1/streams/{id}");
        eventually(&format!("the final report of {id}"), || async {
            let report: StreamReport = serde_json::from_value(self.get(&path).await.ok()?).ok()?;
            (!report.open).then_some(report)
        })
        .await
    }

    /// Kills it without a goodbye.
    ///
    /// # Errors
    /// When it cannot be killed.
    pub async fn kill(self) -> Result<()> {
        self.server.kill().await
    }

    /// Asks it to stop; gives back the exit code.
    ///
    /// # Errors
    /// When it does not stop.
    pub async fn terminate(self) -> Result<Option<i32>> {
        self.server.terminate().await
    }

    /// Process id, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.server.pid()
    }
}

/// A clock of the day for several collectors, which can be moved while they run.
pub struct ClockFile {
    path: PathBuf,
}

impl ClockFile {
    /// Makes one in a folder, so long ago.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(folder: &Path, ago: Duration) -> Result<Self> {
        let clock = Self { path: folder.join("clock") };
        clock.set(ago)?;
        Ok(clock)
    }

    /// Moves it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn set(&self, ago: Duration) -> Result<()> {
        // No collector may read half a file.
        let next = self.path.with_extension("next");
        std::fs::write(&next, format!("-{}\n", ago.as_secs()))?;
        Ok(std::fs::rename(next, &self.path)?)
    }
}

/// The demo site with its scripted LLM server, on a free port.
pub struct DemoSite {
    _server: Server,
    /// `http://127.0.0.1:PORT`
    pub url: String,
    http: reqwest::Client,
}

/// What the demo's LLM server did for one request, on its own clock.
#[derive(Debug, Clone, Deserialize)]
pub struct LogEntry {
    /// Number of the request, from 1.
    pub seq: u64,
    /// The id that it gave the answer.
    #[serde(default)]
    pub id: Option<String>,
    /// Which API was called.
    pub api: String,
    /// Which scenario was played.
    pub scenario: String,
    /// First generated text handed to the socket, since the request arrived.
    #[serde(default)]
    pub first_token_ms: Option<f64>,
    /// Every write, in order.
    pub writes: Vec<Write>,
    /// `complete`, `cut` or `client_closed`; absent while it runs.
    #[serde(default)]
    pub end: Option<String>,
    /// When it ended, since the request arrived.
    #[serde(default)]
    pub end_ms: Option<f64>,
    /// Hexadecimal digest of all body bytes sent.
    #[serde(default)]
    pub sha256: Option<String>,
}

/// One write of the demo's LLM server.
#[derive(Debug, Clone, Deserialize)]
pub struct Write {
    /// Since the request arrived.
    pub t_ms: f64,
    /// How many bytes.
    pub bytes: u64,
    /// Tokens of generated text in them.
    pub tokens: u32,
}

impl LogEntry {
    /// All body bytes that were handed to the socket.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.writes.iter().map(|write| write.bytes).sum()
    }
}

impl DemoSite {
    /// Starts one whose page reports to `collector`.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start(collector: &str) -> Result<Self> {
        Self::start_with(collector, &[]).await
    }

    /// Starts one with more arguments.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start_with(collector: &str, arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(binary("demo-site"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--collector", collector, "--site", "demo"]);
        command.args(arguments);
        let (server, url) = Server::start(command, said_address).await?;
        Ok(Self { _server: server, url, http: http() })
    }

    /// What the server did for every request after number `seq`.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn log(&self, after: u64) -> Result<Vec<LogEntry>> {
        #[derive(Deserialize)]
        struct Log {
            entries: Vec<LogEntry>,
        }
        let log: Log =
            self.http.get(format!("{}/demo/log?after={after}", self.url)).send().await?.json().await?;
        Ok(log.entries)
    }

    /// Number of the latest request.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn latest(&self) -> Result<u64> {
        Ok(self.log(0).await?.last().map_or(0, |entry| entry.seq))
    }

    /// Waits until the request after number `after` has ended, and gives back what was logged of it.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn ended(&self, after: u64) -> Result<LogEntry> {
        eventually("the end of a request at the demo server", || async {
            let entry = self.log(after).await.ok()?.into_iter().next()?;
            entry.end.is_some().then_some(entry)
        })
        .await
    }
}

/// Asks again until there is an answer, for as long as a busy machine may take.
///
/// # Errors
/// When there is none by then.
pub async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, ask: impl Fn() -> F) -> Result<T> {
    let answer = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    answer.await.with_context(|| format!("{what} did not come within {} s", PATIENCE.as_secs()))
}

/// A plain complete report for a numbered stream, for journeys that need no browser.
#[must_use]
pub fn report(number: u64) -> StreamReport {
    let mut report = StreamReport::new(format!("{number:032x}"));
    report.open = false;
    report.outcome = Outcome::Complete;
    report.dialect = Some("openai_chat".into());
    report.model = Some("demo-model".into());
    report.status = Some(200);
    report.headers_ms = Some(40.0);
    report.first_byte_ms = Some(41.0);
    report.first_event_ms = Some(41.0);
    report.ttft_ms = Some(800.0);
    report.ttfv_ms = Some(800.0);
    report.e2e_ms = Some(2800.0);
    report.close_ms = Some(2801.0);
    report.chunks = 41;
    report.events = 44;
    report.deltas = 41;
    report.bytes = 8000;
    report.output_tokens = Some(41);
    report.tpot_ms = Some(50.0);
    report
}

pub(crate) fn said_address(line: &str) -> Option<String> {
    line.contains("listening on").then(|| line.rsplit(' ').next().unwrap_or_default().to_owned())
}
